package render

import (
	_ "embed"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
)

// Files of the pods that are the same for all LoginSets.
var (
	//go:embed files/nsswitch.conf
	nsswitchConf string
	//go:embed files/pam-sshd
	pamSSHD string
	//go:embed files/initconf.sh
	initconfScript string
	//go:embed files/sssd.sh
	sssdScript string
	//go:embed files/sackd.sh
	sackdScript string
	//go:embed files/ready.sh
	readyScript string
	//go:embed files/leave.sh
	leaveScript string
)

// Keys of the ConfigMap.
const (
	keyAuthorizedKeys = "authorized_keys"
	keyNSSwitch       = "nsswitch.conf"
	keyPAM            = "pam-sshd"
)

// newConfigMap returns the ConfigMap with the files of the pods.
func newConfigMap(in Input) (*corev1.ConfigMap, error) {
	sshdConfig, err := renderSSHDConfig(in.LoginSet.Spec.ExtraSshdConfig)
	if err != nil {
		return nil, err
	}
	out := &corev1.ConfigMap{ObjectMeta: in.metadata(names.LoginConfigMap(in.LoginSet.Name)), Data: map[string]string{
		"sshd_config":     sshdConfig,
		keyAuthorizedKeys: strings.TrimRight(in.LoginSet.Spec.RootSSHAuthorizedKeys, "\n") + "\n",
		keyNSSwitch:       nsswitchConf,
		keyPAM:            pamSSHD,
		"initconf.sh":     initconfScript,
		"sssd.sh":         sssdScript,
		"sackd.sh":        sackdScript,
		"ready.sh":        readyScript,
		"leave.sh":        leaveScript,
	}}
	out.APIVersion, out.Kind = "v1", "ConfigMap"
	return out, nil
}

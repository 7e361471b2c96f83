package render

import (
	_ "embed"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// Files of the pods that are the same for all LoginSets.
var (
	//go:embed files/initconf.sh
	initconfScript string
	//go:embed files/sackd.sh
	sackdScript string
	//go:embed files/sshd.sh
	sshdScript string
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
	sshdConfig, err := sshd.Config{AuthorizedKeys: authorizedKeysDir + "/%u", Extra: in.LoginSet.Spec.ExtraSshdConfig,
		Field: "spec.extraSshdConfig", Kept: []string{"port", "hostkey"}}.Render()
	if err != nil {
		return nil, err
	}
	out := &corev1.ConfigMap{ObjectMeta: in.metadata(names.LoginConfigMap(in.LoginSet.Name)), Data: map[string]string{
		"sshd_config":     sshdConfig,
		keyAuthorizedKeys: strings.TrimRight(in.LoginSet.Spec.RootSSHAuthorizedKeys, "\n") + "\n",
		keyNSSwitch:       sshd.NSSwitch,
		keyPAM:            sshd.LoginPAM(),
		"initconf.sh":     initconfScript,
		"sssd.sh":         sshd.SSSDScript,
		"sackd.sh":        sackdScript,
		"sshd.sh":         sshd.KnownOptions + sshdScript,
		"ready.sh":        readyScript,
		"leave.sh":        leaveScript,
	}}
	out.APIVersion, out.Kind = "v1", "ConfigMap"
	return out, nil
}

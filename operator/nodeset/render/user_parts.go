package render

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// userParts are the user's parts as typed values, for decisions. The pod itself is built from their
// JSON.
type userParts struct {
	pod                     corev1.PodSpec
	slurmd                  corev1.Container
	hasLogfile, perKubeNode bool
	// sshdConfig is sshd_config, empty without spec.ssh.
	sshdConfig string
}

// parseUser parses the user's parts. An error names the field.
func (in Input) parseUser() (userParts, error) {
	spec := &in.NodeSet.Spec
	u := userParts{perKubeNode: in.perKubeNode()}
	var err error
	if spec.HasSSH() {
		if u.sshdConfig, err = in.renderSSHDConfig(); err != nil {
			return u, err
		}
	}
	if u.pod, err = spec.Template.Spec.PodSpec(); err != nil {
		return u, v1beta1.InField(fieldPod, err)
	}
	if u.slurmd, err = spec.Slurmd.Container(); err != nil {
		return u, v1beta1.InField(fieldSlurmd, err)
	}
	if _, err = spec.Logfile.Container(); err != nil {
		return u, v1beta1.InField(fieldLogfile, err)
	}
	logfile, err := podspec.DecodeRaw(spec.Logfile)
	u.hasLogfile = len(logfile) > 0
	return u, v1beta1.InField(fieldLogfile, err)
}

// Fields that errors name.
const (
	fieldPod     = "spec.template.spec"
	fieldSlurmd  = "spec.slurmd"
	fieldLogfile = "spec.logfile"
	fieldClaims  = "spec.volumeClaimTemplates"
)

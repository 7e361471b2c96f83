package render

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// ErrNoSSH reports that spec.ssh is enabled, which the operator does not support yet.
var ErrNoSSH = errors.New("spec.ssh: sshd in workers is not supported yet; set spec.ssh.enabled to false")

// userParts are the user's parts as typed values, for decisions. The pod itself is built from their
// JSON.
type userParts struct {
	pod                     corev1.PodSpec
	slurmd                  corev1.Container
	hasLogfile, perKubeNode bool
}

// parseUser parses the user's parts. An error names the field.
func (in Input) parseUser() (userParts, error) {
	spec := &in.NodeSet.Spec
	if spec.SSH != nil && spec.SSH.Enabled {
		return userParts{}, ErrNoSSH
	}
	u := userParts{perKubeNode: in.perKubeNode()}
	var err error
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

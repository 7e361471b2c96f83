package render

import (
	"cmp"
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// sshdScript starts sshd in the slurmd container (docs/decisions/0017-sshd-beside-slurmd.md).
//
//go:embed files/sshd.sh
var sshdScript string

// Environment variables of sshdScript. The files are in the pod and not in a ConfigMap, so that a worker keeps the files
// of its revision.
const (
	envSSHDConfig   = "SSHD_CONFIG"
	envSSHDPAM      = "SSHD_PAM"
	envSSHDNSSwitch = "SSHD_NSSWITCH"
)

const (
	portSSH = "ssh"
	// volumeSSSDTmp is /tmp in the container of SSSD.
	volumeSSSDTmp = "sssd-tmp"
)

// HostKeysMeta returns the metadata of the Secret with the host keys of the NodeSet's workers.
func HostKeysMeta(in Input) metav1.ObjectMeta {
	labels := names.NodeSetSelector(in.NodeSet.Name, in.Cluster)
	labels[v1beta1.LabelAppComponent] = names.ComponentWorker
	return metav1.ObjectMeta{Name: names.WorkerHostKeys(in.NodeSet.Name), Namespace: in.NodeSet.Namespace, Labels: labels}
}

// renderSSHDConfig returns sshd_config. A user's port replaces ours: in the network of the Kubernetes node, its own sshd
// may have our port.
func (in Input) renderSSHDConfig() (string, error) {
	return sshd.Config{Extra: in.NodeSet.Spec.SSH.ExtraSshdConfig, Field: "spec.ssh.extraSshdConfig",
		Kept: []string{"hostkey"}, More: []sshd.Option{
			// sshd asks PAM in a separate process, which pam_slurm_adopt would move into the job instead of the session.
			{Name: "KbdInteractiveAuthentication", Value: "no"}}}.Render()
}

// addSSH makes the slurmd container run sshd beside slurmd, and adds SSSD, which provides the users. slurmd does not
// wait for SSSD, because jobs also run without it.
func (in Input) addSSH(spec *corev1.PodSpec, user userParts) {
	slurmd := &spec.Containers[0]
	slurmd.Command = append([]string{"sh", "-c", sshd.KnownOptions + sshdScript}, slurmd.Command...)
	slurmd.Env = append(slurmd.Env,
		corev1.EnvVar{Name: envSSHDConfig, Value: escapeVariables(user.sshdConfig)},
		corev1.EnvVar{Name: envSSHDPAM, Value: sshd.WorkerPAM(in.adoptOptions()...)},
		corev1.EnvVar{Name: envSSHDNSSwitch, Value: sshd.NSSwitch})
	slurmd.VolumeMounts = append(slurmd.VolumeMounts, sshd.HostKeysMount(), sshd.SSSFolderMount())
	if !user.pod.HostNetwork {
		slurmd.Ports = append(slurmd.Ports, corev1.ContainerPort{Name: portSSH, ContainerPort: names.SSHPort,
			Protocol: corev1.ProtocolTCP})
	}
	if c := slurmd.SecurityContext.Capabilities; c != nil {
		// An empty folder is the root of a connection that has not logged in, and sshd records logins.
		c.Add = append(c.Add, "AUDIT_WRITE", "NET_BIND_SERVICE", "SYS_CHROOT")
	}
	sssd := sshd.SSSDContainer([]string{"sh", "-c", sshd.SSSDScript},
		corev1.VolumeMount{Name: volumeSSSDTmp, MountPath: "/tmp"})
	// Equal values, so that a pod whose slurmd has equal values keeps its quality of service.
	some := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("256Mi")}
	sssd.Resources = corev1.ResourceRequirements{Requests: some, Limits: some}
	spec.InitContainers = append(spec.InitContainers, sssd)
	spec.Volumes = append(spec.Volumes, sshd.HostKeysVolume(names.WorkerHostKeys(in.NodeSet.Name)))
	spec.Volumes = append(spec.Volumes, sshd.SSSDVolumes(*cmp.Or(in.NodeSet.Spec.SSH.SSSDConfRef, &corev1.SecretKeySelector{}))...)
	spec.Volumes = append(spec.Volumes, podspec.EmptyVolume(volumeSSSDTmp))
}

// adoptOptions returns the options of pam_slurm_adopt. It must get the name of a dynamic node, which slurm.conf does not
// have; Kubernetes replaces the variable. Without cgroups the 24.11 module cannot find the newest of a user's jobs, and
// no session can be moved into a job anyway.
func (in Input) adoptOptions() []string {
	out := []string{"nodename=$(" + EnvHostname + ")"}
	if in.NodeSet.Spec.SecurityProfile == v1beta1.SecurityUnprivileged {
		out = append(out, "action_unknown=allow")
	}
	return out
}

package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SlurmdPort is where slurmd listens. Slurm takes it from the record of the node, and
// without one it is this.
const SlurmdPort = 6818

// Variables of the slurmd container.
const (
	// EnvHostname is the Slurm node's name.
	EnvHostname = "POD_HOSTNAME"
	// EnvConf is slurmd's --conf.
	EnvConf = "SLURMD_CONF"
	// EnvCPUs and EnvMemory (MiB) are the limits of the worker, where it has any,
	// rounded up.
	EnvCPUs   = "POD_CPUS"
	EnvMemory = "POD_MEMORY"
)

// stopScript tells Slurm that the worker is going, so that its jobs are not waited
// for until SlurmdTimeout. The reason for which it is out of service already stays; one that
// 24.11 leaves on a node that was resumed does not. It never fails, and takes no longer than Slurm may.
const stopScript = `limit=
if command -v timeout >/dev/null; then limit='timeout 5'; fi
reason=$($limit scontrol show node "$POD_HOSTNAME" 2>/dev/null | sed -n '/^ *State=[^ ]*\(DOWN\|DRAIN\|FAIL\)/,$ s/^ *Reason=\(.*\) \[[^]]*\]$/\1/p')
$limit scontrol update NodeName="$POD_HOSTNAME" State=DOWN Reason="${reason:-$0}" >/dev/null 2>&1 || true`

// StopReason is the reason of a Slurm node whose pod is being stopped.
const StopReason = v1beta1.DrainReasonPrefix + "the pod is being stopped"

// defaultSlurmd is the slurmd container before the user's is laid over it.
func (in Input) defaultSlurmd(user userParts) corev1.Container {
	c := corev1.Container{
		Name:    ContainerSlurmd,
		Image:   in.Image,
		Command: []string{"slurmd"},
		Args: []string{"-D", "-Z", "-N", "$(" + EnvHostname + ")",
			"--conf-server", in.Endpoint.String(), "--conf", "$(" + EnvConf + ")"},
		Env: []corev1.EnvVar{
			{Name: EnvHostname, ValueFrom: fieldOf(user)},
			{Name: EnvConf, Value: literal(Conf(in, KubeNodeFacts{}))},
		},
		Ports:          []corev1.ContainerPort{{Name: "slurmd", ContainerPort: SlurmdPort, Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: defaultReadinessProbe(),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"sh", "-c", stopScript, StopReason}},
		}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeKey, MountPath: keyPath, SubPath: keyFile, ReadOnly: true},
		},
		SecurityContext: securityOf(in.NodeSet.Spec.SecurityProfile),
	}
	if user.hasLogfile {
		c.Args = append(c.Args, "-L", logPath)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeLog, MountPath: logDir})
	}
	c.Env = append(c.Env, user.limitVariables()...)
	return c
}

// defaultReadinessProbe connects to slurmd's port and asks nothing. A command that lists
// steps must never be a probe: slurmd then connects to the socket of every step, takes a
// batch step that does not listen yet for a stray one and deletes its script, and the job
// fails. test/stepcommands names the commands.
func defaultReadinessProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(SlurmdPort)}},
		PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 5, // a busy worker may be slow to accept
	}
}

// fieldOf is where the Slurm node's name comes from: the pod's label, or with the
// Kubernetes node's network that node's name, which the scheduler decides.
func fieldOf(user userParts) *corev1.EnvVarSource {
	path := "metadata.labels['" + v1beta1.LabelPodHostname + "']"
	if user.pod.HostNetwork && !user.perKubeNode {
		path = "spec.nodeName"
	}
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

// literal keeps Kubernetes from putting variables into a text.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

// securityOf is what slurmd may do.
//
// Unprivileged it is root in its container with these capabilities and no others.
// SETUID, SETGID: to become the user of a job. CHOWN: to give users the folders and
// scripts of their jobs. DAC_OVERRIDE, FOWNER: to read, write and remove those. KILL:
// to signal users' processes. Without SYS_ADMIN there are no cgroups for jobs, so
// such workers need CgroupPlugin=disabled, ProctrackType=proctrack/linuxproc and no
// task/cgroup; and without SYS_NICE and SYS_RESOURCE neither a negative nice value
// nor hard limits above the container's. sshd would need SYS_CHROOT and AUDIT_WRITE.
func securityOf(profile v1beta1.SecurityProfile) *corev1.SecurityContext {
	if profile != v1beta1.SecurityUnprivileged {
		return &corev1.SecurityContext{Privileged: new(true)}
	}
	return &corev1.SecurityContext{
		Privileged:               new(false),
		AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{
			Drop: []corev1.Capability{"ALL"},
			Add:  []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"},
		},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

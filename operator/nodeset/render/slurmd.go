package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Environment variables of the slurmd container.
const (
	// EnvHostname is the name of the Slurm node.
	EnvHostname = podspec.EnvSlurmName
	// EnvConf is slurmd's --conf.
	EnvConf = "SLURMD_CONF"
	// EnvCPUs and EnvMemory (MiB) are the limits of the worker if it has any, rounded up.
	EnvCPUs   = "POD_CPUS"
	EnvMemory = "POD_MEMORY"
)

// stopScript sets the Slurm node DOWN, so that Slurm does not wait for its jobs until SlurmdTimeout. A node
// that is already out of service keeps its reason. A leftover reason, as 24.11 leaves on a resumed node, is
// replaced. If the reason cannot be read, the node stays unchanged: with our reason, the operator would end
// the drain of others as its own. The script never fails, and runs each Slurm command with a timeout, both
// within the grace period.
const stopScript = `limit=
if command -v timeout >/dev/null; then limit='timeout 10'; fi
node=$($limit scontrol show node "$POD_HOSTNAME" 2>/dev/null) || exit 0
reason=$(printf '%s\n' "$node" | sed -n '/^ *State=[^ ]*\(DOWN\|DRAIN\|FAIL\)/,$ s/^ *Reason=\(.*\) \[[^]]*\]$/\1/p')
$limit scontrol update NodeName="$POD_HOSTNAME" State=DOWN Reason="${reason:-$0}" >/dev/null 2>&1 || true`

// StopReason is the reason of a Slurm node whose pod is being stopped.
const StopReason = v1beta1.DrainReasonPrefix + "the pod is being stopped"

// defaultSlurmd returns the slurmd container before the user's is applied.
func (in Input) defaultSlurmd(user userParts) corev1.Container {
	c := corev1.Container{
		Name:    ContainerSlurmd,
		Image:   in.Image,
		Command: []string{"slurmd"},
		Args: []string{"-D", "-Z", "-N", "$(" + EnvHostname + ")",
			"--conf-server", refs.Slurmctld{Address: in.Endpoint, Each: in.Slurmctlds}.ConfServers(), "--conf", "$(" + EnvConf + ")"},
		Env: []corev1.EnvVar{
			{Name: EnvHostname, ValueFrom: slurmNameSource(user)},
			{Name: EnvConf, Value: escapeVariables(Conf(in, KubeNodeFacts{}))},
		},
		Ports: []corev1.ContainerPort{{Name: "slurmd", ContainerPort: names.SlurmdPort,
			Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: defaultReadinessProbe(),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"sh", "-c", stopScript, StopReason}},
		}},
		SecurityContext: securityContextOf(in.NodeSet.Spec.SecurityProfile),
	}
	if !in.hasAgent(user) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeKey, MountPath: keyPath, SubPath: keyFile,
			ReadOnly: true})
	}
	if user.hasLogfile {
		c.Args = append(c.Args, "-L", logPath)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeLog, MountPath: logDir})
	}
	c.Env = append(c.Env, user.limitVariables()...)
	return c
}

// defaultReadinessProbe connects to slurmd's port and sends nothing. A command that lists steps must never be
// a probe: slurmd then connects to the socket of every step. It treats a batch step that does not listen yet
// as stray and deletes its script, and the job fails. test/stepcommands lists the commands.
func defaultReadinessProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(
			names.SlurmdPort)}},
		PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 5, // a busy worker may be slow to accept
	}
}

// slurmNameSource returns the source of the Slurm node's name: the pod's label or, with the network
// of the Kubernetes node, that node's name, which the scheduler chooses.
func slurmNameSource(user userParts) *corev1.EnvVarSource {
	if user.pod.HostNetwork && !user.perKubeNode {
		return fieldSource("spec.nodeName")
	}
	return fieldSource("metadata.labels['" + v1beta1.LabelPodHostname + "']")
}

// fieldSource returns a field of the pod as the source of a variable.
func fieldSource(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

// escapeVariables keeps Kubernetes from expanding variables in a text.
func escapeVariables(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

// securityContextOf returns the privileges of slurmd.
//
// With the profile Unprivileged, slurmd is root in its container with only these capabilities. SETUID,
// SETGID: to become the user of a job. CHOWN: to give users the folders and scripts of their jobs.
// DAC_OVERRIDE, FOWNER: to read, write and remove these files. KILL: to signal users' processes. Without
// SYS_ADMIN jobs have no cgroups, so such workers need CgroupPlugin=disabled,
// ProctrackType=proctrack/linuxproc and no task/cgroup. Without SYS_NICE and SYS_RESOURCE, jobs get neither a
// negative nice value nor hard limits above the container's.
func securityContextOf(profile v1beta1.SecurityProfile) *corev1.SecurityContext {
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

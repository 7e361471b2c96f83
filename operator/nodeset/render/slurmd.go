package render

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	// EnvCPUs and EnvMemory (MiB) are the limits of the worker, where it has any.
	EnvCPUs   = "POD_CPUS"
	EnvMemory = "POD_MEMORY"
)

// limitScript adds to slurmd's --conf that what the Kubernetes node has beyond the
// worker's limits is not for jobs: CoreSpecCount counts cores, limits count CPUs.
// slurmd -C tells what slurmd sees. $1, $2: limits of CPUs and MiB, 0 for none; the
// others are slurmd's arguments.
const limitScript = `set -eu
want_cpus=${1:-0} want_memory=${2:-0} cpus=0 cores=1 memory=0 spec=
shift 2
for word in $(slurmd -C); do
  value=${word#*=}
  case $word in
  CPUs=*) cpus=$value ;;
  Boards=* | SocketsPerBoard=* | CoresPerSocket=*) cores=$((cores * value)) ;;
  RealMemory=*) memory=$value ;;
  esac
done
if [ "$want_cpus" -gt 0 ] && [ "$cpus" -gt "$want_cpus" ]; then
  spare=$((cores - (want_cpus * cores + cpus - 1) / cpus))
  [ "$spare" -le 0 ] || spec="$spec CoreSpecCount=$spare"
fi
if [ "$want_memory" -gt 0 ] && [ "$memory" -gt "$want_memory" ]; then
  spec="$spec MemSpecLimit=$((memory - want_memory))"
fi
left=$# before=
while [ "$left" -gt 0 ]; do
  word=$1
  shift
  if [ "$before" = --conf ]; then set -- "$@" "$word$spec"; else set -- "$@" "$word"; fi
  before=$word left=$((left - 1))
done
exec slurmd "$@"`

// stopScript tells Slurm that the worker is going, so that its jobs are not waited
// for until SlurmdTimeout. A reason that is there already stays. It never fails, and
// takes no longer than Slurm may.
const stopScript = `limit=
if command -v timeout >/dev/null; then limit='timeout 5'; fi
reason=$($limit scontrol show node "$POD_HOSTNAME" 2>/dev/null | sed -n 's/^ *Reason=\(.*\) \[[^]]*\]$/\1/p')
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
		Ports: []corev1.ContainerPort{{Name: "slurmd", ContainerPort: SlurmdPort, Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(SlurmdPort)}},
			PeriodSeconds: 2, FailureThreshold: 5, // workers wait for nothing else; a busy one may be slow to answer
		},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"sh", "-c", stopScript, StopReason}},
		}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeKey, MountPath: keyPath, SubPath: keyFile, ReadOnly: true},
			{Name: volumeRun, MountPath: runDir},
			{Name: volumeSpool, MountPath: spoolDir},
		},
		SecurityContext: securityOf(in.NodeSet.Spec.SecurityProfile),
	}
	if user.hasLogfile {
		c.Args = append(c.Args, "-L", logPath)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeLog, MountPath: logDir})
	}
	in.limit(&c, user)
	return c
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

// limited is a resource whose limit slurmd must know.
type limited struct {
	name    corev1.ResourceName
	env     string
	divisor resource.Quantity
	// saidBy are the options of extraConf that say how much of it there is.
	saidBy []string
}

func limitedResources() []limited {
	return []limited{
		{corev1.ResourceCPU, EnvCPUs, resource.MustParse("1"),
			[]string{"CPUs", "Sockets", "SocketsPerBoard", "CoresPerSocket", "CoreSpecCount", "CPUSpecList"}},
		{corev1.ResourceMemory, EnvMemory, resource.MustParse("1Mi"), []string{"RealMemory", "MemSpecLimit"}},
	}
}

// limit gives the container what it needs to know of the worker's limits. What
// extraConf says of a resource wins.
func (in Input) limit(c *corev1.Container, user userParts) {
	o := parseOptions(in.NodeSet.Spec.ExtraConf)
	var words []string
	known := false
	for _, l := range limitedResources() {
		word := "0"
		if env, ok := l.variable(user); ok {
			c.Env = append(c.Env, env)
			if !o.hasAny(l.saidBy...) {
				word, known = "$("+l.env+")", true
			}
		}
		words = append(words, word)
	}
	if known {
		c.Command = append([]string{"sh", "-c", limitScript, "slurmd"}, words...)
	}
}

// variable is the container's limit, else the pod's; false when there is none.
func (l limited) variable(user userParts) (corev1.EnvVar, bool) {
	if q := user.slurmd.Resources.Limits[l.name]; !q.IsZero() {
		return corev1.EnvVar{Name: l.env, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
			ContainerName: ContainerSlurmd, Resource: "limits." + string(l.name), Divisor: l.divisor}}}, true
	}
	q := user.podLimits()[l.name]
	whole := (q.Value() + l.divisor.Value() - 1) / l.divisor.Value()
	return corev1.EnvVar{Name: l.env, Value: strconv.FormatInt(whole, 10)}, whole > 0
}

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

package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// Names of parts of a worker's pod. Users need them to override those parts.
const (
	// ContainerSlurmd is the first container.
	ContainerSlurmd = "slurmd"
	// ContainerLogfile is the sidecar that prints slurmd's log file.
	ContainerLogfile = "logfile"

	volumeKey = "slurm-key"
	volumeLog = "slurm-log"
)

// Paths in the slurmd container.
const (
	keyFile = "slurm.key"
	keyPath = "/etc/slurm/" + keyFile
	logDir  = "/var/log/slurm"
	logPath = logDir + "/slurmd.log"
)

const topologyHostname = corev1.LabelHostname

// defaultTemplate returns the pod of a worker before the user's parts are applied.
func (in Input) defaultTemplate(user userParts) corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		Containers:                    []corev1.Container{in.defaultSlurmd(user)},
		Volumes:                       in.defaultVolumes(user),
		EnableServiceLinks:            new(false),
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: new(int64(30)),
		Tolerations:                   in.defaultTolerations(user),
		Subdomain:                     names.WorkerService(in.Cluster),
		// Jobs reach other workers by their Slurm names.
		DNSConfig: &corev1.PodDNSConfig{Searches: []string{
			names.ServiceDomain(names.WorkerService(in.Cluster), in.NodeSet.Namespace, in.ClusterDomain)}},
	}
	if !user.pod.HostPID {
		// slurmd orphans slurmstepds and never waits for them. As process 1 it would
		// accumulate a zombie for each step.
		spec.ShareProcessNamespace = new(true)
	}
	spec.DNSPolicy = podspec.DNSPolicyOf(&user.pod)
	if !in.NodeSet.Spec.OversubscribeNode {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: names.WorkerSelector(in.Cluster)},
				TopologyKey:   topologyHostname,
			}},
		}}
	}
	if user.hasLogfile {
		spec.InitContainers = []corev1.Container{in.defaultLogfile()}
	}
	if in.hasAgent(user) {
		podspec.AddKeysAgent(&spec, ContainerSlurmd, in.AgentImage, in.SlurmKey, user.slurmd.Resources)
	}
	if in.NodeSet.Spec.HasSSH() {
		in.addSSH(&spec, user)
	}
	return corev1.PodTemplateSpec{Spec: spec}
}

// hasAgent reports whether slurm-agent runs beside slurmd. The agent finds slurmd among the processes of the pod,
// and has a port.
func (in Input) hasAgent(user userParts) bool {
	return in.AgentImage != "" && !user.pod.HostPID && !user.pod.HostNetwork
}

func (in Input) defaultVolumes(user userParts) []corev1.Volume {
	var out []corev1.Volume
	if !in.hasAgent(user) {
		out = append(out, podspec.KeyVolume(volumeKey, in.SlurmKey, keyFile))
	}
	if user.hasLogfile {
		out = append(out, corev1.Volume{Name: volumeLog,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	return out
}

// defaultTolerations returns the tolerations of all workers and, in scaling mode DaemonSet, those
// that Kubernetes adds to the pods of a DaemonSet. Jobs may be running although a kubelet does not
// respond, so no worker is evicted for that.
func (in Input) defaultTolerations(user userParts) []corev1.Toleration {
	out := []corev1.Toleration{
		newToleration(v1beta1.TaintWorker, corev1.TaintEffectNoExecute),
		newToleration(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		newToleration(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
	}
	if !in.perKubeNode() {
		return out
	}
	out = append(out,
		newToleration(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		newToleration(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		newToleration(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		newToleration(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))
	if user.pod.HostNetwork {
		out = append(out, newToleration(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}

func newToleration(taint string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: effect}
}

// defaultLogfile prints slurmd's log file. slurmd writes it as root.
func (in Input) defaultLogfile() corev1.Container {
	out := podspec.LogfileContainer(ContainerLogfile, in.Image, logPath,
		corev1.VolumeMount{Name: volumeLog, MountPath: logDir})
	out.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"},
			Add: []corev1.Capability{"DAC_OVERRIDE"}},
	}
	return out
}

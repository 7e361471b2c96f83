package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Names of what is in a worker's pod. Users who lay something over it use them too.
const (
	// ContainerSlurmd is the first container.
	ContainerSlurmd = "slurmd"
	// ContainerLogfile is the one that shows slurmd's log file; it is a sidecar.
	ContainerLogfile = "logfile"

	volumeKey = "slurm-key"
	volumeLog = "slurm-log"
)

// Where things are in the slurmd container.
const (
	keyFile = "slurm.key"
	keyPath = "/etc/slurm/" + keyFile
	logDir  = "/var/log/slurm"
	logPath = logDir + "/slurmd.log"
)

const topologyHostname = corev1.LabelHostname

// defaultTemplate is the pod of a worker before the user's parts are laid over it.
func (in Input) defaultTemplate(user userParts) corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		Containers:                    []corev1.Container{in.defaultSlurmd(user)},
		Volumes:                       in.defaultVolumes(user),
		EnableServiceLinks:            new(false),
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: new(int64(30)),
		Tolerations:                   in.defaultTolerations(user),
		Subdomain:                     ServiceName(in.Cluster),
		// Jobs reach other workers by their Slurm names.
		DNSConfig: &corev1.PodDNSConfig{Searches: []string{in.serviceDomain()}},
	}
	if !user.pod.HostPID {
		// slurmd leaves slurmstepds to process 1 and never waits for them: as process
		// 1 itself it would gather a zombie for each step.
		spec.ShareProcessNamespace = new(true)
	}
	if user.pod.HostNetwork {
		spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	if !in.NodeSet.Spec.OversubscribeNode {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: ClusterSelector(in.Cluster)},
				TopologyKey:   topologyHostname,
			}},
		}}
	}
	if user.hasLogfile {
		spec.InitContainers = []corev1.Container{in.defaultLogfile()}
	}
	return corev1.PodTemplateSpec{Spec: spec}
}

// serviceDomain is where DNS has the workers' names.
func (in Input) serviceDomain() string {
	domain := in.ClusterDomain
	if domain == "" {
		domain = "cluster.local"
	}
	return fmt.Sprintf("%s.%s.svc.%s", ServiceName(in.Cluster), in.NodeSet.Namespace, domain)
}

func (in Input) defaultVolumes(user userParts) []corev1.Volume {
	out := []corev1.Volume{
		{Name: volumeKey, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName:  in.SlurmKey.Name,
			Items:       []corev1.KeyToPath{{Key: in.SlurmKey.Key, Path: keyFile}},
			DefaultMode: new(int32(0o600)), // Slurm refuses a key that others may read
		}}},
	}
	if user.hasLogfile {
		out = append(out, corev1.Volume{Name: volumeLog, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	return out
}

// defaultTolerations are those of all workers and, where there is one on each
// Kubernetes node, those that Kubernetes gives to pods of DaemonSets. That a kubelet is
// silent is no sign that the jobs are not running: no worker is deleted for it.
func (in Input) defaultTolerations(user userParts) []corev1.Toleration {
	out := []corev1.Toleration{
		tolerate(v1beta1.TaintWorker, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
	}
	if !in.perKubeNode() {
		return out
	}
	out = append(out,
		tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))
	if user.pod.HostNetwork {
		out = append(out, tolerate(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}

func tolerate(taint string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: effect}
}

// defaultLogfile shows slurmd's log file, and empties it before it fills the
// Kubernetes node's disk; slurmd appends to it, so nothing but old lines is lost.
func (in Input) defaultLogfile() corev1.Container {
	const script = `touch "$0"
(while sleep 60; do [ "$(wc -c <"$0")" -lt 67108864 ] || : >"$0"; done) &
exec tail -n +1 -F "$0"`
	return corev1.Container{
		Name:          ContainerLogfile,
		Image:         in.Image,
		Command:       []string{"sh", "-c", script, logPath},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		VolumeMounts:  []corev1.VolumeMount{{Name: volumeLog, MountPath: logDir}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"DAC_OVERRIDE"}},
		},
	}
}

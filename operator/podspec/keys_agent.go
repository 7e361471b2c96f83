package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

const (
	// ContainerKeys is the sidecar of a worker that gives slurmd its keys.
	ContainerKeys = "keys"
	// VolumeKeys has the keys that slurmd reads, in memory.
	VolumeKeys = "slurm-keys"

	keysDir = "/run/slurm-keys"
)

// ContainerPortAgent returns the port where an agent serves its status.
func ContainerPortAgent() corev1.ContainerPort {
	return corev1.ContainerPort{Name: portAgent, ContainerPort: names.SlurmAgentPort, Protocol: corev1.ProtocolTCP}
}

// AgentMount returns the mount with the program that InstallAgentContainer installs.
func AgentMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: VolumeAgent, MountPath: agentDir, ReadOnly: true}
}

// AddKeysAgent adds a sidecar that gives the daemon in a pod's first container the keys of auth/slurm: the slurm.key of a Secret, or
// the key set that replaces it.
func AddKeysAgent(spec *corev1.PodSpec, daemon, image string, key corev1.SecretKeySelector,
	resources corev1.ResourceRequirements) {
	security := RestrictedContext()
	security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = new(int64(0)), new(int64(0)), new(false)
	agent := corev1.Container{
		Name:          ContainerKeys,
		Image:         image,
		Args:          []string{"--daemon=" + daemon, "--wanted=" + wantedDir, "--live=" + keysDir},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Ports:         []corev1.ContainerPort{ContainerPortAgent()},
		StartupProbe:  newStartedProbe(),
		Resources:     keysResources(resources),
		VolumeMounts: []corev1.VolumeMount{{Name: VolumeKeys, MountPath: keysDir},
			{Name: volumeWanted, MountPath: wantedDir, ReadOnly: true}},
		SecurityContext: security,
	}
	spec.InitContainers = append(spec.InitContainers, agent)
	spec.Volumes = append(spec.Volumes, workerKeysVolume(key), MemoryVolume(VolumeKeys))
	first := &spec.Containers[0]
	first.VolumeMounts = append(first.VolumeMounts, corev1.VolumeMount{Name: VolumeKeys, MountPath: keysDir,
		ReadOnly: true})
	first.Env = append(first.Env, KeyVariables(keysDir)...)
}

// keysResources returns the resources of the sidecar beside a daemon with the given resources. All containers of a pod with limits need
// some, or the kernel does not limit the pod, and with it Slurm's jobs, at all. With a hundredth of a CPU the sidecar takes three
// seconds to start, and the daemon starts after it. A pod whose daemon has equal requests and limits keeps its quality of service
// (Guaranteed), so its sidecar also has equal ones.
func keysResources(daemon corev1.ResourceRequirements) corev1.ResourceRequirements {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	limits := requests.DeepCopy()
	limit, limited := daemon.Limits[corev1.ResourceCPU]
	request, requested := daemon.Requests[corev1.ResourceCPU]
	if !limited || requested && request.Cmp(limit) < 0 {
		// A LimitRange may bound the ratio of both (maxLimitRequestRatio).
		requests[corev1.ResourceCPU], limits[corev1.ResourceCPU] = resource.MustParse("25m"), resource.MustParse("100m")
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

// workerKeysVolume returns the volume with the keys that slurmd should have, and the time of the last request to
// register with Slurm again. When either changes, the agent sends slurmd a SIGHUP, which does both.
func workerKeysVolume(key corev1.SecretKeySelector) corev1.Volume {
	out := SlurmKeysVolume(volumeWanted, key, 0o400)
	out.Projected.Sources = append(out.Projected.Sources, corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{
		Items: []corev1.DownwardAPIVolumeFile{{Path: slurmconf.RegisterAgainFile, Mode: new(int32(0o400)),
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
				FieldPath: "metadata.annotations['" + v1beta1.AnnotationRegisterAgain + "']"}}}}})
	return out
}

// KeyVariables returns the environment variables with the folder of the keys for slurmd and sackd. If the folder has a slurm.jwks, they
// read it and not slurm.key. Without the variables a sackd that gets its configuration from slurmctld does not find a slurm.jwks that
// is added later (docs/development/slurm.md, "Several keys of auth/slurm").
func KeyVariables(dir string) []corev1.EnvVar {
	return []corev1.EnvVar{{Name: "SLURM_SACK_KEY", Value: dir + "/" + SlurmKeyFile},
		{Name: "SLURM_SACK_JWKS", Value: dir + "/" + SlurmJWKSFile}}
}

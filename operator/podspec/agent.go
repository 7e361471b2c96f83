package podspec

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Parts of pods where slurm-agent checks and applies the configuration of a daemon (package configagent).
const (
	// ContainerInstallAgent copies the agent into VolumeAgent.
	ContainerInstallAgent = "install-agent"
	// ContainerReconfigure is the sidecar that runs it. Its port has the name portAgent.
	ContainerReconfigure = "reconfigure"
	// VolumeAgent has the program.
	VolumeAgent = "agent"

	portAgent    = "agent"
	volumeWanted = "slurm-wanted"
	// wantedDir has the wanted files. The agent copies the accepted ones to slurmconf.Dir.
	wantedDir = "/etc/slurm-wanted"
	agentDir  = "/opt/slurm-agent"
	// AgentProgram is the program that InstallAgentContainer installs.
	AgentProgram = agentDir + "/slurm-agent"
)

// Names of keys in the directory of slurm.conf.
const (
	SlurmKeyFile = "slurm.key"
	JWTKeyFile   = slurmconf.JWTKeyFile
	JWKSFile     = slurmconf.JWKSFile
	// SlurmJWKSFile replaces SlurmKeyFile once the key has been rotated.
	SlurmJWKSFile = "slurm.jwks"
)

// SlurmID is the number of the user and the group slurm. It must be the same in every image of a
// cluster: slurmd refuses the requests of a slurmctld whose SlurmUser has another number.
const SlurmID = 401

// Modes of the files in the directory of slurm.conf. Scripts must be executable, and configless
// hands them out with their mode. Slurm refuses keys that others may read.
const (
	configMode = 0o555
	keyMode    = 0o440
)

// InstallAgentContainer returns the init container that copies the agent to where the sidecar runs it.
func InstallAgentContainer(image string) corev1.Container {
	return corev1.Container{
		Name:            ContainerInstallAgent,
		Image:           image,
		Args:            []string{"--install=" + agentDir},
		VolumeMounts:    []corev1.VolumeMount{{Name: VolumeAgent, MountPath: agentDir}},
		SecurityContext: RestrictedContext(),
	}
}

// AgentContainer returns the sidecar that runs the agent. It starts before the daemon and makes it wait for its
// first configuration. It has the daemon's image, because it tries the daemon's program. The caller adds the
// mounts that it shares with the daemon.
func AgentContainer(image string, policy corev1.PullPolicy, args ...string) corev1.Container {
	return corev1.Container{
		Name:            ContainerReconfigure,
		Image:           image,
		ImagePullPolicy: policy,
		Command:         []string{AgentProgram},
		Args:            append([]string{"--wanted=" + wantedDir}, args...),
		RestartPolicy:   new(corev1.ContainerRestartPolicyAlways),
		Ports: []corev1.ContainerPort{{Name: portAgent, ContainerPort: names.SlurmAgentPort,
			Protocol: corev1.ProtocolTCP}},
		StartupProbe: newStartedProbe(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: VolumeAgent, MountPath: agentDir, ReadOnly: true},
			{Name: volumeWanted, MountPath: wantedDir, ReadOnly: true},
		},
		SecurityContext: RestrictedContext(),
	}
}

// newStartedProbe returns the probe that lets a daemon start when the agent has given it its files.
func newStartedProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/started",
			Port: intstr.FromString(portAgent)}},
		PeriodSeconds: 1, TimeoutSeconds: 5,
		FailureThreshold: 24 * 60 * 60, // it waits while the first configuration is broken
	}
}

// KeyFile is a key of a Secret as a file. A nil Ref means no file.
type KeyFile struct {
	Ref  *corev1.SecretKeySelector
	Name string
}

// projectFiles returns the sources of the file. The keys that may follow it in a rotation are a source from the
// beginning, so that they reach pods that run already.
func (k KeyFile) projectFiles(mode int32) []corev1.VolumeProjection {
	out := []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
		LocalObjectReference: k.Ref.LocalObjectReference,
		Items:                []corev1.KeyToPath{{Key: k.Ref.Key, Path: k.Name, Mode: new(mode)}}}}}
	switch k.Name {
	case SlurmKeyFile:
		out = append(out, optionalFiles(names.KeySetSecret(k.Ref.Name, k.Ref.Key), mode, SlurmJWKSFile,
			slurmconf.KeySetFile))
	case JWTKeyFile:
		out = append(out, optionalFiles(names.JWTKeysSecret(k.Ref.Name, k.Ref.Key), mode,
			slurmconf.RotatedJWTKeyFile, slurmconf.BridgeJWKSFile, slurmconf.JWTKeysFile))
	}
	return out
}

// optionalFiles returns the source of files of a Secret that may not exist.
func optionalFiles(secret string, mode int32, files ...string) corev1.VolumeProjection {
	out := &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Optional: new(true)}
	for _, name := range files {
		out.Items = append(out.Items, corev1.KeyToPath{Key: name, Path: name, Mode: new(mode)})
	}
	return corev1.VolumeProjection{Secret: out}
}

// SlurmKeysVolume returns the volume with slurm.key and the key set that may follow it, whose files have a mode.
func SlurmKeysVolume(name string, key corev1.SecretKeySelector, mode int32) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: KeyFile{Ref: &key, Name: SlurmKeyFile}.projectFiles(mode)}}}
}

// WantedVolume returns the volume with the wanted files for the directory of slurm.conf: the files of a
// ConfigMap, the keys and, unless it is nil, a key set.
func WantedVolume(configMap string, jwks *corev1.ConfigMapKeySelector, keys ...KeyFile) corev1.Volume {
	sources := []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}}}
	for _, key := range keys {
		if key.Ref != nil {
			sources = append(sources, key.projectFiles(keyMode)...)
		}
	}
	if jwks != nil {
		sources = append(sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: jwks.LocalObjectReference,
			Items:                []corev1.KeyToPath{{Key: jwks.Key, Path: JWKSFile}}}})
	}
	return corev1.Volume{Name: volumeWanted, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(int32(configMode))}}}
}

// EmptyVolume returns an empty folder.
func EmptyVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// MemoryVolume returns an empty folder in memory, for keys.
func MemoryVolume(name string) corev1.Volume {
	out := EmptyVolume(name)
	out.EmptyDir.Medium = corev1.StorageMediumMemory
	return out
}

// HashFiles returns the revision of files: a hash of their names and contents.
func HashFiles(files map[string]string) string {
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = fmt.Appendf(all, "%q %q\n", name, files[name])
	}
	return HashContent(all)
}

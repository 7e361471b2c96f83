package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Names of parts of a slurmctld's pod. Users need them to override those parts.
const (
	// ContainerSlurmctld is the first container. Its port has the same name.
	ContainerSlurmctld = "slurmctld"
	// ContainerReconfigure is the sidecar that checks and applies the configuration (package configagent).
	// Its port has the name portAgent.
	ContainerReconfigure = "reconfigure"
	// ContainerLogfile is the sidecar that prints slurmctld's log file.
	ContainerLogfile = "logfile"

	containerInstall = "install-agent"
	portAgent        = "agent"

	volumeAgent  = "agent"
	volumeWanted = "slurm-wanted"
	volumeConfig = "slurm-config"
	volumeState  = "statesave"
	volumeRun    = "run"
	volumeTmp    = "tmp"
	volumeLog    = "slurm-log"
)

// Fields that errors name.
const (
	fieldPod         = "spec.template.spec"
	fieldSlurmctld   = "spec.slurmctld"
	fieldReconfigure = "spec.reconfigure"
	fieldLogfile     = "spec.logfile"
)

// Files and folders of the pod.
const (
	keyFile    = "slurm.key"
	jwtKeyFile = "jwt_hs256.key"
	jwksFile   = "jwks.json"
	// wantedDir has the files that are wanted. The agent copies those that it accepts to slurmconf.Dir.
	wantedDir = "/etc/slurm-wanted"
	agentDir  = "/opt/slurm-agent"
	logDir    = "/var/log/slurm"
	logPath   = logDir + "/slurmctld.log"
)

// Modes of the files in the directory of slurm.conf. Scripts must be executable, and configless
// hands them out with their mode. Slurm refuses keys that others may read.
const (
	configMode = 0o555
	keyMode    = 0o440
)

// defaultTemplate returns the pod of a slurmctld before the user's parts are applied.
func (in Input) defaultTemplate(slurmctld corev1.Container, hasLogfile bool) corev1.PodTemplateSpec {
	c := in.Controller
	spec := corev1.PodSpec{
		InitContainers:               []corev1.Container{in.installContainer(), in.defaultReconfigure(slurmctld)},
		Containers:                   []corev1.Container{in.defaultSlurmctld(hasLogfile)},
		Volumes:                      in.defaultVolumes(hasLogfile),
		EnableServiceLinks:           new(false),
		AutomountServiceAccountToken: new(false),
		// The agent ends slurmctld where a change needs a restart.
		ShareProcessNamespace: new(true),
		// On SIGTERM slurmctld writes its whole state, which is large on a large cluster.
		TerminationGracePeriodSeconds: new(int64(60)),
		// Backups find each other, and prologs the workers, by their names without a domain.
		DNSConfig: &corev1.PodDNSConfig{Searches: []string{
			names.ServiceDomain(names.ControllerInternalService(c.Name), c.Namespace, in.ClusterDomain),
			names.ServiceDomain(names.WorkerService(c.Name), c.Namespace, in.ClusterDomain)}},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(refs.DefaultSlurmUser)), RunAsGroup: new(int64(refs.DefaultSlurmUser)),
			FSGroup: new(int64(refs.DefaultSlurmUser)),
			// The state has many small files, of which only a new volume has to be changed.
			FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if refs.ControllerReplicas(in.Controller) > 1 {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: in.selector()},
				TopologyKey:   corev1.LabelHostname,
			}},
		}}
	}
	if hasLogfile {
		spec.InitContainers = append(spec.InitContainers, in.defaultLogfile())
	}
	return corev1.PodTemplateSpec{Spec: spec}
}

// defaultSlurmctld returns the slurmctld container before the user's is applied.
//
// It has no liveness probe. A slurmctld that waits for slurmdbd at its first start answers nothing,
// and one under load answers late; a restart helps neither and loses the jobs of the last seconds.
func (in Input) defaultSlurmctld(hasLogfile bool) corev1.Container {
	c := corev1.Container{
		Name:    ContainerSlurmctld,
		Image:   in.Image,
		Command: []string{"slurmctld"},
		Args:    []string{"-D"},
		Ports: []corev1.ContainerPort{{Name: ContainerSlurmctld, ContainerPort: in.address().Port,
			Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{
				Port: intstr.FromString(ContainerSlurmctld)}},
			PeriodSeconds: 2, TimeoutSeconds: 5, FailureThreshold: 5,
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeConfig, MountPath: slurmconf.Dir, ReadOnly: true},
			{Name: volumeState, MountPath: slurmconf.StateDir},
			{Name: volumeRun, MountPath: slurmconf.RunDir},
			{Name: volumeTmp, MountPath: "/tmp"},
		},
		SecurityContext: podspec.RestrictedContext(),
	}
	if hasLogfile {
		c.Args = append(c.Args, "-L", logPath)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeLog, MountPath: logDir})
	}
	return c
}

// installContainer copies the agent to where the reconfigure container runs it: that one has the image
// of slurmctld.
func (in Input) installContainer() corev1.Container {
	return corev1.Container{
		Name:            containerInstall,
		Image:           in.AgentImage,
		ImagePullPolicy: in.AgentPullPolicy,
		Args:            []string{"--install=" + agentDir},
		VolumeMounts:    []corev1.VolumeMount{{Name: volumeAgent, MountPath: agentDir}},
		SecurityContext: podspec.RestrictedContext(),
	}
}

// defaultReconfigure returns the container that checks and applies the configuration, before the
// user's part is applied. It starts before slurmctld and makes it wait for its first configuration. Its
// image is that of slurmctld, whose program it tries.
func (in Input) defaultReconfigure(slurmctld corev1.Container) corev1.Container {
	return corev1.Container{
		Name:            ContainerReconfigure,
		Image:           cmp.Or(slurmctld.Image, in.Image),
		ImagePullPolicy: slurmctld.ImagePullPolicy,
		Command:         []string{agentDir + "/slurm-agent"},
		Args:            []string{"--wanted=" + wantedDir},
		RestartPolicy:   new(corev1.ContainerRestartPolicyAlways),
		Ports: []corev1.ContainerPort{{Name: portAgent, ContainerPort: names.SlurmAgentPort,
			Protocol: corev1.ProtocolTCP}},
		StartupProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/started",
				Port: intstr.FromString(portAgent)}},
			PeriodSeconds: 1, TimeoutSeconds: 5,
			FailureThreshold: 24 * 60 * 60, // it waits as long as the first configuration is broken
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeAgent, MountPath: agentDir, ReadOnly: true},
			{Name: volumeWanted, MountPath: wantedDir, ReadOnly: true},
			{Name: volumeConfig, MountPath: slurmconf.Dir},
			{Name: volumeState, MountPath: slurmconf.StateDir},
			{Name: volumeRun, MountPath: slurmconf.RunDir},
			{Name: volumeTmp, MountPath: "/tmp"},
		},
		SecurityContext: podspec.RestrictedContext(),
	}
}

// defaultLogfile prints slurmctld's log file.
func (in Input) defaultLogfile() corev1.Container {
	out := podspec.LogfileContainer(ContainerLogfile, in.Image, logPath,
		corev1.VolumeMount{Name: volumeLog, MountPath: logDir})
	out.SecurityContext = podspec.RestrictedContext()
	return out
}

// defaultVolumes returns the volumes of a slurmctld's pod, but the claim of the StatefulSet.
func (in Input) defaultVolumes(hasLogfile bool) []corev1.Volume {
	inMemory := func(name string) corev1.Volume { // for keys
		v := podspec.EmptyDir(name)
		v.EmptyDir.Medium = corev1.StorageMediumMemory
		return v
	}
	out := []corev1.Volume{in.wantedVolume(), inMemory(volumeConfig), podspec.EmptyDir(volumeAgent), podspec.EmptyDir(volumeRun),
		inMemory(volumeTmp)}
	if p := in.Controller.Spec.Persistence; p != nil && p.Enabled && p.ExistingClaim != "" {
		out = append(out, corev1.Volume{Name: volumeState, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.ExistingClaim}}})
	} else if in.stateClaim() == nil {
		out = append(out, podspec.EmptyDir(volumeState))
	}
	if hasLogfile {
		out = append(out, podspec.EmptyDir(volumeLog))
	}
	return out
}

// wantedVolume returns the volume with what is wanted in the directory of slurm.conf: the configuration
// files and the keys.
func (in Input) wantedVolume() corev1.Volume {
	spec := &in.Controller.Spec
	sources := []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: names.ControllerConfigMap(in.Controller.Name)}}}}
	for _, key := range []struct {
		ref  *corev1.SecretKeySelector
		file string
	}{{spec.SlurmKeyRef, keyFile}, {JWTKeyRef(in.Controller), jwtKeyFile}} {
		if key.ref != nil {
			sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
				LocalObjectReference: key.ref.LocalObjectReference,
				Items:                []corev1.KeyToPath{{Key: key.ref.Key, Path: key.file, Mode: new(int32(keyMode))}}}})
		}
	}
	if jwks := spec.JWKSKeyRef; jwks != nil {
		sources = append(sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: jwks.LocalObjectReference,
			Items:                []corev1.KeyToPath{{Key: jwks.Key, Path: jwksFile}}}})
	}
	return corev1.Volume{Name: volumeWanted, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(int32(configMode))}}}
}

// JWTKeyRef returns the key of auth/jwt of a Controller, or nil.
func JWTKeyRef(c *v1beta1.Controller) *corev1.SecretKeySelector {
	return cmp.Or(c.Spec.JWTKeyRef, c.Spec.JWTHS256KeyRef)
}

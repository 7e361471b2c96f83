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
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// Names of parts of a slurmctld's pod. Users need them to override those parts.
const (
	// ContainerSlurmctld is the first container. Its port has the same name.
	ContainerSlurmctld = "slurmctld"
	// ContainerReconfigure is the sidecar that checks and applies the configuration (package configagent).
	ContainerReconfigure = podspec.ContainerReconfigure
	// ContainerLogfile is the sidecar that prints slurmctld's log file.
	ContainerLogfile = "logfile"

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
	keyFile    = podspec.SlurmKeyFile
	jwtKeyFile = podspec.JWTKeyFile
	jwksFile   = podspec.JWKSFile
	logDir     = "/var/log/slurm"
	logPath    = logDir + "/slurmctld.log"
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
			RunAsNonRoot: new(true), RunAsUser: new(int64(podspec.SlurmID)), RunAsGroup: new(int64(podspec.SlurmID)),
			FSGroup: new(int64(podspec.SlurmID)),
			// The state has many small files, and only a new volume needs a change of their group.
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
	out := corev1.PodTemplateSpec{Spec: spec}
	if conf := c.Spec.SSSDConfRef; conf != nil {
		sshd.AddDaemonSSSD(&out, *conf)
		sshd.AddDirectoryToAgent(&out.Spec)
	}
	return out
}

// defaultSlurmctld returns the slurmctld container before the user's is applied.
//
// slurmctld has no liveness probe. While it waits for slurmdbd at its first start it answers nothing, and under load it
// answers late. A restart helps neither and loses the jobs of the last seconds. slurm-agent ends a slurmctld that hangs
// during its start (daemon.Slurmctld).
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

// installContainer copies the agent to a volume where the reconfigure container, which has slurmctld's image, runs it.
func (in Input) installContainer() corev1.Container {
	return podspec.InstallAgentContainer(in.AgentImage)
}

// defaultReconfigure returns the container that checks and applies the configuration, before the user's
// part is applied.
func (in Input) defaultReconfigure(slurmctld corev1.Container) corev1.Container {
	out := podspec.AgentContainer(cmp.Or(slurmctld.Image, in.Image), slurmctld.ImagePullPolicy)
	out.VolumeMounts = append(out.VolumeMounts,
		corev1.VolumeMount{Name: volumeConfig, MountPath: slurmconf.Dir},
		corev1.VolumeMount{Name: volumeState, MountPath: slurmconf.StateDir},
		corev1.VolumeMount{Name: volumeRun, MountPath: slurmconf.RunDir},
		corev1.VolumeMount{Name: volumeTmp, MountPath: "/tmp"})
	return out
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
	out := []corev1.Volume{in.wantedVolume(), podspec.MemoryVolume(volumeConfig), podspec.EmptyVolume(podspec.VolumeAgent), podspec.EmptyVolume(volumeRun),
		podspec.MemoryVolume(volumeTmp)}
	if p := in.Controller.Spec.Persistence; p != nil && p.Enabled && p.ExistingClaim != "" {
		out = append(out, corev1.Volume{Name: volumeState, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.ExistingClaim}}})
	} else if in.stateClaim() == nil {
		out = append(out, podspec.EmptyVolume(volumeState))
	}
	if hasLogfile {
		out = append(out, podspec.EmptyVolume(volumeLog))
	}
	return out
}

// wantedVolume returns the volume with the wanted files for the directory of slurm.conf: the configuration files and
// the keys.
func (in Input) wantedVolume() corev1.Volume {
	spec := &in.Controller.Spec
	return podspec.WantedVolume(names.ControllerConfigMap(in.Controller.Name), spec.JWKSKeyRef,
		podspec.KeyFile{Ref: spec.SlurmKeyRef, Name: keyFile}, podspec.KeyFile{Ref: JWTKeyRef(in.Controller), Name: jwtKeyFile})
}

// JWTKeyRef returns the key of auth/jwt of a Controller, or nil.
func JWTKeyRef(c *v1beta1.Controller) *corev1.SecretKeySelector {
	return cmp.Or(c.Spec.JWTKeyRef, c.Spec.JWTHS256KeyRef)
}

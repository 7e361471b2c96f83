package render

import (
	"cmp"
	_ "embed"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

//go:embed files/slurmdbd.sh
var slurmdbdScript string

// ContainerSlurmdbd is the first container of slurmdbd's pod. Its port has the same name. Users need the
// name to override the container.
const ContainerSlurmdbd = "slurmdbd"

const (
	volumeConfig   = "slurm-config"
	volumeAccepted = "accepted-config"
	volumeRun      = "run"
	volumeTmp      = "tmp"
)

// acceptedDir has the files that the agent accepted last, with the password, in memory.
const acceptedDir = "/run/accepted-config"

// newStatefulSet returns the StatefulSet of slurmdbd. slurmdbd only runs on a host of the name DbdHost, which a
// StatefulSet gives to its pod.
func newStatefulSet(in Input) (*appsv1.StatefulSet, error) {
	spec := &in.Accounting.Spec
	slurmdbd, err := spec.Slurmdbd.Container()
	if err != nil {
		return nil, v1beta1.InField("spec.slurmdbd", err)
	}
	template, err := podspec.Merge(in.defaultTemplate(slurmdbd),
		podspec.Part{Field: "spec.template.spec", Raw: spec.Template.Spec},
		podspec.Container{Part: podspec.Part{Field: "spec.slurmdbd", Raw: spec.Slurmdbd}, Name: ContainerSlurmdbd},
		podspec.Container{Name: podspec.ContainerInstallAgent, Init: true},
		podspec.Container{Name: podspec.ContainerReconfigure, Init: true})
	if err != nil {
		return nil, err
	}
	if template.Spec.HostNetwork {
		return nil, fmt.Errorf("spec.template.spec.hostNetwork must not be true: slurmdbd finds itself in slurmdbd.conf by " +
			"the name of its pod, which it does not have there; use spec.service and spec.address to reach it from outside")
	}
	template.Labels = podspec.MergeMaps(spec.Template.Metadata.Labels, in.labels())
	template.Annotations = podspec.MergeMaps(spec.Template.Metadata.Annotations, nil)
	out := &appsv1.StatefulSet{
		ObjectMeta: in.metadata(names.AccountingStatefulSet(in.Accounting.Name)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:    new(int32(1)),
			ServiceName: names.AccountingService(in.Accounting.Name),
			Selector:    &metav1.LabelSelector{MatchLabels: in.selector()},
			Template:    template,
			// A pod that does not become ready is replaced as well.
			PodManagementPolicy: appsv1.ParallelPodManagement,
		},
	}
	out.APIVersion, out.Kind = "apps/v1", "StatefulSet"
	return out, nil
}

// defaultTemplate returns slurmdbd's pod before the user's parts are applied.
func (in Input) defaultTemplate(slurmdbd corev1.Container) corev1.PodTemplateSpec {
	agent := podspec.AgentContainer(cmp.Or(slurmdbd.Image, in.Image), slurmdbd.ImagePullPolicy,
		"--daemon=slurmdbd", "--accepted="+acceptedDir)
	agent.VolumeMounts = append(agent.VolumeMounts,
		corev1.VolumeMount{Name: volumeConfig, MountPath: slurmconf.Dir},
		corev1.VolumeMount{Name: volumeAccepted, MountPath: acceptedDir},
		corev1.VolumeMount{Name: volumeRun, MountPath: slurmconf.SlurmdbdRunDir},
		corev1.VolumeMount{Name: volumeTmp, MountPath: "/tmp"})
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers:               []corev1.Container{podspec.InstallAgentContainer(in.AgentImage), agent},
		Containers:                   []corev1.Container{in.defaultSlurmdbd()},
		Volumes:                      in.defaultVolumes(),
		EnableServiceLinks:           new(false),
		AutomountServiceAccountToken: new(false),
		// The agent ends slurmdbd where a change needs a restart.
		ShareProcessNamespace:         new(true),
		TerminationGracePeriodSeconds: new(int64(60)),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(podspec.SlurmID)), RunAsGroup: new(int64(podspec.SlurmID)),
			FSGroup:        new(int64(podspec.SlurmID)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
}

// defaultSlurmdbd returns the slurmdbd container before the user's is applied.
//
// slurmdbd listens once it has its database. It has no liveness probe: a restart does not bring the
// database back.
func (in Input) defaultSlurmdbd() corev1.Container {
	return corev1.Container{
		Name:    ContainerSlurmdbd,
		Image:   in.Image,
		Command: []string{"sh", "-c", slurmdbdScript, "slurmdbd"},
		Args:    []string{"-D"},
		Ports: []corev1.ContainerPort{{Name: ContainerSlurmdbd, ContainerPort: in.port(),
			Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{
				Port: intstr.FromString(ContainerSlurmdbd)}},
			PeriodSeconds: 2, TimeoutSeconds: 5, FailureThreshold: 5,
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeConfig, MountPath: slurmconf.Dir, ReadOnly: true},
			{Name: volumeRun, MountPath: slurmconf.SlurmdbdRunDir},
			{Name: volumeTmp, MountPath: "/tmp"},
		},
		SecurityContext: podspec.RestrictedContext(),
	}
}

// defaultVolumes returns the volumes of slurmdbd's pod. Those with keys or the password are in memory.
func (in Input) defaultVolumes() []corev1.Volume {
	spec := &in.Accounting.Spec
	wanted := podspec.WantedVolume(names.AccountingConfigMap(in.Accounting.Name), spec.JWKSKeyRef,
		podspec.KeyFile{Ref: spec.SlurmKeyRef, Name: podspec.SlurmKeyFile},
		podspec.KeyFile{Ref: JWTKeyRef(in.Accounting), Name: podspec.JWTKeyFile},
		podspec.KeyFile{Ref: &spec.StorageConfig.PasswordKeyRef, Name: slurmconf.StoragePasswordFile})
	return []corev1.Volume{wanted, podspec.MemoryVolume(volumeConfig), podspec.MemoryVolume(volumeAccepted),
		podspec.EmptyVolume(podspec.VolumeAgent), podspec.EmptyVolume(volumeRun), podspec.MemoryVolume(volumeTmp)}
}

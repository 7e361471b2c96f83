package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// ContainerSlurmrestd is the first container of slurmrestd's pods. Its port has the same name. Users
// need the name to override the container.
const ContainerSlurmrestd = "slurmrestd"

const (
	volumeConfig = "slurm-config"
	volumeTmp    = "tmp"
)

// nobody is the user and the group of slurmrestd, which refuses to run as root or as SlurmUser
// (slurmrestd(8)).
const nobody = 65534

// drainSeconds is the time that a pod still answers while it is being replaced, until no client is sent to it.
const drainSeconds = 5

// Objects returns all objects of a RestApi, referenced ones first. If one cannot be rendered, none is returned.
// The error names the faulty field.
func Objects(in Input) ([]podspec.KubeObject, error) {
	config, err := newConfigMap(in)
	if err != nil {
		return nil, err
	}
	service, err := newService(in)
	if err != nil {
		return nil, err
	}
	deployment, err := newDeployment(in, config.Data["slurm.conf"])
	if err != nil {
		return nil, err
	}
	return []podspec.KubeObject{config, service, deployment}, nil
}

// newConfigMap returns the ConfigMap with the slurm.conf of slurmrestd.
func newConfigMap(in Input) (*corev1.ConfigMap, error) {
	text, err := slurmconf.ClientConf{
		ClusterName: names.SlurmClusterName(in.Controller),
		Hosts:       refs.SlurmctldHosts(in.Controller),
		Port:        refs.LocateSlurmctld(in.Controller).Address.Port,
		Accounting:  in.Accounting.Host, AccountingPort: in.Accounting.Port,
		UsesIPv6: in.UsesIPv6, ServerText: in.Controller.Spec.ExtraConf, ServerFiles: in.Includes,
	}.Render()
	if err != nil {
		return nil, fmt.Errorf("rendering slurm.conf: %w", err)
	}
	out := &corev1.ConfigMap{ObjectMeta: in.metadata(names.RestAPIConfigMap(in.RestAPI.Name)),
		Data: map[string]string{"slurm.conf": text}}
	out.APIVersion, out.Kind = "v1", "ConfigMap"
	return out, nil
}

// newService returns the Service of slurmrestd, with the user's part.
func newService(in Input) (*corev1.Service, error) {
	return podspec.NewService(in.metadata(names.RestAPIService(in.RestAPI.Name)), in.selector(), in.portName(),
		in.port(), in.RestAPI.Spec.Service)
}

// newDeployment returns the Deployment of slurmrestd. Its pods are replaced when slurm.conf changes, a new
// one being ready before an old one ends.
func newDeployment(in Input, slurmConf string) (*appsv1.Deployment, error) {
	spec := &in.RestAPI.Spec
	user, err := spec.Template.Spec.PodSpec()
	if err != nil {
		return nil, v1beta1.InField("spec.template.spec", err)
	}
	defaults := in.defaultTemplate()
	defaults.Spec.DNSPolicy = podspec.DNSPolicyOf(&user)
	limitDrain(&defaults.Spec.Containers[0], user.TerminationGracePeriodSeconds)
	template, err := podspec.Merge(defaults, podspec.Part{Field: "spec.template.spec", Raw: spec.Template.Spec},
		podspec.Container{Part: podspec.Part{Field: "spec.slurmrestd", Raw: spec.Slurmrestd}, Name: ContainerSlurmrestd})
	if err != nil {
		return nil, err
	}
	sshd.UseDaemonImage(&template.Spec)
	template.Labels = podspec.MergeMaps(spec.Template.Metadata.Labels, in.labels())
	template.Annotations = podspec.MergeMaps(podspec.MergeMaps(spec.Template.Metadata.Annotations, defaults.Annotations),
		map[string]string{v1beta1.AnnotationSlurmConfigHash: podspec.HashContent([]byte(slurmConf))})
	out := &appsv1.Deployment{
		ObjectMeta: in.metadata(names.RestAPIDeployment(in.RestAPI.Name)),
		Spec: appsv1.DeploymentSpec{
			Replicas: spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: in.selector()},
			Template: template,
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1))}},
		},
	}
	out.APIVersion, out.Kind = "apps/v1", "Deployment"
	return out, nil
}

// limitDrain keeps the pause before slurmrestd ends shorter than the user's grace period, if set, as Kubernetes
// requires.
func limitDrain(slurmrestd *corev1.Container, gracePeriod *int64) {
	if gracePeriod == nil || *gracePeriod > drainSeconds {
		return
	}
	if *gracePeriod <= 1 {
		slurmrestd.Lifecycle = nil
		return
	}
	slurmrestd.Lifecycle.PreStop.Sleep.Seconds = *gracePeriod - 1
}

// defaultTemplate returns slurmrestd's pod before the user's parts are applied.
func (in Input) defaultTemplate() corev1.PodTemplateSpec {
	plugins := "slurmctld"
	if in.Accounting.Host != "" {
		plugins += ",slurmdbd"
	}
	out := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:    ContainerSlurmrestd,
			Image:   in.Image,
			Command: []string{"slurmrestd"},
			Args:    []string{"-a", "rest_auth/jwt", "-s", plugins, in.listenAddress()},
			Env: []corev1.EnvVar{
				{Name: "SLURM_JWT", Value: "daemon"},
				// A pod without rights may not unshare namespaces, and is isolated already (slurmrestd(8)).
				{Name: "SLURMRESTD_SECURITY", Value: "disable_unshare_sysv,disable_unshare_files"},
				// A response about all jobs consists of millions of small pieces, whose memory glibc's allocator
				// returns late. In an image without jemalloc, the loader prints an error and continues.
				{Name: "LD_PRELOAD", Value: "libjemalloc.so.2"},
			},
			Ports: []corev1.ContainerPort{{Name: ContainerSlurmrestd, ContainerPort: in.port(),
				Protocol: corev1.ProtocolTCP}},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{
					Port: intstr.FromString(ContainerSlurmrestd)}},
				PeriodSeconds: 2, TimeoutSeconds: 5, FailureThreshold: 5, // a large answer keeps it busy
			},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{
				Seconds: drainSeconds}}},
			// The answer about 110,000 jobs takes 600 MB at most (docs/performance.md, restd_rss_list).
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
					corev1.ResourceMemory: resource.MustParse("128Mi")},
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: volumeConfig, MountPath: slurmconf.Dir, ReadOnly: true},
				{Name: volumeTmp, MountPath: "/tmp"},
			},
			SecurityContext: podspec.RestrictedContext(),
		}},
		Volumes: []corev1.Volume{
			{Name: volumeConfig, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: names.RestAPIConfigMap(in.RestAPI.Name)}}}},
			{Name: volumeTmp, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		EnableServiceLinks:            new(false),
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: new(int64(60)), // for answers that have begun
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), RunAsGroup: new(int64(nobody)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	if conf := in.Controller.Spec.SSSDConfRef; conf != nil {
		sshd.AddDaemonSSSD(&out, *conf)
	}
	if in.hasTLS() {
		in.addTLS(&out.Spec)
	}
	return out
}

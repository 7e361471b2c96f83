package render

import (
	"cmp"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// Objects returns all objects of a LoginSet except its host keys, referenced ones first. If one cannot be
// rendered, none is returned. The error names the faulty field.
func Objects(in Input) ([]podspec.KubeObject, error) {
	config, err := newConfigMap(in)
	if err != nil {
		return nil, err
	}
	service, err := newService(in)
	if err != nil {
		return nil, err
	}
	deployment, err := newDeployment(in, config)
	if err != nil {
		return nil, err
	}
	return []podspec.KubeObject{config, service, deployment}, nil
}

// newService returns the Service of the login pods, with the user's part.
func newService(in Input) (*corev1.Service, error) {
	return podspec.NewService(in.metadata(names.LoginService(in.LoginSet.Name)), in.selector(), portSSH, in.port(),
		in.LoginSet.Spec.Service)
}

// newDeployment returns the Deployment of the login pods. Its pods are replaced when a file changes, a new one
// being ready before an old one leaves.
func newDeployment(in Input, config *corev1.ConfigMap) (*appsv1.Deployment, error) {
	template, err := in.template()
	if err != nil {
		return nil, err
	}
	files, err := json.Marshal(config.Data)
	if err != nil {
		return nil, fmt.Errorf("hashing the files: %w", err)
	}
	spec := &in.LoginSet.Spec
	template.Labels = podspec.MergeMaps(spec.Template.Metadata.Labels, in.labels())
	template.Annotations = podspec.MergeMaps(spec.Template.Metadata.Annotations, map[string]string{
		v1beta1.AnnotationSSHDConfHash: podspec.HashContent(files)})
	out := &appsv1.Deployment{
		ObjectMeta: in.metadata(names.LoginDeployment(in.LoginSet.Name)),
		Spec: appsv1.DeploymentSpec{
			Replicas: cmp.Or(spec.Replicas, new(int32(1))),
			Selector: &metav1.LabelSelector{MatchLabels: in.selector()},
			Template: template,
			Strategy: newStrategy(spec.Strategy),
		},
	}
	out.APIVersion, out.Kind = "apps/v1", "Deployment"
	return out, nil
}

// newStrategy returns the user's strategy. By default a new pod is ready before an old one is deleted.
func newStrategy(user appsv1.DeploymentStrategy) appsv1.DeploymentStrategy {
	if user.Type == appsv1.RecreateDeploymentStrategyType {
		return appsv1.DeploymentStrategy{Type: user.Type}
	}
	rolling := appsv1.RollingUpdateDeployment{}
	if user.RollingUpdate != nil {
		rolling = *user.RollingUpdate
	}
	rolling.MaxSurge = cmp.Or(rolling.MaxSurge, new(intstr.FromInt32(1)))
	leaving := int32(0)
	if s := rolling.MaxSurge.String(); s == "0" || s == "0%" {
		leaving = 1 // Kubernetes refuses two zeros, which would allow no replacement
	}
	rolling.MaxUnavailable = cmp.Or(rolling.MaxUnavailable, new(intstr.FromInt32(leaving)))
	return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &rolling}
}

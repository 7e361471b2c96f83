package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// StatefulSet returns the StatefulSet of slurmctld. The claim of its state is never deleted with it.
// An error names the faulty field.
func StatefulSet(in Input) (*appsv1.StatefulSet, error) {
	template, err := in.podTemplate()
	if err != nil {
		return nil, err
	}
	if template.Spec.HostNetwork {
		return nil, fmt.Errorf("spec.template.spec.hostNetwork must not be true: slurmctld finds itself in slurm.conf by " +
			"the name of its pod, which it does not have there; use spec.service and spec.address to reach it from outside")
	}
	out := &appsv1.StatefulSet{
		ObjectMeta: in.metadata(names.ControllerStatefulSet(in.Controller.Name)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:    new(int32(refs.ControllerReplicas(in.Controller))),
			ServiceName: names.ControllerInternalService(in.Controller.Name),
			Selector:    &metav1.LabelSelector{MatchLabels: in.selector()},
			Template:    template,
			// A backup needs no primary to start.
			PodManagementPolicy: appsv1.ParallelPodManagement,
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
				WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
		},
	}
	out.APIVersion, out.Kind = "apps/v1", "StatefulSet"
	if claim := in.stateClaim(); claim != nil {
		out.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim}
	}
	return out, nil
}

// defaultStateSize is the default size of the claim for slurmctld's state.
const defaultStateSize = "4Gi"

// stateClaim returns the template of the claim for slurmctld's state, or nil if an existing claim or
// none is used.
func (in Input) stateClaim() *corev1.PersistentVolumeClaim {
	spec := corev1.PersistentVolumeClaimSpec{}
	if p := in.Controller.Spec.Persistence; p != nil {
		if !p.Enabled || p.ExistingClaim != "" {
			return nil
		}
		spec = *p.PersistentVolumeClaimSpec.DeepCopy()
	}
	if len(spec.AccessModes) == 0 {
		spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if _, has := spec.Resources.Requests[corev1.ResourceStorage]; !has {
		if spec.Resources.Requests == nil {
			spec.Resources.Requests = corev1.ResourceList{}
		}
		spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(defaultStateSize)
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: volumeState, Labels: in.labels()}, Spec: spec,
	}
}

// podTemplate returns the template of slurmctld's pods with the user's parts.
func (in Input) podTemplate() (corev1.PodTemplateSpec, error) {
	spec := &in.Controller.Spec
	slurmctld, err := spec.Slurmctld.Container()
	if err != nil {
		return corev1.PodTemplateSpec{}, v1beta1.InField(fieldSlurmctld, err)
	}
	logfile, err := podspec.DecodeRaw(spec.Logfile)
	if err != nil {
		return corev1.PodTemplateSpec{}, v1beta1.InField(fieldLogfile, err)
	}
	defaults := in.defaultTemplate(slurmctld, len(logfile) > 0)
	out, err := podspec.Merge(defaults,
		podspec.Part{Field: fieldPod, Raw: spec.Template.Spec},
		podspec.Container{Part: podspec.Part{Field: fieldSlurmctld, Raw: spec.Slurmctld}, Name: ContainerSlurmctld},
		podspec.Container{Name: podspec.ContainerInstallAgent, Init: true},
		podspec.Container{Part: podspec.Part{Field: fieldReconfigure, Raw: spec.Reconfigure}, Name: ContainerReconfigure,
			Init: true},
		podspec.Container{Part: podspec.Part{Field: fieldLogfile, Raw: spec.Logfile}, Name: ContainerLogfile, Init: true})
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	sshd.UseDaemonImage(&out.Spec)
	out.Labels = podspec.MergeMaps(spec.Template.Metadata.Labels, in.labels())
	out.Annotations = podspec.MergeMaps(spec.Template.Metadata.Annotations, defaults.Annotations)
	return out, nil
}

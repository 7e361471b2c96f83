package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// metadata returns the metadata of an object that the Controller owns. The namespace owns it as well, so
// that slurmctld outlives a deleted Controller until no job needs it.
func (in Input) metadata(name string) metav1.ObjectMeta {
	kind := v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindController)
	return metav1.ObjectMeta{Name: name, Namespace: in.Controller.Namespace, Labels: in.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.Controller, kind),
			refs.Anchor(in.Controller.Namespace, in.NamespaceUID)}}
}

// InternalService returns the headless Service that gives each slurmctld a DNS name, even while it is not
// Ready: a backup must find the primary, and a starting slurmctld must find itself.
func InternalService(in Input) *corev1.Service {
	out := &corev1.Service{
		ObjectMeta: in.metadata(names.ControllerInternalService(in.Controller.Name)),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 in.selector(),
			Ports:                    []corev1.ServicePort{in.servicePort(names.SlurmctldPort)},
		},
	}
	out.APIVersion, out.Kind = "v1", "Service"
	return out
}

// PodServices returns a Service for each of several slurmctlds. Unlike the name of a pod, the name of a
// Service also resolves while the pod does not exist, and connections are refused at once. A single slurmctld
// needs no such Service.
func PodServices(in Input) []*corev1.Service {
	replicas := refs.ControllerReplicas(in.Controller)
	if replicas == 1 {
		return nil
	}
	var out []*corev1.Service
	for i := range replicas {
		selector := in.selector()
		selector[appsv1.StatefulSetPodNameLabel] = names.ControllerPod(in.Controller.Name, i)
		service := &corev1.Service{
			ObjectMeta: in.metadata(names.ControllerPodService(in.Controller.Name, i)),
			Spec: corev1.ServiceSpec{
				PublishNotReadyAddresses: true,
				Selector:                 selector,
				Ports:                    []corev1.ServicePort{in.servicePort(in.address().Port)},
			},
		}
		service.APIVersion, service.Kind = "v1", "Service"
		out = append(out, service)
	}
	return out
}

// Service returns the Service at which workers and clients find slurmctld, with the user's part.
func Service(in Input) (*corev1.Service, error) {
	out, err := podspec.NewService(in.metadata(names.ControllerService(in.Controller.Name)), in.selector(),
		ContainerSlurmctld, in.address().Port, in.Controller.Spec.Service)
	if err != nil {
		return nil, err
	}
	if out.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, fmt.Errorf("spec.service.spec.type must not be ExternalName; set spec.external for a slurmctld elsewhere")
	}
	podspec.KeepSourceAddress(out)
	if WantsServiceMonitor(in.Controller) {
		out.Labels = podspec.MergeMaps(out.Labels, map[string]string{v1beta1.LabelMonitored: monitored})
	}
	return out, nil
}

// servicePort returns slurmctld's port of a Service.
func (in Input) servicePort(port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: ContainerSlurmctld, Protocol: corev1.ProtocolTCP, Port: port,
		TargetPort: intstr.FromString(ContainerSlurmctld)}
}

package nodeset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

func sharedOwner(kind, name string, uid types.UID) metav1.OwnerReference {
	version := v1beta1.SchemeGroupVersion.String()
	if kind == "Namespace" {
		version = "v1"
	}
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: uid}
}

func TestCorrectService(t *testing.T) {
	controller, anchor := sharedOwner(v1beta1.KindController, "slurm", "uid-2"),
		sharedOwner("Namespace", "slurm", "uid-ns")
	want := render.Service("slurm", "slurm", controller, anchor)
	for _, tc := range []struct {
		name       string
		have, keep func(*corev1.Service)
	}{
		{"ours stays", func(*corev1.Service) {}, func(*corev1.Service) {}},
		{"one without owners, labels and selector",
			func(s *corev1.Service) { s.OwnerReferences, s.Labels, s.Spec.Selector = nil, nil, nil },
			func(*corev1.Service) {}},
		{"one that selects other pods, only ready ones, on another port", func(s *corev1.Service) {
			s.Spec.Selector["app"], s.Spec.PublishNotReadyAddresses = "x", false
			s.Spec.Ports[0].Port, s.Spec.Ports[0].TargetPort = 1, intstr.FromInt32(1)
		}, func(*corev1.Service) {}},
		{"the port is missing", func(s *corev1.Service) { s.Spec.Ports = nil }, func(*corev1.Service) {}},
		{"an earlier Controller of the name owned it", func(s *corev1.Service) { s.OwnerReferences[0].UID = "uid-1" },
			func(s *corev1.Service) { s.OwnerReferences = []metav1.OwnerReference{anchor, controller} }},
		{"what others added stays", func(s *corev1.Service) {
			s.Labels["mine"], s.Spec.ClusterIP = "yes", "10.0.0.1"
			s.OwnerReferences = append(s.OwnerReferences, sharedOwner(v1beta1.KindCluster, "slurm", "uid-3"))
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 9100})
		}, func(s *corev1.Service) {
			s.Labels["mine"], s.Spec.ClusterIP = "yes", "10.0.0.1"
			s.OwnerReferences = append(s.OwnerReferences, sharedOwner(v1beta1.KindCluster, "slurm", "uid-3"))
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 9100})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			have, expected := want.DeepCopy(), want.DeepCopy()
			tc.have(have)
			tc.keep(expected)
			before := have.DeepCopy()
			if diff := cmp.Diff(expected, correctService(have, want)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, have); diff != "" {
				t.Errorf("what was read has changed: %s", diff)
			}
		})
	}
}

// sharedOwnerKinds returns the kinds of the owners of both shared objects.

package nodeset

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

func TestWhoseAPodIs(t *testing.T) {
	labels := func(change ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels = names.NodeSetSelector("gpu", "slurm")
			p.Labels[render.LabelRevision], p.Labels[v1beta1.LabelPodName] = "new", p.Name
			for i := 0; i < len(change); i += 2 {
				p.Labels[change[i]] = change[i+1]
			}
		}
	}
	owned := func(kind, name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID("x"),
				Controller: new(true)}}
		}
	}
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"its controller's", nodesettest.NewWorkerPod(0, owned("NodeSet", "cpu"), labels()), "cpu"},
		{"another kind's", nodesettest.NewWorkerPod(0, owned("StatefulSet", "gpu"), labels()), ""},
		{"an orphan's, by its labels", nodesettest.NewWorkerPod(0, labels()), "gpu"},
		{"not a copy's", nodesettest.NewWorkerPod(0, labels(v1beta1.LabelPodName, "gpu-7")), ""},
		{"nobody's", nodesettest.NewWorkerPod(0), ""},
		{"not a login pod's", nodesettest.NewWorkerPod(0, labels(v1beta1.LabelAppName, v1beta1.AppLogin)), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := nodeSetOf(tc.pod); got != tc.want {
				t.Errorf("it is %q", got)
			}
		})
	}
}

func TestWhichDeletionLeavesOrphans(t *testing.T) {
	deleted := func(finalizers ...string) *v1beta1.NodeSet {
		return nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) {
			n.DeletionTimestamp, n.Finalizers = new(metav1.NewTime(nodesettest.Noon)),
				slices.Concat(finalizers, []string{v1beta1.FinalizerDrain})
		})
	}
	owned := appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{render.Owner(nodesettest.NewNodeSet(1))}}}
	free := appsv1.ControllerRevision{}
	for _, tc := range []struct {
		name      string
		set       *v1beta1.NodeSet
		revisions []appsv1.ControllerRevision
		want      bool
	}{
		{"none that is not one", nodesettest.NewNodeSet(1), []appsv1.ControllerRevision{free}, false},
		{"in the background", deleted(), []appsv1.ControllerRevision{owned}, false},
		{"in the foreground", deleted(metav1.FinalizerDeleteDependents), []appsv1.ControllerRevision{free}, false},
		{"in the foreground, when all has gone", deleted(), nil, false},
		{"one that asks for it", deleted(metav1.FinalizerOrphanDependents), []appsv1.ControllerRevision{owned}, true},
		{"one that has asked for it", deleted(), []appsv1.ControllerRevision{free}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isOrphaning(tc.set, tc.revisions); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}

func TestForeignOwnersOfAWorkerStay(t *testing.T) {
	foreign := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "uid-x"}
	old := render.Owner(nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.UID = "uid-before" }))
	s := newObservation(0, func(s *observation) { s.namespaceUID = "uid-namespace" })
	pod := nodesettest.NewWorkerPod(
		0, func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{old, foreign} })
	if got := missingOwnersOf(pod, s); got != (plan.MissingOwners{NodeSet: true, Namespace: true}) {
		t.Errorf("it lacks %+v", got)
	}
	pod.OwnerReferences = ownersOf(pod, s)
	if len(pod.OwnerReferences) != 3 || pod.OwnerReferences[0] != foreign ||
		missingOwnersOf(pod, s) != (plan.MissingOwners{}) {
		t.Errorf("its owners are %+v", pod.OwnerReferences)
	}
}

package controller

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// stateVolumes returns a pod of slurmctld that mounts a volume for its state, which is a claim unless the claim is empty.
func stateVolumes(volume, claim, folder string) corev1.PodSpec {
	out := corev1.PodSpec{Containers: []corev1.Container{{Name: "slurmctld", VolumeMounts: []corev1.VolumeMount{
		{Name: "run", MountPath: slurmconf.RunDir}, {Name: volume, MountPath: slurmconf.StateDir, SubPath: folder}}}}}
	if claim != "" {
		out.Volumes = []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
	return out
}

// newStateSet returns a StatefulSet of Controller slurm whose slurmctld keeps its state in a claim of a template.
func newStateSet(template, folder string) *appsv1.StatefulSet {
	out := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm-controller",
		Labels: map[string]string{v1beta1.LabelAppInstance: "slurm"}}}
	out.Spec.Template.Spec = stateVolumes(template, "", folder)
	out.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: template}}}
	return out
}

func newClaims(of string, claims ...string) []corev1.PersistentVolumeClaim {
	var out []corev1.PersistentVolumeClaim
	for _, name := range claims {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		if of != "" {
			claim.Labels = map[string]string{v1beta1.LabelAppInstance: of}
		}
		out = append(out, claim)
	}
	return out
}

// TestCheckState: a slurmctld never starts with another state than that of the one before.
func TestCheckState(t *testing.T) {
	ours, volatile := newStateSet("statesave", ""), newStateSet("statesave", "")
	volatile.Spec.VolumeClaimTemplates = nil
	own := newStateSet("statesave", "")
	own.Spec.Template.Spec = stateVolumes("statesave", "shared", "")
	pod := func(spec corev1.PodSpec) stateEvidence { return stateEvidence{pod: &corev1.Pod{Spec: spec}} }
	for _, tc := range []struct {
		name string
		want *appsv1.StatefulSet
		has  stateEvidence
		// problem is in the message, empty for none.
		problem string
	}{
		{"nothing is there", ours, stateEvidence{}, ""},
		{"a StatefulSet with the same claim", ours, stateEvidence{set: newStateSet("statesave", "")}, ""},
		{"one with another claim", ours, stateEvidence{set: newStateSet("state", "")}, "in claim state-slurm-controller-0, and"},
		{"one with the same claim in a folder", ours, stateEvidence{set: newStateSet("statesave", "ctld")},
			"in folder ctld of claim statesave-slurm-controller-0"},
		{"one without a claim: its state ends with its pod", ours, stateEvidence{set: volatile}, ""},
		{"its pod with the same claim", ours, pod(stateVolumes("x", "statesave-slurm-controller-0", "")), ""},
		{"its pod with another claim", ours, pod(stateVolumes("x", "old", "")), "with claim statesave-slurm-controller-0,"},
		{"its pod without a claim", ours, pod(stateVolumes("x", "", "")), ""},
		{"the claim of spec.persistence", own, pod(stateVolumes("x", "shared", "")), ""},
		{"another than that of spec.persistence", own, pod(stateVolumes("x", "statesave-slurm-controller-0", "")),
			"with claim shared,"},
		{"no persistence", volatile, pod(stateVolumes("x", "old", "")), ""},
		{"only the same claim is left", ours, stateEvidence{claims: newClaims("slurm", "statesave-slurm-controller-0")}, ""},
		{"only another claim is left", ours, stateEvidence{claims: newClaims("slurm", "old-slurm-controller-0")},
			"in claim old-slurm-controller-0, and"},
		{"one without labels is left", ours, stateEvidence{claims: newClaims("", "old-slurm-controller-0")},
			"in claim old-slurm-controller-0, and"},
		{"both are left", ours, stateEvidence{claims: newClaims("slurm", "old-slurm-controller-0",
			"statesave-slurm-controller-0")}, ""},
		{"those of others", ours, stateEvidence{claims: append(newClaims("a-slurm", "statesave-a-slurm-controller-0"),
			newClaims("slurm", "data-mariadb-0", "statesave-slurm-controller-1")...)}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := checkState(tc.want, tc.has)
			if (err != nil) != (tc.problem != "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("the error is %v, not %q", err, tc.problem)
			}
		})
	}
}

// TestNoSlurmctldStartsWithoutItsState: with a claim of another name there is no StatefulSet, whatever of the other operator
// is left, until the state is in the claim that is used.
func TestNoSlurmctldStartsWithoutItsState(t *testing.T) {
	theirs := newStateSet("state", "")
	theirs.Labels = names.SlurmctldSelector("slurm")
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(),
		Kind: v1beta1.KindController, Name: "slurm", UID: "uid-slurm", Controller: new(true)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm-controller-0"},
		Spec: stateVolumes("state", "state-slurm-controller-0", "")}
	claim := newClaims("slurm", "state-slurm-controller-0")[0]
	e := newEnv(t, theirs, pod, &claim)
	expect := func(what string) {
		t.Helper()
		if c := e.reconcile(); c.Reason != v1beta1.ReasonStateElsewhere {
			t.Errorf("with %s Ready is %+v", what, c)
		}
		list := &appsv1.StatefulSetList{}
		if err := e.store.List(t.Context(), list); err != nil || len(list.Items) > 0 && list.Items[0].UID != theirs.UID {
			t.Errorf("with %s there are the StatefulSets %+v (%v)", what, list.Items, err)
		}
	}
	expect("the StatefulSet")
	if err := e.store.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	expect("the pod")
	if err := e.store.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	expect("the claim")
	same := newClaims("", "statesave-slurm-controller-0")[0]
	if err := e.store.Create(t.Context(), &same); err != nil {
		t.Fatal(err)
	}
	if c := e.reconcile(); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("with the state in its claim Ready is %+v", c)
	}
	e.get("slurm-controller", &appsv1.StatefulSet{})
}

package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	other := newStateSet("statesave", "")
	other.Spec.VolumeClaimTemplates, other.Spec.Template.Spec = nil, stateVolumes("statesave", "b", "")
	own.Spec.VolumeClaimTemplates = nil
	applied := func(set *appsv1.StatefulSet) stateEvidence {
		set = set.DeepCopy()
		set.Annotations = map[string]string{v1beta1.AnnotationAppliedHash: "1"}
		return stateEvidence{set: set}
	}
	in := func(v corev1.VolumeSource) *appsv1.StatefulSet {
		out := volatile.DeepCopy()
		out.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "statesave", VolumeSource: v}}
		return out
	}
	onHost := func(path string) *appsv1.StatefulSet {
		return in(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}})
	}
	onShare := func(share string) *appsv1.StatefulSet {
		return in(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "nfs.csi.k8s.io",
			VolumeAttributes: map[string]string{"share": share, "server": "nas"}}})
	}
	onTarget := in(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}})
	used := func(claim string, others ...string) []corev1.PersistentVolumeClaim {
		out := newClaims("", append(others, claim)...)
		out[len(out)-1].Annotations = map[string]string{v1beta1.AnnotationStateOf: "slurm"}
		return out
	}
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
		{"no persistence, where the pod has some", volatile, pod(stateVolumes("x", "old", "")), "with an empty volume"},
		{"our own StatefulSet with the same claim", ours, applied(ours), ""},
		{"our own with another existing claim", own, applied(other), "in claim b, and this operator would start slurmctld with " +
			"claim shared"},
		{"our own with the claim of its template, and an existing one is wanted", own, applied(ours), "state-moved=shared"},
		{"our own with a claim, and none is wanted", volatile, applied(ours), "state-moved=emptyDir"},
		{"our own without a claim, and one is wanted", ours, applied(volatile), "in an empty volume that ends with the pod, and"},
		{"our own without a claim, as is wanted", volatile, applied(volatile), ""},
		{"our own with a folder of the Kubernetes node, and another is wanted", onHost("/b"), applied(onHost("/a")),
			"in volume hostPath:/a, and"},
		{"our own with the same folder", onHost("/a"), applied(onHost("/a")), ""},
		{"our own with a volume of a driver, and another is wanted", onShare("/b"), applied(onShare("/a")),
			"state-moved=csi:nfs.csi.k8s.io:server=nas,share=/b --overwrite"},
		{"our own with the same volume of a driver", onShare("/a"), applied(onShare("/a")), ""},
		{"our own with a volume of another kind", onTarget, applied(onShare("/a")), "--namespace team slurm " +
			"slinky.slurm.net/state-moved=iscsi --overwrite"},
		{"a claim of an earlier Controller is left, and none is wanted", volatile,
			stateEvidence{claims: newClaims("slurm", "statesave-slurm-controller-0")}, "state-moved=emptyDir"},
		{"an earlier Controller used another existing claim", own, stateEvidence{claims: used("a", "shared")}, "in claim a, and"},
		{"an earlier Controller used this claim", own, stateEvidence{claims: used("shared", "a")}, ""},
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
			err := checkState(tc.want, tc.has, "elsewhere")
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

// TestTheStateIsMovedOnlyWhenConfirmed: another claim, none, or one where there was none leaves the running slurmctld as it
// is until somebody says that its state was moved there.
func TestTheStateIsMovedOnlyWhenConfirmed(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after *v1beta1.ControllerPersistence
		place         string
	}{
		{"another existing claim", persistenceOn("a"), persistenceOn("b"), "b"},
		{"no persistence", persistenceOn("a"), &v1beta1.ControllerPersistence{}, "emptyDir"},
		{"persistence", &v1beta1.ControllerPersistence{}, persistenceOn("a"), "a"},
		{"an existing claim in place of our own", nil, persistenceOn("a"), "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			claims := newClaims("", "a", "b")
			e := newEnv(t, &claims[0], &claims[1])
			e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = tc.before })
			e.reconcile()
			set := func() *appsv1.StatefulSet {
				out := &appsv1.StatefulSet{}
				e.get("slurm-controller", out)
				return out
			}
			before := set()
			e.change(func(s *v1beta1.ControllerSpec) { s.Persistence, s.ExtraConf = tc.after, "MaxJobCount=5" })
			if c := e.reconcile(); c.Reason != v1beta1.ReasonStateElsewhere || !strings.Contains(c.Message, "state-moved="+tc.place) {
				t.Errorf("Ready is %+v", c)
			}
			if diff := cmp.Diff(before.Spec, set().Spec); diff != "" || strings.Contains(e.slurmConf(), "MaxJobCount") {
				t.Errorf("the StatefulSet or the configuration changed: %s", diff)
			}
			e.annotate(v1beta1.AnnotationStateMoved, "elsewhere")
			if c := e.reconcile(); c.Reason != v1beta1.ReasonStateElsewhere {
				t.Errorf("with another place confirmed, Ready is %+v", c)
			}
			e.annotate(v1beta1.AnnotationStateMoved, tc.place)
			if c := e.reconcile(); c.Reason == v1beta1.ReasonStateElsewhere {
				t.Errorf("with the place confirmed, Ready is %+v", c)
			}
			after := set()
			if got := stateVolumeOf(&after.Spec.Template.Spec, after).place(); got != tc.place {
				t.Errorf("the state is in %s, want %s", got, tc.place)
			}
		})
	}
}

// TestTwoControllersNeverShareAState: the second one gets no StatefulSet, and the claim stays the first one's, until the first
// one is gone.
func TestTwoControllersNeverShareAState(t *testing.T) {
	claim := newClaims("", "a")[0]
	claim.Annotations = map[string]string{v1beta1.AnnotationStateOf: "first", v1beta1.AnnotationStateClusterName: "blue"}
	first := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "first"}}
	e := newEnv(t, &claim, first)
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence, s.ClusterName = persistenceOn("a"), "blue" })
	if c := e.reconcile(); c.Reason != v1beta1.ReasonStateElsewhere || !strings.Contains(c.Message, "Controller first") {
		t.Errorf("Ready is %+v", c)
	}
	list := &appsv1.StatefulSetList{}
	if err := e.store.List(t.Context(), list); err != nil || len(list.Items) > 0 {
		t.Errorf("there are the StatefulSets %+v (%v)", list.Items, err)
	}
	if e.get("a", &claim); claim.Annotations[v1beta1.AnnotationStateOf] != "first" {
		t.Errorf("the claim has the annotations %v", claim.Annotations)
	}
	if err := e.store.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if c := e.reconcile(); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without the first Controller, Ready is %+v", c)
	}
}

// TestTwoControllersWaitForAClaim: nothing on the claim says yet whose it is, and both would start when it is there.
func TestTwoControllersWaitForAClaim(t *testing.T) {
	other := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "first-controller",
		Labels: map[string]string{v1beta1.LabelAppInstance: "first"}}}
	other.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "state", MountPath: slurmconf.StateDir}}}},
		Volumes: []corev1.Volume{{Name: "state", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "a"}}}}}
	e := newEnv(t, other)
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistenceOn("a") })
	if c := e.reconcile(); c.Reason != v1beta1.ReasonStateElsewhere || !strings.Contains(c.Message, "Controller first") {
		t.Errorf("Ready is %+v", c)
	}
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistenceOn("b") })
	if c := e.reconcile(); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("with another claim, Ready is %+v", c)
	}
}

func persistenceOn(claim string) *v1beta1.ControllerPersistence {
	return &v1beta1.ControllerPersistence{Enabled: true, ExistingClaim: claim}
}

// TestTheClaimSaysWhoseStateItHas: a Controller that is made again with another claim, without one or with another
// ClusterName is refused.
func TestTheClaimSaysWhoseStateItHas(t *testing.T) {
	claims := newClaims("", "a", "b")
	e := newEnv(t, &claims[0], &claims[1])
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistenceOn("a") })
	e.reconcile()
	marks := func(name string) map[string]string {
		claim := &corev1.PersistentVolumeClaim{}
		e.get(name, claim)
		return claim.Annotations
	}
	if got := marks("a"); got[v1beta1.AnnotationStateOf] != "slurm" || got[v1beta1.AnnotationStateClusterName] != "team_slurm" {
		t.Errorf("the claim has the annotations %v", got)
	}
	set := &appsv1.StatefulSet{}
	e.get("slurm-controller", set)
	if err := e.store.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for _, persistence := range []*v1beta1.ControllerPersistence{persistenceOn("b"), {}, nil} {
		e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistence })
		if c := e.reconcile(); c.Reason != v1beta1.ReasonStateElsewhere || !strings.Contains(c.Message, "in claim a, and") {
			t.Errorf("with %+v, Ready is %+v", persistence, c)
		}
	}
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence, s.ClusterName = persistenceOn("a"), "blue" })
	if c := e.reconcile(); c.Reason != v1beta1.ReasonInvalidSpec || !strings.Contains(c.Message, "spec.clusterName to team_slurm") {
		t.Errorf("with another ClusterName, Ready is %+v", c)
	}
	e.change(func(s *v1beta1.ControllerSpec) { s.ClusterName = "" })
	if c := e.reconcile(); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("with the claim of before, Ready is %+v", c)
	}
	e.change(func(s *v1beta1.ControllerSpec) { s.Persistence = persistenceOn("b") })
	e.annotate(v1beta1.AnnotationStateMoved, "b")
	e.reconcile()
	if len(marks("a")) > 0 || marks("b")[v1beta1.AnnotationStateOf] != "slurm" {
		t.Errorf("after the move, the claims have the annotations %v and %v", marks("a"), marks("b"))
	}
}

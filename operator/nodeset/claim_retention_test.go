package nodeset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestClaimsThatScaleInLeaves(t *testing.T) {
	var kept bool
	unmark := func(*observation, *plan.Actions) { kept = true }
	for _, tc := range []struct {
		name   string
		policy *v1beta1.ClaimRetentionPolicy
		change func(*observation, *plan.Actions)
		want   []string
	}{
		{"are kept where nothing is said", nil, nil, nil},
		{"are kept where that is asked for", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimRetain}, nil, nil},
		{"are kept that were kept before it was asked for",
			&v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete}, unmark, nil},
		{"are deleted where that is asked for", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete}, nil,
			[]string{"data-n-1"}},
		{"stay while a worker is on its way out", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *observation, _ *plan.Actions) { s.workers[0].DeletedAt = time.Now() }, nil},
		{"stay while a worker is missing", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *observation, _ *plan.Actions) { s.desired.Replicas = 2 }, nil},
		{"stay while one is being made", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(_ *observation, actions *plan.Actions) { actions.Steps = []plan.Step{{Verb: plan.CreatePod}} }, nil},
		{"stay when the NodeSet is deleted", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *observation, _ *plan.Actions) { s.desired.Deleting = true }, nil},
		{"stay while it cannot be followed", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *observation, _ *plan.Actions) { s.problem.reason = v1beta1.ReasonInvalidSpec }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &observation{
				nodeSet: &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{PersistentVolumeClaimRetentionPolicy: tc.policy}},
				desired: plan.Desired{Replicas: 1},
				workers: []plan.Worker{{Pod: "n-0"}},
				pods:    map[string]*corev1.Pod{"n-0": {}},
			}
			s.pods["n-0"].Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-n-0"}}}}
			actions := &plan.Actions{}
			kept = false
			if tc.change != nil {
				tc.change(s, actions)
			}
			claims := make([]corev1.PersistentVolumeClaim, 2)
			claims[0].Name, claims[1].Name = "data-n-0", "data-n-1"
			if !kept {
				claims[1].Annotations = map[string]string{v1beta1.AnnotationDeleteWhenScaled: "true"}
			}
			var got []string
			for _, c := range surplusClaims(s, actions, claims) {
				got = append(got, c.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("it deletes %v, not %v", got, tc.want)
			}
		})
	}
}

func TestClaimsFollowTheRetentionPolicy(t *testing.T) {
	const keep, drop = v1beta1.ClaimRetain, v1beta1.ClaimDelete
	for _, tc := range []struct {
		name                  string
		whenDeleted           v1beta1.ClaimRetention
		whenScaled            v1beta1.ClaimRetention
		owned, marked, inUse  bool
		wantOwned, wantMarked bool
	}{
		{"one in use is kept with the NodeSet gone", keep, keep, false, false, true, false, false},
		{"one that was to go with the NodeSet is kept", keep, keep, true, false, true, false, false},
		{"one that was left over too", keep, keep, true, true, false, false, false},
		{"one in use goes with the NodeSet", drop, keep, false, false, true, true, false},
		{"one that was kept before does not", drop, keep, false, false, false, false, false},
		{"one in use goes by scale-in", keep, drop, false, false, true, false, true},
		{"one that was kept before stays", keep, drop, false, false, false, false, false},
		{"one that is about to go goes", keep, drop, false, true, false, false, true},
		{"one that is about to go is kept", keep, keep, false, true, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := gpuNodeSet(1, func(n *v1beta1.NodeSet) {
				n.Spec.PersistentVolumeClaimRetentionPolicy = &v1beta1.ClaimRetentionPolicy{WhenDeleted: tc.whenDeleted,
					WhenScaled: tc.whenScaled}
			})
			claim := &corev1.PersistentVolumeClaim{}
			if tc.owned {
				claim.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: nodeSetUID}}
			}
			if tc.marked {
				claim.Annotations = map[string]string{v1beta1.AnnotationDeleteWhenScaled: "true"}
			}
			changed := applyRetention(n, claim, tc.inUse)
			owned := slices.ContainsFunc(claim.OwnerReferences,
				func(o metav1.OwnerReference) bool { return o.UID == nodeSetUID })
			marked := claim.Annotations[v1beta1.AnnotationDeleteWhenScaled] == "true"
			if owned != tc.wantOwned || marked != tc.wantMarked ||
				changed != (owned != tc.owned || marked != tc.marked) {
				t.Errorf("owned %t, marked %t, changed %t", owned, marked, changed)
			}
			if applyRetention(n, claim, tc.inUse) {
				t.Error("it changes again")
			}
		})
	}
}

func TestClaimsThatWereKeptOutliveAChangeOfPolicy(t *testing.T) {
	policy := func(p v1beta1.ClaimRetentionPolicy) func(*v1beta1.NodeSet) {
		return func(n *v1beta1.NodeSet) { n.Spec.PersistentVolumeClaimRetentionPolicy = &p }
	}
	r := newTestEnv(t, gpuNodeSet(3, setClaims, policy(v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimDelete})))
	have := func() string {
		list := &corev1.PersistentVolumeClaimList{}
		r.must(r.List(t.Context(), list))
		var out []string
		for _, c := range list.Items {
			out = append(out, fmt.Sprint(c.Name, len(c.OwnerReferences)))
		}
		return strings.Join(out, " ")
	}
	scale := func(n int32) {
		r.scale(n)
		for range 4 {
			r.pollAndReconcile()
			r.kubelet()
		}
	}
	r.startWorkers()
	scale(2)
	if got := have(); got != "data-gpu-01 data-gpu-11 data-gpu-21" {
		t.Fatalf("with whenScaled Retain the claims are %s", got)
	}
	r.change(policy(v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimRetain, WhenScaled: v1beta1.ClaimDelete}))
	r.pollAndReconcile()
	if got := have(); got != "data-gpu-00 data-gpu-10 data-gpu-20" {
		t.Fatalf("with whenScaled Delete and whenDeleted Retain they are %s", got)
	}
	scale(1)
	if got := have(); got != "data-gpu-00 data-gpu-20" {
		t.Errorf("after scale-in they are %s", got)
	}
}

package nodeset

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestClaimsThatScaleInLeaves(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy *v1beta1.ClaimRetentionPolicy
		change func(*seen, *plan.Todo)
		want   []string
	}{
		{"are kept where nothing is said", nil, nil, nil},
		{"are kept where that is asked for", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimRetain}, nil, nil},
		{"are deleted where that is asked for", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete}, nil, []string{"data-n-1"}},
		{"stay while a worker is on its way out", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *seen, _ *plan.Todo) { s.workers[0].Going = time.Now() }, nil},
		{"stay while a worker is missing", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *seen, _ *plan.Todo) { s.wish.Replicas = 2 }, nil},
		{"stay while one is being made", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(_ *seen, todo *plan.Todo) { todo.Steps = []plan.Step{{Verb: plan.Create}} }, nil},
		{"stay when the NodeSet is deleted", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *seen, _ *plan.Todo) { s.wish.Deleting = true }, nil},
		{"stay while it cannot be followed", &v1beta1.ClaimRetentionPolicy{WhenScaled: v1beta1.ClaimDelete},
			func(s *seen, _ *plan.Todo) { s.problem.reason = v1beta1.ReasonInvalidSpec }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &seen{
				nodeSet: &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{PersistentVolumeClaimRetentionPolicy: tc.policy}},
				wish:    plan.Wish{Replicas: 1},
				workers: []plan.Worker{{Pod: "n-0"}},
				pods:    map[string]*corev1.Pod{"n-0": {}},
			}
			s.pods["n-0"].Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-n-0"}}}}
			todo := &plan.Todo{}
			if tc.change != nil {
				tc.change(s, todo)
			}
			claims := make([]corev1.PersistentVolumeClaim, 2)
			claims[0].Name, claims[1].Name = "data-n-0", "data-n-1"
			var got []string
			for _, c := range surplus(s, todo, claims) {
				got = append(got, c.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("it deletes %v, not %v", got, tc.want)
			}
		})
	}
}

package behaviour

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

func TestClaimsThatWereKeptOutliveAChangeOfPolicy(t *testing.T) {
	policy := func(p v1beta1.ClaimRetentionPolicy) func(*v1beta1.NodeSet) {
		return func(n *v1beta1.NodeSet) { n.Spec.PersistentVolumeClaimRetentionPolicy = &p }
	}
	r := newTestEnv(t, nodesettest.NewNodeSet(3, setClaims,
		policy(v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimDelete})))
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

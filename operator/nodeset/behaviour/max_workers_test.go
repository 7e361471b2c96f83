package behaviour

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// reconcileCost is how many bytes a reconciliation allocates.
func reconcileCost(t *testing.T, r *testEnv) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Reconcile(t.Context(), request)
	runtime.ReadMemStats(&after)
	r.must(err)
	return after.TotalAlloc - before.TotalAlloc
}

func hpaOfGPU(most int32) *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu"}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: v1beta1.SchemeGroupVersion.String(),
		Kind: v1beta1.KindNodeSet, Name: "gpu"}
	h.Spec.MaxReplicas = most
	return h
}

// newEnvWithMax returns a NodeSet with a worker and a maximum, either its own or an HPA's. Slurm has as many
// FUTURE records as the operator makes at most, or none.
func newEnvWithMax(t *testing.T, most int32, ofHPA, recorded bool) *testEnv {
	t.Helper()
	n := nodesettest.NewNodeSet(1, func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=4" })
	var others []client.Object
	if ofHPA {
		others = []client.Object{hpaOfGPU(most)}
	} else {
		n.Spec.MaxReplicas = &most
	}
	r := newTestEnv(t, n, others...)
	if recorded {
		var names []string
		for i := range desired.MaxRecords {
			names = append(names, fmt.Sprint("gpu-", i))
		}
		r.must(r.slurm.CreateNodes(t.Context(), hostlist.Compress(names), ""))
		for _, node := range r.slurm.Nodes {
			node.Comment = comment.OfFuture(n, "uid-namespace", "")
		}
	}
	r.slurm.Poll()
	return r
}

// TestAVeryHighMaximumCostsNoMoreThanTheMostRecords covers memory only: with a record for
// each of four million workers, a look allocated more than a gigabyte. It ends at the first
// fault, since each takes long.
func TestAVeryHighMaximumCostsNoMoreThanTheMostRecords(t *testing.T) {
	for _, tc := range []struct {
		name            string
		ofHPA, recorded bool
	}{
		{"its own, without records", false, false},
		{"its own, with all records", false, true},
		{"its HPA's, without records", true, false},
		{"its HPA's, with all records", true, true},
	} {
		well := t.Run(tc.name, func(t *testing.T) {
			usual := reconcileCost(t, newEnvWithMax(t, desired.MaxRecords, tc.ofHPA, tc.recorded))
			if usual < desired.MaxRecords*8 {
				t.Errorf("a look at %d possible workers allocates %d bytes: the test looks at too little",
					desired.MaxRecords,
					usual)
			}
			if high := reconcileCost(t, newEnvWithMax(t, 4_000_000, tc.ofHPA, tc.recorded)); high > 2*usual {
				t.Errorf("a look allocates %d bytes, and %d with as many workers as there are records at most", high,
					usual)
			}
		})
		if !well {
			return
		}
	}
}

// TestRecordsHaveNamesThatWorkersCanHave: with the second digit of an ordinal, the names have 64 characters.
func TestRecordsHaveNamesThatWorkersCanHave(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withHostname(strings.Repeat("x", 62)), nodesettest.WithMaxReplicas(20)))
	for range 6 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if got := len(r.slurm.Nodes); got != 10 {
		t.Errorf("there are %d records, want 10", got)
	}
	c := r.expectCondition("Submittable", "True", "RecordsReady")
	want := "Slurm accepts jobs for 10 workers: further ones would have names that are too long, though the maximum is 20"
	if c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	if r.podNames() != "gpu-0 gpu-1" {
		t.Errorf("the pods are %s", r.podNames())
	}
}

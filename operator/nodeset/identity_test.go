package nodeset

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/live"
)

// answers has readings come from a Slurm cluster of a name.
func (r *rig) answers(cluster string) {
	r.slurm.cluster = func(reading *live.Reading) {
		reading.Snapshot.Nodes.Cluster, reading.Snapshot.Jobs.Cluster = cluster, cluster
	}
}

// TestAnotherSlurmClusterIsNotBelieved: it knows the workers as drained and idle.
func TestAnotherSlurmClusterIsNotBelieved(t *testing.T) {
	r := newRig(t, gpu(2, most(2)))
	r.answers("one")
	r.serve()
	if got := r.nodeSet().Annotations[v1beta1.AnnotationSlurmCluster]; got != "one" {
		t.Fatalf("the remembered cluster is %q", got)
	}
	r.slurm.start(7, "gpu-0")
	r.slurm.start(8, "gpu-1")
	r.scale(0)
	r.turn()
	r.turn()
	r.slurm.end(7) // to the other cluster it is unknown
	r.slurm.end(8)
	r.answers("two")
	r.turn()
	r.forget()
	for range 4 {
		r.turn()
	}
	if r.names() != "gpu-0 gpu-1" || len(r.slurm.calls) > 0 {
		t.Errorf("the pods are %q, the writes to Slurm %q", r.names(), r.slurm.calls)
	}
	if c := r.has("Ready", "False", "OtherSlurmCluster"); !strings.Contains(c.Message, "one") || !strings.Contains(c.Message, "two") {
		t.Errorf("the condition says %q", c.Message)
	}
	r.answers("one")
	for range 6 {
		r.turn()
	}
	if r.names() != "" || r.nodeSet().Annotations[v1beta1.AnnotationSlurmCluster] != "" {
		t.Errorf("afterwards the pods are %q", r.names())
	}
}

// TestSlurmNodesOfAnotherNodeSetAreLeftAlone: one of that name in another namespace, or
// another Kubernetes cluster.
func TestSlurmNodesOfAnotherNodeSetAreLeftAlone(t *testing.T) {
	r := newRig(t, gpu(1, most(1)))
	r.slurm.nodes["gpu-0"] = slurmNode("gpu-0", "IDLE", "DRAIN")
	r.slurm.nodes["gpu-0"].Reason = v1beta1.DrainReasonPrefix + "scale-in"
	r.slurm.nodes["gpu-0"].Comment = `{"namespace":"slurm","podName":"gpu-0","nodeSetName":"gpu","nodeSetUID":"another","namespaceUID":"elsewhere"}`
	for range 4 {
		r.turn()
	}
	if r.names() != "" || len(r.slurm.calls) > 0 {
		t.Errorf("the pods are %q, the writes to Slurm %q", r.names(), r.slurm.calls)
	}
	if c := r.has("Ready", "False", "SlurmNodesTaken"); !strings.Contains(c.Message, "gpu-0") {
		t.Errorf("the condition says %q", c.Message)
	}
	if told := strings.Join(r.told(), "\n"); strings.Count(told, "SlurmNodesTaken") != 1 {
		t.Errorf("the events are %s", told)
	}
}

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
// another Kubernetes cluster, or another on the same Kubernetes nodes.
func TestSlurmNodesOfAnotherNodeSetAreLeftAlone(t *testing.T) {
	onKube0 := func(n *v1beta1.NodeSet) {
		perKubeNode(n)
		n.Spec.Template.Spec.Raw = []byte(`{"nodeSelector": {"kubernetes.io/hostname": "kube-0"}}`)
	}
	for _, tc := range []struct {
		name, slurmNode string
		set             *v1beta1.NodeSet
	}{
		{"with a maximum", "gpu-0", gpu(1, most(1))},
		{"without one", "gpu-0", gpu(1)},
		{"one on each Kubernetes node", "kube-0", gpu(0, onKube0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.set)
			theirs := slurmNode(tc.slurmNode, "IDLE", "DRAIN")
			theirs.Reason = v1beta1.DrainReasonPrefix + "scale-in"
			theirs.Comment = `{"namespace":"slurm","podName":"gpu-0","nodeSetName":"gpu","nodeSetUID":"another","namespaceUID":"elsewhere"}`
			r.slurm.nodes[tc.slurmNode] = theirs
			for range 4 {
				r.turn()
			}
			if r.names() != "" || len(r.slurm.calls) > 0 {
				t.Errorf("the pods are %q, the writes to Slurm %q", r.names(), r.slurm.calls)
			}
			if c := r.has("Ready", "False", "SlurmNodesTaken"); !strings.Contains(c.Message, tc.slurmNode) {
				t.Errorf("the condition says %q", c.Message)
			}
			if told := strings.Join(r.told(), "\n"); strings.Count(told, "SlurmNodesTaken") != 1 {
				t.Errorf("the events are %s", told)
			}
			delete(r.slurm.nodes, tc.slurmNode)
			r.turn()
			if len(r.pods()) != 1 {
				t.Errorf("when the name is free the pods are %q", r.names())
			}
		})
	}
}

// TestANameWhoseOwnerIsNotKnownIsWaitedFor: whose a Slurm node is its NodeSet writes only after
// slurmd has registered.
func TestANameWhoseOwnerIsNotKnownIsWaitedFor(t *testing.T) {
	r := newRig(t, gpu(1, most(1)))
	r.slurm.nodes["gpu-0"] = slurmNode("gpu-0", "IDLE", "DYNAMIC_NORM")
	r.turn()
	if r.names() != "" || len(r.slurm.calls) > 0 {
		t.Errorf("the pods are %q, the writes to Slurm %q", r.names(), r.slurm.calls)
	}
	if c := r.has("Ready", "False", "Progressing"); !strings.Contains(c.Message, "Slurm nodes gpu-0 respond and have no owner in their comment") {
		t.Errorf("the condition says %q", c.Message)
	}
	delete(r.slurm.nodes, "gpu-0")
	r.turn()
	if r.names() != "gpu-0" {
		t.Errorf("when the name is free the pods are %q", r.names())
	}
}

// TestNoWorkerJoinsBeforeItsNameIsKnownToBeFree: the client of a Cluster that was just made
// has read nothing yet.
func TestNoWorkerJoinsBeforeItsNameIsKnownToBeFree(t *testing.T) {
	r := newRig(t, gpu(1))
	r.noSlurm = true
	r.reconcile()
	if c := r.has("Ready", "Unknown", "NotObserved"); r.names() != "" || !strings.Contains(c.Message, "workers are created once Slurm has been read") {
		t.Errorf("before a reading the pods are %q, and the condition says %q", r.names(), c.Message)
	}
	r.noSlurm = false
	r.turn()
	if r.names() != "gpu-0" {
		t.Errorf("afterwards they are %q", r.names())
	}
}

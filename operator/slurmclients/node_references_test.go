package slurmclients

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// TestWhatNeedsNodesIsReadAgain: a job that was submitted after the last poll, and a FUTURE record.
func TestWhatNeedsNodesIsReadAgain(t *testing.T) {
	simulated, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	c.Set(red, endpointAt(url))
	waitUntil(t, "it is read", isComplete(c, red))
	s := c.For(red)
	if err := s.CreateNodes(t.Context(), "w[1-2]", "CPUs=4 RealMemory=8000 Feature=cpu State=FUTURE"); err != nil {
		t.Fatal(err)
	}
	id, err := simulated.Submit(slurmtest.JobSpec{RunFor: time.Hour,
		JobRequest: slurm.JobRequest{Nodes: 6, RequiredNodes: "w1", Hold: true}})
	if err != nil {
		t.Fatal(err)
	}
	if nodes, err := s.ReadNodes(t.Context()); err != nil || nodes["w2"] == nil || nodes["w2"].State.Base != slurm.NodeFuture {
		t.Errorf("the nodes are %v, %v", nodes, err)
	}
	got, err := s.ReadReferences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	partition := got.Nodes["w1"].Partitions[0]
	if got.References["w1"] == "" || got.References["w2"] != "" {
		t.Errorf("the references are %v", got.References)
	}
	want := references.Pending{partition: {"": {Nodes: 6, Largest: id, First: id}}}
	if diff := cmp.Diff(want, got.Pending); diff != "" {
		t.Error(diff)
	}
	if n := got.NodesIn[partition]; n[""] != 4 || n["cpu"] != 2 {
		t.Errorf("the nodes are %v", got.NodesIn)
	}
}

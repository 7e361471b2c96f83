package slurmclients

import (
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// TestNothingIsWrittenToAnotherCluster: without a read before, nothing is written to a cluster whose name
// differs from the context's expected one.
func TestNothingIsWrittenToAnotherCluster(t *testing.T) {
	_, url := newSimulatedCluster(t, slurmtest.Release2605)
	c := startClusters(t, nil)
	c.Set(red, endpointAt(url))
	waitUntil(t, "it is read", isComplete(c, red))
	s := c.For(red)
	name := s.Reading().Snapshot.Nodes.Cluster
	if name == "" {
		t.Fatal("the cluster has no name")
	}
	reservation := slurm.ReservationRequest{Name: "r", StartTime: 4e9, Duration: slurm.Num(60), Nodes: []string{"n1"},
		Users: []string{"root"}}
	for _, expected := range []string{"another", name} {
		ctx, want := slurmclient.WithCluster(t.Context(), expected), slurmclient.CodeConflict
		if expected == name {
			want = ""
		}
		comment := "of " + expected
		for what, err := range map[string]error{
			"a comment":      s.UpdateNode(ctx, "n1", slurmclient.NodeUpdate{Comment: &comment}),
			"a reservation":  s.SetReservation(ctx, reservation),
			"no reservation": s.DeleteReservation(ctx, "r"),
		} {
			if got := slurmclient.CodeOf(err); got != want && !(expected == name && slurmclient.IsNotFound(err)) {
				t.Errorf("writing %s where %s is expected: %v", what, expected, err)
			}
		}
		n, err := s.ReadNode(t.Context(), "n1")
		if err != nil {
			t.Fatal(err)
		}
		if written := n.Comment == comment; written != (expected == name) {
			t.Errorf("the comment is %q where %s is expected", n.Comment, expected)
		}
	}
}

package collector

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestNodeFailuresAndDrains(t *testing.T) {
	node := func(state ...string) *slurm.Node {
		return &slurm.Node{Name: "n1", State: slurm.ParseNodeState(state...)}
	}
	because := func(n *slurm.Node, reason string, at slurm.Time) *slurm.Node {
		n.Reason, n.ReasonAt = reason, at
		return n
	}
	noon := slurm.At(nodeReading(0).Nodes.ReadAt)
	for _, tc := range []struct {
		name     string
		readings []*slurmclient.Snapshot
		want     map[string]float64
		seconds  float64 // of drains that have ended
	}{
		{"a node that dies", []*slurmclient.Snapshot{nodeReading(0, node("IDLE")), nodeReading(5, node("IDLE", "NOT_RESPONDING")),
			nodeReading(10, node("DOWN", "NOT_RESPONDING")), nodeReading(15, node("DOWN", "NOT_RESPONDING")), nodeReading(20, node("IDLE")),
			nodeReading(25, node("DOWN"))},
			map[string]float64{"slurm_node_failures_total not_responding": 1, "slurm_node_failures_total down": 2}, 0},
		{"a node that somebody takes down after a drain", []*slurmclient.Snapshot{nodeReading(0, node("IDLE")),
			nodeReading(5, because(node("IDLE", "DRAIN"), "disk", noon+4)), nodeReading(10, because(node("DOWN", "DRAIN"), "disk", noon+4)),
			nodeReading(40, node("IDLE"))},
			map[string]float64{"slurm_node_drain_duration_seconds others": 1}, 35},
		{"a drain from before the exporter started", []*slurmclient.Snapshot{nodeReading(0, because(node("IDLE", "DRAIN"), "disk", noon-600)),
			nodeReading(5, node("IDLE"))}, map[string]float64{"slurm_node_drain_duration_seconds others": 1}, 605},
		{"a worker that the operator deletes", []*slurmclient.Snapshot{nodeReading(0, node("IDLE")),
			nodeReading(5, because(node("IDLE", "DRAIN"), "slurm-operator: scale-in", noon+5)), nodeReading(10, node("FUTURE"))},
			map[string]float64{"slurm_node_drain_duration_seconds slurm-operator": 1}, 5},
		{"a drained node whose record is deleted", []*slurmclient.Snapshot{nodeReading(0, node("IDLE", "DRAIN")), nodeReading(5)},
			map[string]float64{"slurm_node_drain_duration_seconds others": 1}, 5},
		{"a node that is new and down", []*slurmclient.Snapshot{nodeReading(0), nodeReading(5, node("DOWN"))}, map[string]float64{}, 0},
		{"a node that fails under its jobs", []*slurmclient.Snapshot{nodeReading(0, node("ALLOCATED")), nodeReading(5, node("ALLOCATED", "FAIL"))},
			map[string]float64{"slurm_node_failures_total fail": 1}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := NewNodeHistory()
			for _, s := range tc.readings {
				o.Record(s)
			}
			got := gatherSeries(t, o.registry)
			for name, n := range got {
				if n == 0 {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if sum := sumOf(t, o.registry, "slurm_node_drain_duration_seconds"); sum != tc.seconds {
				t.Errorf("the drains lasted %v s, want %v", sum, tc.seconds)
			}
		})
	}
}

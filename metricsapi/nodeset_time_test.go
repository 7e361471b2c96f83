package metricsapi

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// readingAt returns a reading of a NodeSet with one node, some seconds after noon.
func readingAt(seconds int, state slurm.NodeBase) *Reading {
	at := noon().Add(time.Duration(seconds) * time.Second)
	s := snapshotOf([]*slurm.Node{aNode("a-0", "a", "a", state)}, nil, aPartition("a"))
	s.Nodes.ReadAt, s.Jobs.ReadAt, s.Partitions.ReadAt = at, at, at
	pool := demand.Pool{Name: "team/a", Feature: "a", Partitions: []string{"a"}, Replicas: 1}
	return new(Reader).Read(at, s, []demand.Pool{pool})
}

func TestNodeSetTime(t *testing.T) {
	red := refs.ClusterKey{Kind: "Cluster", Namespace: "team", Name: "red"}
	staleJobs := readingAt(100, slurm.NodeIdle)
	staleJobs.snapshot.Jobs.ReadAt = noon()
	failed := readingAt(10, slurm.NodeIdle)
	failed.demand.Known = false
	for _, c := range []struct {
		name       string
		readings   []*Reading
		idle, busy float64
	}{
		{"one reading", []*Reading{readingAt(0, slurm.NodeIdle)}, 0, 0},
		{"each reading counts until the next", []*Reading{readingAt(0, slurm.NodeIdle), readingAt(5, slurm.NodeIdle),
			readingAt(9, slurm.NodeAllocated), readingAt(16, slurm.NodeAllocated)}, 9, 7},
		{"only jobs were read", []*Reading{readingAt(0, slurm.NodeIdle), readingAt(0, slurm.NodeIdle),
			readingAt(3, slurm.NodeIdle)}, 3, 0},
		{"a reading without numbers between", []*Reading{readingAt(0, slurm.NodeIdle), failed,
			readingAt(20, slurm.NodeIdle)}, 20, 0},
		{"a gap", []*Reading{readingAt(0, slurm.NodeIdle), readingAt(300, slurm.NodeIdle),
			readingAt(301, slurm.NodeIdle)}, 1, 0},
		{"HPAs get no numbers", []*Reading{readingAt(95, slurm.NodeIdle), staleJobs, readingAt(130, slurm.NodeIdle)}, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewNodeSetTime()
			for _, r := range c.readings {
				m.ObserveReading(red, time.Time{}, r)
			}
			for state, want := range map[string]float64{"idle": c.idle, "busy": c.busy, "booting": 0, "unusable": 0, "off": 0} {
				if got := testutil.ToFloat64(m.WithLabelValues("team/red", "team", "a", state)); got != want {
					t.Errorf("%s for %v s, want %v", state, got, want)
				}
			}
		})
	}
	t.Run("the series of a NodeSet end with it, and with its cluster", func(t *testing.T) {
		m := NewNodeSetTime()
		m.ObserveReading(red, noon(), readingAt(0, slurm.NodeIdle))
		m.ObserveReading(red, noon(), new(Reader).Read(noon(), snapshotOf(nil, nil), nil))
		if text := gatherText(t, m); text != "" {
			t.Errorf("without the NodeSet the exposition is\n%s", text)
		}
		m.ObserveReading(red, noon(), readingAt(9, slurm.NodeIdle))
		if text := gatherText(t, m); !strings.Contains(text, `nodeset="a",state="idle"} 0`) {
			t.Errorf("a new series does not begin at 0:\n%s", text)
		}
		m.ForgetCluster(red)
		if text := gatherText(t, m); text != "" {
			t.Errorf("without the cluster the exposition is\n%s", text)
		}
	})
}

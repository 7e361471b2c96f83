package collector

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// gpuNode returns a node of the partition gpu with 4 GPUs and 8 CPUs.
func gpuNode(name, state, used string, cpus uint32) *slurm.Node {
	return &slurm.Node{Name: name, State: slurm.ParseNodeState(state), CPUs: 8, EffectiveCPUs: 8, AllocCPUs: cpus,
		IdleCPUs: 8 - cpus, GRES: "gpu:h100:4", GRESUsed: used, Partitions: []string{"gpu"}}
}

// nodeReading returns a snapshot of nodes that were read at a second of noon.
func nodeReading(second int, nodes ...*slurm.Node) *slurmclient.Snapshot {
	s := &slurmclient.Snapshot{}
	s.Nodes.Poll = slurmclient.Poll{Resource: slurmclient.Nodes, Enabled: true, Known: true, Cluster: "alpha",
		Sequence: uint64(second), Period: 5 * time.Second,
		ReadAt: time.Date(2026, 1, 1, 12, 0, second, 0, time.UTC)}
	s.Nodes.Value = nodes
	return s
}

// countedSeconds returns the counters that are not 0, by name and label values.
func countedSeconds(t *testing.T, o *NodeTime) map[string]float64 {
	t.Helper()
	out := gatherSeries(t, o.registry)
	maps.DeleteFunc(out, func(_ string, v float64) bool { return v == 0 })
	return out
}

// gatherSeries returns the values of counters, and the counts of histograms, by name and label values.
func gatherSeries(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName() + seriesLabels(m)
			if h := m.GetHistogram(); h != nil {
				out[name] = float64(h.GetSampleCount())
			} else {
				out[name] = m.GetCounter().GetValue()
			}
		}
	}
	return out
}

func seriesLabels(m *dto.Metric) (out string) {
	for _, l := range m.GetLabel() {
		out += " " + l.GetValue()
	}
	return out
}

func TestNodeTimeIsTheSumOfReadings(t *testing.T) {
	o := NewNodeTime()
	half, free := gpuNode("gpu-0", "MIXED", "gpu:h100:1", 2), gpuNode("gpu-1", "IDLE", "", 0)
	o.Record(nodeReading(1, half, free))
	o.Record(nodeReading(11, half, gpuNode("gpu-1", "DOWN", "", 0)))
	o.Record(nodeReading(16, gpuNode("gpu-0", "IDLE+POWERED_DOWN", "", 0)))
	want := map[string]float64{
		"slurm_node_seconds_total busy": 15, "slurm_node_seconds_total idle": 10, "slurm_node_seconds_total unusable": 5,
		"slurm_cpu_seconds_total allocated": 30, "slurm_cpu_seconds_total idle": 60 + 80 + 30,
		"slurm_cpu_seconds_total other":          40,
		"slurm_gpu_seconds_total allocated h100": 15, "slurm_gpu_seconds_total idle h100": 30 + 40 + 15,
		"slurm_gpu_seconds_total other h100": 20,
	}
	for name, v := range maps.Clone(want) { // all nodes are in one partition
		of, labels, _ := strings.Cut(name, " ")
		want[strings.Replace(of, "slurm_", "slurm_partition_", 1)+" gpu "+labels] = v
	}
	if diff := cmp.Diff(want, countedSeconds(t, o)); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownTimeDoesNotCount(t *testing.T) {
	const minutes = 60
	unread := func() *slurmclient.Snapshot { return &slurmclient.Snapshot{} }
	busy := gpuNode("gpu-0", "ALLOCATED", "gpu:h100:4", 8)
	otherCluster := nodeReading(20, busy)
	otherCluster.Nodes.Cluster = "beta"
	slowPolls := nodeReading(0, busy)
	slowPolls.Nodes.Period = 5 * time.Minute
	for _, c := range []struct {
		name     string
		readings []*slurmclient.Snapshot
		want     float64
	}{
		{"one reading", []*slurmclient.Snapshot{nodeReading(10, busy)}, 0},
		{"nothing was read before", []*slurmclient.Snapshot{unread(), nodeReading(10, busy)}, 0},
		{"a failed poll keeps the reading", []*slurmclient.Snapshot{nodeReading(10, busy), nodeReading(10, busy),
			nodeReading(30, busy)}, 20},
		{"a short gap", []*slurmclient.Snapshot{nodeReading(0, busy), nodeReading(2*minutes, busy)}, 120},
		{"a long gap", []*slurmclient.Snapshot{nodeReading(0, busy), nodeReading(2*minutes+1, busy)}, 0},
		{"a long gap and readings after it", []*slurmclient.Snapshot{nodeReading(0, busy), nodeReading(60*minutes, busy),
			nodeReading(60*minutes+7, busy)}, 7},
		{"polls are that slow", []*slurmclient.Snapshot{slowPolls, nodeReading(6*minutes, busy)}, 360},
		{"another cluster", []*slurmclient.Snapshot{nodeReading(0, busy), otherCluster}, 0},
		{"the clock was set back", []*slurmclient.Snapshot{nodeReading(20, busy), nodeReading(10, busy),
			nodeReading(15, busy)}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := NewNodeTime()
			for _, s := range c.readings {
				o.Record(s)
			}
			if got := countedSeconds(t, o)["slurm_node_seconds_total busy"]; got != c.want {
				t.Errorf("busy for %v s, want %v", got, c.want)
			}
		})
	}
}

func TestCountersStartAtZero(t *testing.T) {
	o := NewNodeTime()
	o.Record(nodeReading(1, gpuNode("gpu-0", "IDLE", "", 0)))
	families, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		series += len(f.GetMetric())
	}
	if want := 2 * (5 + 3 + 3); series != want {
		t.Errorf("%d series after the first reading, want %d", series, want)
	}
}

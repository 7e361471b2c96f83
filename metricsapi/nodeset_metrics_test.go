package metricsapi

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var update = flag.Bool("update", false, "rewrite the files in testdata, and the page of metrics")

// nodeSetList is a NodeSetLister of fixed NodeSets.
type nodeSetList []Object

func (l nodeSetList) NodeSets() []Object { return l }

// testNodeSets has two NodeSets in a cluster. One has demand for its maximum, a node that is
// down, and a node that has just become idle. The other is new.
func testNodeSets(change ...func(*slurmclient.Snapshot)) nodeSetList {
	down := aNode("a2", "a", "a", slurm.NodeDown)
	idle := aNode("a1", "a", "a", slurm.NodeIdle)
	idle.LastBusy = slurm.At(noon().Add(-time.Minute))
	boots := aNode("a3", "a", "a", slurm.NodeIdle)
	boots.State.Flags = slurm.NodePoweringUp
	running := aJob(5, "a", "None")
	running.State.Base, running.Nodes = slurm.JobRunning, "a0"
	held, large, wide := aJob(4, "a", "JobHeldUser"), aJob(7, "a", "Resources"), aJob(8, "a", "BadConstraints")
	held.Hold = true
	large.NodeCount, large.CPUs, large.Tasks = slurm.Num(50), slurm.Num(400), slurm.Num(50)
	wide.CPUs = slurm.Num(64)
	wide.EditDetails(func(d *slurm.JobDetails) { d.MinCPUsPerNode, d.CPUsPerTask = slurm.Num(64), slurm.Num(64) })
	array := aJob(6, "a", "Resources")
	array.ArrayJobID, array.ArrayTasks = 6, "1-3"
	s := snapshotOf(
		[]*slurm.Node{aNode("a0", "a", "a", slurm.NodeAllocated), idle, down, boots,
			aNode("a4", "a", "a", slurm.NodeFuture)},
		[]*slurm.Job{aJob(1, "a", "Resources"), running, held, array, large, wide}, aPartition("a"),
	)
	for _, f := range change {
		f(s)
	}
	red := clusterOf("red", s, demand.Pool{Name: "team/a", Feature: "a", Partitions: []string{"a"}, Max: 6, Replicas: 4,
		IdleGrace: 10 * time.Minute})
	return nodeSetList{
		{Namespace: "team", Name: "a", Pool: "team/a", Clusters: []Cluster{red},
			ScaleBounds: &scaling.Bounds{Replicas: 4, Min: ptr[uint64](0), Max: ptr[uint64](6)}},
		{Namespace: "team", Name: "new", Pool: "team/new", Clusters: []Cluster{red},
			ScaleBounds: &scaling.Bounds{Replicas: 1}},
	}
}

// gatherText returns the exposition of the collectors as text.
func gatherText(t *testing.T, of ...prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(of...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func metricsOf(l nodeSetList, now time.Time) *NodeSetMetrics {
	return NewNodeSetMetrics(l, Config{Now: func() time.Time { return now }})
}

// compareGolden compares text with a file, or writes the file with -update.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update to rewrite it:\n%s", file, diff)
	}
}

func TestMetricsOfNodeSets(t *testing.T) {
	text := gatherText(t, metricsOf(testNodeSets(), noon()))
	compareGolden(t, filepath.Join("testdata", "nodesets.prom"), text)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, e := range nodeSetMetricTable() {
		if !strings.Contains(text, "\n"+e.name+"{") {
			t.Errorf("%s has no sample; the golden file must contain every metric", e.name)
		}
	}
}

// TestMetricsOfNodeSetsAreThoseOfHPAs checks that common metrics have the same value.
func TestMetricsOfNodeSetsAreThoseOfHPAs(t *testing.T) {
	plant := testNodeSets()
	text := gatherText(t, metricsOf(plant, noon()))
	for _, e := range nodeSetEntries() {
		if e.Name == unsatisfiableJobs {
			continue
		}
		var m metricSum
		if err := m.add(e, plant[0], "red", plant[0].Clusters[0].(fakeCluster).reading, matchEverything()); err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%s{cluster=\"team/red\",namespace=\"team\",nodeset=\"a\"} %d\n", e.Name,
			m.value); !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestUnknownNumbersHaveNoSample(t *testing.T) {
	const head = `# HELP slurm_nodeset_known 1 if HPAs get numbers for the NodeSet, 0 if they get an error because the numbers are too old or unknown.
# TYPE slurm_nodeset_known gauge
`
	const ofKube = "slurm_nodeset_max_nodes slurm_nodeset_min_nodes slurm_nodeset_replicas"
	unread := testNodeSets()[:1]
	unread[0].Clusters = []Cluster{fakeCluster{name: "red", err: errors.New("no route to host")}}
	lone := testNodeSets()[:1]
	lone[0].Clusters = nil
	for _, tc := range []struct {
		name  string
		of    nodeSetList
		now   time.Time
		known string
		also  string
	}{
		{"a reading is too old", testNodeSets()[:1], noon().Add(DefaultMaxAge + time.Minute),
			`slurm_nodeset_known{cluster="team/red",namespace="team",nodeset="a"} 0`,
			"slurm_nodeset_snapshot_age_seconds"},
		{"jobs were never read", testNodeSets(func(s *slurmclient.Snapshot) { s.Jobs.Known = false })[:1], noon(),
			`slurm_nodeset_known{cluster="team/red",namespace="team",nodeset="a"} 0`, ""},
		{"a cluster cannot be read", unread, noon(),
			`slurm_nodeset_known{cluster="team/red",namespace="team",nodeset="a"} 0`, ""},
		{"a NodeSet was not computed yet",
			nodeSetList{{Namespace: "team", Name: "a", Pool: "team/other", Clusters: testNodeSets()[0].Clusters,
				ScaleBounds: testNodeSets()[0].ScaleBounds}}, noon(),
			`slurm_nodeset_known{cluster="team/red",namespace="team",nodeset="a"} 0`,
			"slurm_nodeset_snapshot_age_seconds"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := metricsOf(tc.of, tc.now)
			if err := testutil.CollectAndCompare(m, strings.NewReader(head+tc.known+"\n"),
				"slurm_nodeset_known"); err != nil {
				t.Error(err)
			}
			want := map[string]bool{"slurm_nodeset_known": true}
			for name := range strings.FieldsSeq(ofKube + " " + tc.also) {
				want[name] = true
			}
			for _, e := range nodeSetMetricTable() {
				if n := testutil.CollectAndCount(m, e.name); n > 0 != want[e.name] {
					t.Errorf("%s has %d samples", e.name, n)
				}
			}
		})
	}
	if text := gatherText(t, metricsOf(lone, noon())); text != "" {
		t.Errorf("a NodeSet without a cluster has\n%s", text)
	}
}

// TestMetricsPageIsUpToDate writes docs/metrics-nodesets.md with -update.
func TestMetricsPageIsUpToDate(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Metrics of NodeSets

This page is generated: change the tables in ` + "`metricsapi`" + ` and run ` + "`make generate`" + `.

` + "`slurm-metrics-adapter`" + ` shows these metrics on its Prometheus endpoint, together with the
[metrics of slurm-exporter](metrics.md) of each cluster. They come from the same snapshots and
the same computation as the numbers that HPAs get, so a scrape makes no request to Slurm. If an
HPA would get an error, because Slurm was last read too long ago or never, there is no sample;
` + "`slurm_nodeset_known`" + ` and ` + "`slurm_nodeset_snapshot_age_seconds`" + ` show this.

The label ` + "`cluster`" + ` is the namespace and name of the Controller or Cluster, as in all metrics
of the adapter. ` + "`namespace`" + ` and ` + "`nodeset`" + ` identify the NodeSet.

Required nodes = busy nodes + the larger of claimed idle nodes and grace nodes + claimed booting nodes
+ pending nodes + replacement nodes. They do not exceed the maximum unless more nodes are busy.

| metric | type | additional labels | meaning |
|---|---|---|---|
`)
	row := func(name, kind, help string, labels []string) {
		text := ""
		if len(labels) > 0 {
			text = "`" + strings.Join(labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, kind, text, help)
	}
	for _, e := range nodeSetMetricTable() {
		row(e.name, "gauge", e.help, e.labels)
	}
	row("slurm_nodeset_node_seconds_total", "counter", nodeSetTimeHelp, []string{"state"})
	row("slurm_nodeset_reaction_seconds", "histogram", reactionHelp, nil)
	row("slurm_nodeset_short_since_time_seconds", "gauge", shortSinceHelp, nil)
	b.WriteString("\n`slurm_metrics_adapter_panics_total` is a metric of each cluster, not of NodeSets. It counts " +
		"computations that panicked, with the labels `cluster` and `part`: `demand` for the numbers that HPAs get, `view` for " +
		"the objects of the view.\n")
	compareGolden(t, filepath.Join("..", "docs", "metrics-nodesets.md"), b.String())
}

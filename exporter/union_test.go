package exporter

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// inCluster returns an exporter of the snapshot with a constant label cluster.
func inCluster(t *testing.T, s *slurmclient.Snapshot, cluster string) *Exporter {
	t.Helper()
	cfg := allCollectorsConfig()
	cfg.Labels = map[string]string{"cluster": cluster}
	return renderedExporter(t, s, cfg)
}

// unionOf returns a Union of the exporters, with one metric of the program.
func unionOf(most int, of ...*Exporter) *Union {
	process := prometheus.NewRegistry()
	process.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "program",
		Help: "It runs."}, func() float64 { return 1 }))
	return NewUnion(func() Members { return Members{Exporters: of} }, process, Config{MaxScrapes: most, NativeHistograms: true})
}

// linesOf returns the HELP, TYPE and sample lines of a family.
func linesOf(text, family string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, family+"{") || strings.HasPrefix(name, family+" ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestLabelsArePutOnEverySample(t *testing.T) {
	text := scrapeText(t, inCluster(t, exportertest.SmallCluster(), `te"am\`), exposition.Native)
	parseText(t, text)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `{cluster="te\"am\\"`) {
			t.Errorf("a sample lacks the label: %s", line)
		}
	}
	for family, want := range map[string]string{
		"slurm_jobs_held":    `slurm_jobs_held{cluster="te\"am\\"} `,
		"slurm_nodes":        `slurm_nodes{cluster="te\"am\\",state="idle"} `,
		"slurm_cluster_info": `slurm_cluster_info{cluster="te\"am\\",api_version="v0.0.45",slurm_cluster="`,
	} {
		if got := linesOf(text, family); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestInvalidLabelNamesAreErrors(t *testing.T) {
	if _, err := New(exportertest.NewSource(exportertest.EmptySnapshot()),
		Config{Labels: map[string]string{"a-b": "c"}}); err == nil {
		t.Error("a-b was accepted")
	}
}

func TestAUnionShowsEachFamilyOnceWithTheSamplesOfAll(t *testing.T) {
	small := exportertest.SmallCluster()
	joint := unionOf(0, inCluster(t, small, "a"), inCluster(t, small, "b"),
		inCluster(t, exportertest.EmptySnapshot(), "c"))
	text := serveGet(t, joint.Metrics(exposition.Native), "/metrics").Body.String()
	parseText(t, text)
	for family, want := range map[string]string{
		"slurm_up": `# HELP slurm_up 1 when a slurmctld answers and the last poll of nodes, jobs, partitions and statistics succeeded.
# TYPE slurm_up gauge
slurm_up{cluster="a"} 1
slurm_up{cluster="b"} 1
slurm_up{cluster="c"} 0
`,
		"slurm_jobs_held": `# HELP slurm_jobs_held Pending jobs that a user or an administrator holds.
# TYPE slurm_jobs_held gauge
slurm_jobs_held{cluster="a"} 1
slurm_jobs_held{cluster="b"} 1
`,
		"program": "# HELP program It runs.\n# TYPE program gauge\nprogram 1\n",
	} {
		if diff := cmp.Diff(want, linesOf(text, family)); diff != "" {
			t.Errorf("%s: %s", family, diff)
		}
	}
	if strings.Contains(text, "go_goroutines") {
		t.Error("the metrics of an exporter's own process are shown")
	}
	if got := withoutDurations(unzipBody(t, serveGet(t, joint.Metrics(exposition.Native), "/metrics", "Accept-Encoding",
		"gzip").Body)); got != withoutDurations(text) {
		t.Error("the gzip body differs")
	}
	again := serveGet(t, joint.Metrics(exposition.Native), "/metrics").Body.String()
	if diff := cmp.Diff(withoutDurations(text), withoutDurations(again)); diff != "" {
		t.Errorf("the second scrape differs: %s", diff)
	}
}

func TestAUnionObeysTheRequest(t *testing.T) {
	const openAccept = "application/openmetrics-text;version=1.0.0"
	for _, tc := range []struct {
		name, query   string
		of            []*Exporter
		status        int
		shown, hidden string
	}{
		{"with parameters the program is not shown", "?collect[]=nodes",
			[]*Exporter{inCluster(t, exportertest.SmallCluster(), "a")}, http.StatusOK, "slurm_nodes{", "program"},
		{"an unknown collector is an error", "?collect[]=nope",
			[]*Exporter{inCluster(t, exportertest.SmallCluster(), "a")}, http.StatusBadRequest, "is not enabled",
			"slurm"},
		{"without exporters the program is shown", "", nil, http.StatusOK, "program 1", "slurm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := serveGet(t, unionOf(0, tc.of...).Metrics(exposition.Native), "/metrics"+tc.query, "Accept", openAccept)
			body := w.Body.String()
			if w.Code != tc.status || !strings.Contains(body, tc.shown) || strings.Contains(body, tc.hidden) {
				t.Errorf("HTTP %d: %s", w.Code, body)
			}
			if tc.status == http.StatusOK && !strings.HasSuffix(body, "# EOF\n") {
				t.Error("the exposition has no # EOF")
			}
		})
	}
	joint := unionOf(1)
	joint.limiter <- struct{}{}
	if w := serveGet(t, joint.Metrics(exposition.Native), "/metrics"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("too many scrapes: HTTP %d", w.Code)
	}
}

func TestAClusterWithoutAConnectionIsNotUp(t *testing.T) {
	there := inCluster(t, exportertest.SmallCluster(), "hpc/there")
	j := NewUnion(func() Members {
		return Members{Exporters: []*Exporter{there},
			Unreachable: []map[string]string{{"cluster": "hpc/lost"}, {"cluster": "hpc/undialled"}}}
	}, prometheus.NewRegistry(), Config{})
	for _, target := range []string{"/metrics", "/metrics?collect[]=nodes"} {
		got := linesOf(serveGet(t, j.Metrics(exposition.Native), target).Body.String(), "slurm_up")
		want := "# HELP slurm_up " + upHelp + "\n# TYPE slurm_up gauge\n" +
			"slurm_up{cluster=\"hpc/there\"} 1\nslurm_up{cluster=\"hpc/lost\"} 0\nslurm_up{cluster=\"hpc/undialled\"} 0\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

package exporter

import (
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// fixedClock is the clock of most tests.
func fixedClock() time.Time { return exportertest.Epoch }

// allCollectorsConfig enables all native collectors.
func allCollectorsConfig() Config {
	return Config{Collectors: map[string]bool{"users": true, "rpc_users": true, "job_usage": true, "user_usage": true,
		"job_info": true, "job_efficiency": true, "user_efficiency": true}, Now: fixedClock}
}

// renderedExporter returns an exporter that has processed s, and offers protobuf.
func renderedExporter(t *testing.T, s *slurmclient.Snapshot, cfg Config) *Exporter {
	t.Helper()
	cfg.NativeHistograms = true
	e, err := New(exportertest.NewSource(s), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.recordSnapshot(s)
	e.pages.SetSnapshot(s)
	return e
}

// serveGet sends a GET request with headers, given as names and values, to a handler.
func serveGet(t *testing.T, h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return serveRequest(t, h, http.MethodGet, target, header...)
}

// serveRequest sends a request of the method, as serveGet does.
func serveRequest(t *testing.T, h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func scrapeText(t *testing.T, e *Exporter, set exposition.Set) string {
	t.Helper()
	w := serveGet(t, e.Metrics(set), "/metrics")
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// slurmOnly omits metrics of this process and durations.
func slurmOnly(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "slurm_") && !strings.HasPrefix(name, "slurm_exporter_build_info") &&
			!strings.HasPrefix(name, "slurm_exporter_collector_duration_seconds") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestExpositions(t *testing.T) {
	for _, tc := range []struct {
		set exposition.Set
		cfg Config
	}{
		{exposition.Native, allCollectorsConfig()},
		{exposition.Slinky, Config{Compat: collector.Sets(), Now: fixedClock}},
		{exposition.OpenMetrics, Config{Compat: collector.Sets(), Now: fixedClock}},
		{exposition.Vpenso, Config{Compat: collector.Sets(), Now: fixedClock}},
	} {
		t.Run(string(tc.set), func(t *testing.T) {
			e := renderedExporter(t, exportertest.SmallCluster(), tc.cfg)
			got := slurmOnly(scrapeText(t, e, tc.set))
			golden := filepath.Join("testdata", string(tc.set)+".prom")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("exposition differs (-want +got), run with -update to rewrite it:\n%s", diff)
			}
		})
	}
}

func TestNativeMetricsPassTheLinter(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	problems, err := promlint.New(strings.NewReader(slurmOnly(scrapeText(t, e, exposition.Native)))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestEveryNativeFamilyHasSamples keeps the small cluster, the golden file and the linter
// complete.
func TestEveryNativeFamilyHasSamples(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	families := parseText(t, scrapeText(t, e, exposition.Native))
	for _, c := range collector.All() {
		if c.Set != exposition.Native {
			continue
		}
		for _, f := range c.Families {
			// Every job of the small cluster can run.
			if families[f.Name] == 0 && f.Name != "slurm_partition_unsatisfiable_jobs" {
				t.Errorf("%s has no sample", f.Name)
			}
		}
	}
}

// parseText counts the samples of each family.
func parseText(t *testing.T, text string) map[string]int {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the exposition does not parse: %v", err)
	}
	out := map[string]int{}
	for name, f := range families {
		out[name] = len(f.GetMetric())
	}
	return out
}

func TestAllSetsTogetherAreOneExposition(t *testing.T) {
	cfg := allCollectorsConfig()
	cfg.Compat = collector.Sets()
	text := scrapeText(t, renderedExporter(t, exportertest.SmallCluster(), cfg), exposition.Native)
	families := parseText(t, text)
	for _, name := range []string{"slurm_partition_jobs", "slurm_nodes_total", "slurm_queue_pending",
		"slurm_bf_active"} {
		if families[name] == 0 {
			t.Errorf("%s is missing", name)
		}
	}
	if n := strings.Count(text, "# TYPE slurm_partition_jobs gauge\n"); n != 1 {
		t.Errorf("slurm_partition_jobs has %d TYPE lines, want 1", n)
	}
	if strings.Contains(text, `slurm_partition_jobs{partition="cpu"} `) {
		t.Error("a native name has samples of another set")
	}
}

func TestNoSampleIsShownBeforeTheFirstReading(t *testing.T) {
	e := renderedExporter(t, exportertest.EmptySnapshot(), allCollectorsConfig())
	for line := range strings.Lines(scrapeText(t, e, exposition.Native)) {
		if strings.HasPrefix(line, "#") || !strings.HasPrefix(line, "slurm_") ||
			strings.HasPrefix(line, "slurm_exporter_") {
			continue
		}
		if line != "slurm_up 0\n" {
			t.Errorf("no resource has been read, but the exposition contains %s", line)
		}
	}
}

func TestNoSeriesVanishesWhenPollsFail(t *testing.T) {
	good := exportertest.SmallCluster()
	before := seriesOf(scrapeText(t, renderedExporter(t, good, allCollectorsConfig()), exposition.Native))
	bad := *good
	for _, p := range []*slurmclient.Poll{
		&bad.Pings.Poll, &bad.Nodes.Poll, &bad.Jobs.Poll, &bad.Partitions.Poll, &bad.Reservations.Poll,
		&bad.Licenses.Poll, &bad.Stats.Poll, &bad.Shares.Poll, &bad.QOS.Poll,
	} {
		p.Err, p.Failures = errors.New("connection refused"), 3
	}
	text := scrapeText(t, renderedExporter(t, &bad, allCollectorsConfig()), exposition.Native)
	after := seriesOf(text)
	for s := range before {
		if !after[s] {
			t.Errorf("%s vanished", s)
		}
	}
	for _, want := range []string{"slurm_up 0\n", `slurm_exporter_resource_up{resource="jobs"} 0`,
		`slurm_exporter_collector_success{collector="nodes"} 0`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func seriesOf(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		if i := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") && i > 0 {
			out[line[:i]] = true
		}
	}
	return out
}

// TestGPUsOfJobsThatSlurmctldDoesNotCount: by default AccountingStorageTRES lists no GPUs.
func TestGPUsOfJobsThatSlurmctldDoesNotCount(t *testing.T) {
	cfg := allCollectorsConfig()
	cfg.Compat = collector.Sets()
	for _, tc := range []struct {
		name   string
		change func(*slurm.Job)
		want   []string // samples
		absent []string // names
	}{
		{"they follow from what the job has", func(j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode, d.GRESAllocated = "gres/gpu:2", "gres/gpu=2" })
		},
			[]string{`slurm_user_gpus{user="gina",state="running"} 2`, `slurm_account_gpus{account="vision",state="running"} 2`,
				`slurm_user_gpus{user="gina",state="pending"} 0`}, nil},
		{"they do not", func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerSocket = "gres/gpu:1" }) },
			[]string{`slurm_user_gpus{user="gina",state="pending"} 0`, `slurm_user_gpus{user="alice",state="running"} 0`},
			[]string{`slurm_user_gpus{user="gina",state="running"}`, `slurm_account_gpus{account="vision",state="running"}`,
				`slurm_jobs_gpus{state="running"}`}},
	} {
		s := exportertest.SmallCluster()
		s.Jobs.Value = append(s.Jobs.Value, exportertest.NewJob(100, func(j *slurm.Job) {
			exportertest.SetRunning(j)
			j.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID, o.Account = "gina", 3100, "vision" })
			tc.change(j)
		}))
		e := renderedExporter(t, s, cfg)
		text := scrapeText(t, e, exposition.Native)
		for _, sample := range tc.want {
			if !strings.Contains(text, "\n"+sample+"\n") {
				t.Errorf("%s: %s is missing", tc.name, sample)
			}
		}
		for _, name := range tc.absent {
			if strings.Contains(text, "\n"+name) {
				t.Errorf("%s: %s is there", tc.name, name)
			}
		}
		if compat := scrapeText(t, e, exposition.OpenMetrics); strings.Contains(compat, "\nslurm_jobs_gpus_alloc ") != (tc.absent == nil) {
			t.Errorf("%s: slurm_jobs_gpus_alloc is there: %v", tc.name, tc.absent != nil)
		}
	}
}

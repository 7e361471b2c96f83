package exporter

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
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

// renderedExporter returns an exporter that has processed s.
func renderedExporter(t *testing.T, s *slurmclient.Snapshot, cfg Config) *Exporter {
	t.Helper()
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
	r := httptest.NewRequest(http.MethodGet, target, nil)
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

func TestFormats(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	const openAccept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
	for _, tc := range []struct {
		name, accept, contentType, end string
	}{
		{"text without an Accept header", "", "text/plain; version=0.0.4; charset=utf-8", "\n"},
		{"OpenMetrics when it is preferred", openAccept, "application/openmetrics-text; version=1.0.0; charset=utf-8",
			"# EOF\n"},
		{"text when protobuf is preferred",
			"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
			"text/plain; version=0.0.4; charset=utf-8", "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plain := serveGet(t, e.Metrics(exposition.Native), "/metrics?collect[]=nodes", "Accept", tc.accept)
			if got := plain.Header().Get("Content-Type"); got != tc.contentType {
				t.Errorf("Content-Type is %q", got)
			}
			if !strings.HasSuffix(plain.Body.String(), tc.end) {
				t.Errorf("the exposition does not end with %q", tc.end)
			}
			if got := plain.Header().Get("Content-Length"); got != fmt.Sprint(plain.Body.Len()) {
				t.Errorf("Content-Length is %s, want %d", got, plain.Body.Len())
			}
			packed := serveGet(t, e.Metrics(exposition.Native), "/metrics?collect[]=nodes", "Accept", tc.accept,
				"Accept-Encoding", "deflate, gzip;q=0.8")
			if got := packed.Header().Get("Content-Length"); got != fmt.Sprint(packed.Body.Len()) {
				t.Errorf("Content-Length is %s, want %d", got, packed.Body.Len())
			}
			if diff := cmp.Diff(withoutDurations(plain.Body.String()),
				withoutDurations(unzipBody(t, packed.Body))); diff != "" {
				t.Errorf("the gzip body differs:\n%s", diff)
			}
		})
	}
}

func withoutDurations(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "_duration_seconds") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// unzipBody decompresses one gzip member and checks that no data follows it.
func unzipBody(t *testing.T, from *bytes.Buffer) string {
	t.Helper()
	r, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if from.Len() != 0 {
		t.Errorf("%d bytes follow the gzip member", from.Len())
	}
	return string(text)
}

func TestParametersChooseCollectors(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	for _, tc := range []struct {
		name, query   string
		status        int
		shown, hidden []string
	}{
		{"collect[] shows only those named, and slurm_up", "collect[]=nodes&collect[]=licenses", 200,
			[]string{"slurm_nodes{", "slurm_license_used{", "slurm_up "}, []string{"slurm_jobs{", "go_goroutines"}},
		{"exclude[] hides those named", "exclude[]=nodes", 200, []string{"slurm_jobs{", "slurm_up "},
			[]string{"slurm_nodes{"}},
		{"without parameters all collectors are shown", "", 200,
			[]string{"slurm_jobs{", "slurm_nodes{", "go_goroutines"}, nil},
		{"an unknown collector is an error that lists the known ones", "collect[]=nope", 400,
			[]string{`collector "nope" is not enabled`, "licenses"}, nil},
		{"both parameters are an error", "collect[]=nodes&exclude[]=jobs", 400, []string{"cannot be used together"},
			nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := serveGet(t, e.Metrics(exposition.Native), "/metrics?"+tc.query)
			if w.Code != tc.status {
				t.Errorf("HTTP %d", w.Code)
			}
			for _, s := range tc.shown {
				if !strings.Contains(w.Body.String(), s) {
					t.Errorf("%q is missing", s)
				}
			}
			for _, s := range tc.hidden {
				if strings.Contains(w.Body.String(), s) {
					t.Errorf("%q is shown", s)
				}
			}
		})
	}
}

func TestTooManyScrapesAreTurnedAway(t *testing.T) {
	cfg := allCollectorsConfig()
	cfg.MaxScrapes = 1
	e := renderedExporter(t, exportertest.SmallCluster(), cfg)
	e.limiter <- struct{}{}
	if w := serveGet(t, e.Metrics(exposition.Native), "/metrics"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("HTTP %d", w.Code)
	}
	<-e.limiter
	if w := serveGet(t, e.Metrics(exposition.Native), "/metrics"); w.Code != http.StatusOK {
		t.Errorf("HTTP %d", w.Code)
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	for _, cfg := range []Config{{Collectors: map[string]bool{"node": true}}, {Compat: []exposition.Set{"vpens"}}} {
		if _, err := New(exportertest.NewSource(exportertest.EmptySnapshot()), cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestOnlyResourcesOfEnabledCollectorsAreNeeded(t *testing.T) {
	off := map[string]bool{}
	for _, c := range collector.Native() {
		off[c.Name] = false
	}
	got, err := Config{Collectors: off}.Resources()
	if err != nil {
		t.Fatal(err)
	}
	want := []slurmclient.Resource{slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions,
		slurmclient.Stats}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	off["licenses"] = true
	if got, _ = (Config{Collectors: off}).Resources(); len(got) != 6 {
		t.Errorf("with licenses: %v", got)
	}
}

func TestRunShowsWhatIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := exportertest.NewSource(exportertest.EmptySnapshot())
		e, err := New(source, allCollectorsConfig())
		if err != nil {
			t.Fatal(err)
		}
		if e.Ready() == nil {
			t.Error("ready before the first snapshot")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		synctest.Wait()
		if err := e.Ready(); err == nil || !strings.Contains(err.Error(), "nodes have not been read yet") {
			t.Errorf("ready before the first reading: %v", err)
		}
		source.Publish(func(s *slurmclient.Snapshot) {
			n := s.Sequence
			*s = *exportertest.SmallCluster()
			s.Sequence = n
		})
		synctest.Wait()
		if err := e.Ready(); err != nil {
			t.Error(err)
		}
		if text := scrapeText(t, e, exposition.Native); !strings.Contains(text, "slurm_up 1\n") ||
			!strings.Contains(text, `slurm_nodes{state="idle"} 1`) {
			t.Errorf("the snapshot is not shown:\n%s", text)
		}
		cancel()
		<-done
	})
}

func TestJobsThatEndBetweenScrapesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := exportertest.NewSource(exportertest.SmallCluster())
		e, err := New(source, allCollectorsConfig())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		synctest.Wait()
		for id := range uint32(2) {
			source.Publish(func(s *slurmclient.Snapshot) {
				failed := exportertest.NewJob(90+id,
					func(j *slurm.Job) { exportertest.SetRunning(j); j.State = slurm.ParseJobState("FAILED") })
				s.Jobs.Sequence++
				s.Jobs.Value = append(slices.Clone(s.Jobs.Value), failed)
			})
			synctest.Wait()
		}
		if e.pages.LastPage() != nil {
			t.Error("a page was rendered without a scrape")
		}
		if text := scrapeText(t, e, exposition.Native); !strings.Contains(
			text, `slurm_jobs_ended_total{partition="cpu",state="failed"} 2`) {
			t.Errorf("the ended jobs are not all counted:\n%s", linesOf(text, "slurm_jobs_ended_total"))
		}
		cancel()
		<-done
	})
}

func TestSectionsAreRenderedOnlyWhenTheirSourcesChange(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	r := e.newRenderer()
	first := r.Render(exportertest.Epoch, exportertest.SmallCluster())
	s := exportertest.SmallCluster()
	s.Sequence++
	s.Jobs.Err = errors.New("failed")
	s.Licenses.Sequence++
	second := r.Render(exportertest.Epoch.Add(time.Second), s)
	for i, c := range e.collectors {
		if len(first.Sections[i].Families) == 0 {
			continue // it counts what comes after the first reading
		}
		same := &first.Sections[i].Families[0] == &second.Sections[i].Families[0]
		if same == slices.Contains(c.Needs, slurmclient.Licenses) {
			t.Errorf("%s: rendered again is %v", c.Name, !same)
		}
	}
	third := r.Render(exportertest.Epoch.Add(memo.MaxAge+time.Second), s)
	for i, c := range e.collectors {
		if len(second.Sections[i].Families) == 0 {
			continue
		}
		same := &second.Sections[i].Families[0] == &third.Sections[i].Families[0]
		if same == c.TimeDependent {
			t.Errorf("%s after a while: rendered again is %v", c.Name, !same)
		}
	}
}

func TestUp(t *testing.T) {
	failed := func(p *slurmclient.Poll) { p.Err = errors.New("failed") }
	for _, tc := range []struct {
		name   string
		change func(s *slurmclient.Snapshot)
		want   bool
	}{
		{"every poll succeeded", func(*slurmclient.Snapshot) {}, true},
		{"jobs could not be read", func(s *slurmclient.Snapshot) { failed(&s.Jobs.Poll) }, false},
		{"nodes were never read", func(s *slurmclient.Snapshot) { s.Nodes.Known = false }, false},
		{"slurmdbd does not answer", func(s *slurmclient.Snapshot) { failed(&s.QOS.Poll) }, true},
		{"no slurmctld responds", func(s *slurmclient.Snapshot) { s.Pings.Value = nil }, false},
		{"ping is not polled", func(s *slurmclient.Snapshot) { s.Pings = slurmclient.Reading[[]slurm.Ping]{} }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := exportertest.SmallCluster()
			tc.change(s)
			if got := isUp(s); got != tc.want {
				t.Errorf("up is %v", got)
			}
		})
	}
}

func TestMetricsPageIsUpToDate(t *testing.T) {
	const file = "../docs/metrics.md"
	got := MetricsPage()
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
		t.Errorf("docs/metrics.md is out of date; make generate rewrites it:\n%s", diff)
	}
}

func TestLandingPageShowsTheCluster(t *testing.T) {
	s := exportertest.SmallCluster()
	s.Shares.Err = errors.New("slurmdbd <is> gone")
	cfg := allCollectorsConfig()
	cfg.Compat = []exposition.Set{exposition.Vpenso}
	landing, err := renderedExporter(t, s, cfg).Landing("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	w := serveGet(t, landing, "/")
	for _, want := range []string{"Cluster c1", "26.05.5", "read 3s ago", "1 idle", "2 running", "<td>gpu</td>",
		"slurmdbd &lt;is&gt; gone", "metrics/vpenso"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
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
		{"they follow from what the job has", func(j *slurm.Job) { j.TRESPerNode, j.GRESAllocated = "gres/gpu:2", "gres/gpu=2" },
			[]string{`slurm_user_gpus{user="gina",state="running"} 2`, `slurm_account_gpus{account="vision",state="running"} 2`,
				`slurm_user_gpus{user="gina",state="pending"} 0`}, nil},
		{"they do not", func(j *slurm.Job) { j.TRESPerSocket = "gres/gpu:1" },
			[]string{`slurm_user_gpus{user="gina",state="pending"} 0`, `slurm_user_gpus{user="alice",state="running"} 0`},
			[]string{`slurm_user_gpus{user="gina",state="running"}`, `slurm_account_gpus{account="vision",state="running"}`,
				`slurm_jobs_gpus{state="running"}`}},
	} {
		s := exportertest.SmallCluster()
		s.Jobs.Value = append(s.Jobs.Value, exportertest.NewJob(100, func(j *slurm.Job) {
			exportertest.SetRunning(j)
			j.UserName, j.UserID, j.Account = "gina", 3100, "vision"
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

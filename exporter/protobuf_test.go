package exporter

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// protobufAccept is the Accept header of a Prometheus that scrapes native histograms.
const protobufAccept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6," +
	"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
	"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"

// scrapeProtobuf returns the families of a scrape that prefers protobuf.
func scrapeProtobuf(t *testing.T, h http.Handler, target string, header ...string) []*dto.MetricFamily {
	t.Helper()
	w := serveGet(t, h, target, append([]string{"Accept", protobufAccept}, header...)...)
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	if w.Header().Get("Content-Encoding") == "gzip" {
		return decodeProtobuf(t, w, strings.NewReader(unzipBody(t, w.Body)))
	}
	return decodeProtobuf(t, w, w.Body)
}

func decodeProtobuf(t *testing.T, w *httptest.ResponseRecorder, body io.Reader) (out []*dto.MetricFamily) {
	t.Helper()
	d := expfmt.NewDecoder(body, expfmt.ResponseFormat(w.Header()))
	for {
		f := &dto.MetricFamily{}
		err := d.Decode(f)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("the exposition does not parse: %v", err)
		}
		out = append(out, f)
	}
}

// textOf returns the families as text, which has no native buckets. It omits the values of this process, which change at each scrape.
func textOf(t *testing.T, families []*dto.MetricFamily) string {
	t.Helper()
	var out bytes.Buffer
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			f.Metric = nil
			out.WriteString(f.GetName() + " " + f.GetType().String() + " " + f.GetHelp() + "\n")
			continue
		}
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// textFamilies parses text and returns its families in their order. The parser omits families without samples.
func textFamilies(t *testing.T, text string) (out []*dto.MetricFamily) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the exposition does not parse: %v", err)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			if f := families[name]; f != nil {
				out = append(out, f)
			}
		}
	}
	return out
}

// snapshotsWithStarts returns the small cluster, and a later snapshot of it in which the pending jobs 4 and 9 have started.
func snapshotsWithStarts() (before, after *slurmclient.Snapshot) {
	before = exportertest.SmallCluster()
	next := *before
	next.Sequence, next.Jobs.Sequence = 2, 2
	next.Jobs.Value = slices.Clone(before.Jobs.Value)
	for i, j := range next.Jobs.Value {
		if j.ID == 4 || j.ID == 9 {
			next.Jobs.Value[i] = exportertest.NewJob(j.ID, func(started *slurm.Job) {
				exportertest.SetRunning(started)
				started.Partition = j.Partition
			})
		}
	}
	return before, &next
}

// exporterWithStarts returns an exporter that has seen jobs start.
func exporterWithStarts(t *testing.T, cfg Config) *Exporter {
	t.Helper()
	before, after := snapshotsWithStarts()
	e := renderedExporter(t, before, cfg)
	e.recordSnapshot(after)
	e.pages.SetSnapshot(after)
	return e
}

func TestProtobufHasTheFamiliesOfTheText(t *testing.T) {
	all := allCollectorsConfig()
	all.Compat = collector.Sets()
	labelled := all
	labelled.Labels = map[string]string{"cluster": "te\"am\\\nx", "state": "s"}
	full, other := exporterWithStarts(t, all), exporterWithStarts(t, labelled)
	union := unionOf(0, inCluster(t, exportertest.SmallCluster(), "a"), inCluster(t, exportertest.EmptySnapshot(), "b"),
		inCluster(t, exportertest.SmallCluster(), "c"))
	for _, tc := range []struct {
		name, target string
		handler      http.Handler
	}{
		{"all collectors and sets", "/metrics", full.Metrics(exposition.Native)},
		{"set slinky", "/metrics", full.Metrics(exposition.Slinky)},
		{"set openmetrics", "/metrics", full.Metrics(exposition.OpenMetrics)},
		{"set vpenso", "/metrics", full.Metrics(exposition.Vpenso)},
		{"constant labels", "/metrics", other.Metrics(exposition.Native)},
		{"one collector", "/metrics?collect[]=nodes", full.Metrics(exposition.Native)},
		{"nothing has been read", "/metrics", renderedExporter(t, exportertest.EmptySnapshot(), all).Metrics(exposition.Native)},
		{"a union", "/metrics", union.Metrics(exposition.Native)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := serveGet(t, tc.handler, tc.target).Body.String()
			want := textOf(t, textFamilies(t, text))
			if want == "" {
				t.Fatal("the text has no families")
			}
			for _, encoding := range []string{"identity", "gzip"} {
				got := textOf(t, scrapeProtobuf(t, tc.handler, tc.target, "Accept-Encoding", encoding))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: protobuf differs from text (-text +protobuf):\n%s", encoding, diff)
				}
			}
		})
	}
}

func TestAProtobufScrapeLeavesTheTextAsItIs(t *testing.T) {
	e := exporterWithStarts(t, allCollectorsConfig())
	scrape := func() (text, zipped string) {
		text = slurmOnly(scrapeText(t, e, exposition.Native))
		w := serveGet(t, e.Metrics(exposition.Native), "/metrics", "Accept-Encoding", "gzip")
		return text, slurmOnly(unzipBody(t, w.Body))
	}
	text, zipped := scrape()
	page := e.pages.LastPage()
	scrapeProtobuf(t, e.Metrics(exposition.Native), "/metrics")
	if e.pages.LastPage() != page {
		t.Error("the protobuf scrape rendered the page again")
	}
	textAfter, zippedAfter := scrape()
	if diff := cmp.Diff(text, textAfter); diff != "" {
		t.Errorf("the text differs:\n%s", diff)
	}
	if diff := cmp.Diff(zipped, zippedAfter); diff != "" {
		t.Errorf("the gzip text differs:\n%s", diff)
	}
}

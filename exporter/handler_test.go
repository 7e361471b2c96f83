package exporter

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
)

func TestFormats(t *testing.T) {
	e := renderedExporter(t, exportertest.SmallCluster(), allCollectorsConfig())
	const openAccept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
	for _, tc := range []struct {
		name, accept, contentType, end string
	}{
		{"text without an Accept header", "", "text/plain; version=0.0.4; charset=utf-8", "\n"},
		{"OpenMetrics when it is preferred", openAccept, "application/openmetrics-text; version=1.0.0; charset=utf-8",
			"# EOF\n"},
		{"protobuf when it is preferred", protobufAccept,
			"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", ""},
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
			if got := plain.Header().Get("Vary"); got != "Accept, Accept-Encoding" {
				t.Errorf("Vary is %q", got)
			}
			packed := serveGet(t, e.Metrics(exposition.Native), "/metrics?collect[]=nodes", "Accept", tc.accept,
				"Accept-Encoding", "deflate, gzip;q=0.8")
			if got := packed.Header().Get("Content-Length"); got != fmt.Sprint(packed.Body.Len()) {
				t.Errorf("Content-Length is %s, want %d", got, packed.Body.Len())
			}
			head := serveRequest(t, e.Metrics(exposition.Native), http.MethodHead, "/metrics?collect[]=nodes", "Accept", tc.accept)
			if got, want := head.Header(), plain.Header(); head.Body.Len() != 0 || !cmp.Equal(got, want) {
				t.Errorf("HEAD has %d bytes and the header %v, want none and %v", head.Body.Len(), got, want)
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

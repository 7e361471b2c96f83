package exporter

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
)

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

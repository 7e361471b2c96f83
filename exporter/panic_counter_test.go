package exporter

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// A nil record stands for data that the code does not expect.
func TestAPanicLeavesOtherCollectorsWorking(t *testing.T) {
	var failures []error
	cfg := allCollectorsConfig()
	cfg.OnPanic = func(err error) { failures = append(failures, err) }
	e := renderedExporter(t, exportertest.SmallCluster(), cfg)
	before := scrapeText(t, e, exposition.Native)
	next := *exportertest.SmallCluster()
	next.Sequence++
	next.Jobs.Sequence++
	next.Jobs.Value = []*slurm.Job{nil}
	e.recordSnapshot(&next)
	e.pages.SetSnapshot(&next)
	after := scrapeText(t, e, exposition.Native)
	for _, family := range []string{"slurm_nodes", "slurm_jobs", "slurm_partition_pending_jobs"} {
		if linesOf(after, family) != linesOf(before, family) {
			t.Errorf("%s changes from\n%sto\n%s", family, linesOf(before, family), linesOf(after, family))
		}
	}
	for _, want := range []string{`{part="jobs",stage="total"} 1`, `{part="demand",stage="total"} 1`,
		`{part="nodes",stage="total"} 0`} {
		if want = "slurm_exporter_panics_total" + want; !strings.Contains(after, want) {
			t.Errorf("the exposition lacks %s:\n%s", want, linesOf(after, "slurm_exporter_panics_total"))
		}
	}
	for _, err := range failures {
		if p := slurmclient.PanicOf(err); p == nil || !strings.Contains(string(p.Stack), "exporter") {
			t.Errorf("%v has no stack", err)
		}
	}
	if len(failures) < 2 {
		t.Errorf("%d panics were reported", len(failures))
	}
}

func TestACollectorThatPanicsIsNotASuccess(t *testing.T) {
	cfg := allCollectorsConfig()
	s := exportertest.SmallCluster()
	e := renderedExporter(t, s, cfg)
	before := linesOf(scrapeText(t, e, exposition.Native), "slurm_node_info")
	next := *s
	next.Sequence++
	next.Nodes.Sequence++
	broken := e.collectors[0]
	broken.Families = []exposition.Family{{Name: "slurm_broken", Kind: exposition.Gauge, Help: "It panics.",
		Labels: nil, Values: func(*tally.View, *exposition.Samples) { panic("no such node") }}}
	e.collectors[0] = broken
	e.pages.SetSnapshot(&next)
	after := scrapeText(t, e, exposition.Native)
	for _, want := range []string{
		`slurm_exporter_panics_total{part="` + broken.Name + `",stage="render"} 1`,
		`slurm_exporter_collector_success{collector="` + broken.Name + `"} 0`,
	} {
		if !strings.Contains(after, want) {
			t.Errorf("the exposition lacks %s", want)
		}
	}
	if got := linesOf(after, "slurm_node_info"); got != before {
		t.Errorf("the last good values are not shown: %s", got)
	}
}

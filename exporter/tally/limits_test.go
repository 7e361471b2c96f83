package tally

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestLimitedKeepsTheLargestAndAddsUpTheRest(t *testing.T) {
	all := map[string]*Jobs{}
	for name, n := range map[string]int{"a": 5, "b": 1, "c": 3, "d": 3} {
		for range n {
			valueAt(all, name).add(exportertest.NewJob(1, exportertest.SetRunning),
				jobFacts{tasks: 1, allocated: jobTRES{TRES: slurm.TRES{CPUs: 2}}})
		}
	}
	got := map[string]uint64{}
	for name, tally := range LimitJobs(all, 2) {
		got[name] = tally.Running.CPUs
	}
	if diff := cmp.Diff(map[string]uint64{"a": 10, "c": 6, RestLabelValue: 8}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(LimitJobs(all, 0)); n != 4 {
		t.Errorf("without a limit there are %d", n)
	}
}

package demand_test

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// pool is one of workers of 4 CPUs and 8,000 MiB with the feature of its name, in
// partition cpu, of at most 10, unless told otherwise.
func pool(name string, options ...func(*demand.Pool)) demand.Pool {
	p := demand.Pool{
		Name: name, Feature: name, Partitions: []string{"cpu"}, Max: 10,
		Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000},
	}
	for _, o := range options {
		o(&p)
	}
	return p
}

// demandsOf computes the demand on pools; nouns of type demand.Pool are these.
func demandsOf(t *testing.T, nouns ...any) demand.Demand {
	t.Helper()
	var pools []demand.Pool
	var rest []any
	for _, noun := range nouns {
		if p, ok := noun.(demand.Pool); ok {
			pools = append(pools, p)
		} else {
			rest = append(rest, noun)
		}
	}
	return demand.Compute(time.Unix(int64(noon), 0), snapshotOf(t, rest...), pools...)
}

func TestAPoolAtZeroAsksForWhatItsJobsNeed(t *testing.T) {
	d := demandsOf(t, partition("cpu"), pool("w"), job(1, nodes(3)), jobs(2, 4), jobs(10, 12, with(func(j *slurm.Job) { j.Hold = true })))
	p, _ := d.Pool("w")
	if p.Required != 3 || p.Pending != 3 || p.EligiblePendingJobs != 5 || p.PendingJobs != 17 {
		t.Errorf("%+v", p)
	}
}

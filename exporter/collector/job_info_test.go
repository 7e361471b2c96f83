package collector

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// sumOf returns the sum of all observations of a histogram.
func sumOf(t *testing.T, from prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return sum
}

func nothing(*slurm.Job) {}

func TestLimitJobs(t *testing.T) {
	job := func(id uint32, nodes uint64, gpus int) *slurm.Job {
		j := runningJob(id, "ml", gpus)
		j.NodeCount = slurm.Num(nodes)
		return j
	}
	pending := exportertest.NewJob(9, nothing)
	for _, tc := range []struct {
		name string
		jobs []*slurm.Job
		most int
		want string
		left int
	}{
		{"all fit", []*slurm.Job{job(1, 2, 0), pending, job(3, 2, 1)}, 4, "[1 3]", 0},
		{"those with GPUs come first", []*slurm.Job{job(1, 2, 0), job(2, 1, 8), job(3, 2, 1)}, 3, "[2 3]", 1},
		{"a smaller job fits beside one that is too large", []*slurm.Job{job(1, 1, 0), job(2, 5, 8), job(3, 1, 1)}, 3, "[1 3]", 1},
		{"a job without a number of nodes counts once", []*slurm.Job{runningJob(1, "ml", 0), runningJob(2, "ml", 0)}, 1, "[1]", 1},
		{"a number of nodes that nobody has", []*slurm.Job{job(1, 1<<63, 8), job(2, 1, 0)}, 5, "[2]", 1},
		{"no job runs", []*slurm.Job{pending}, 1, "[]", 0},
	} {
		shown, left := limitJobs(tc.jobs, tc.most)
		ids := []uint32{}
		for _, j := range shown {
			ids = append(ids, j.ID)
		}
		if fmt.Sprint(ids) != tc.want || left != tc.left {
			t.Errorf("%s: %v have series and %d have none, want %s and %d", tc.name, ids, left, tc.want, tc.left)
		}
	}
}

func TestPendingAges(t *testing.T) {
	const now = slurm.Time(1_000_000)
	job := func(age slurm.Time, change func(*slurm.Job)) *slurm.Job {
		j := exportertest.NewJob(1, change)
		j.EligibleTime = now - age
		return j
	}
	held := job(60, nothing)
	held.Priority, held.Hold, held.Reason = slurm.Num(0), true, "JobHeldUser"
	array := job(7200, nothing)
	array.ArrayJobID, array.ArrayTasks = 1, "0-9"
	running := job(60, exportertest.SetRunning)
	notEligible := exportertest.NewJob(5, nothing)
	notEligible.EligibleTime = 0
	got := countAges([]*slurm.Job{job(30, nothing), array, held, running, job(-60, nothing), notEligible}, now)
	if got.count != 11 || got.sum != 30+10*7200 || got.buckets[15] != 0 || got.buckets[60] != 1 || got.buckets[3600] != 1 || got.buckets[7200] != 11 {
		t.Errorf("the ages are %+v", got)
	}
	if n := len(newPendingAges().Families(exposition.ConstLabels{})); n != 0 {
		t.Errorf("before jobs have been read there are %d families", n)
	}
}

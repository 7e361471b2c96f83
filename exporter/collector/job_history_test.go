package collector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// recordJobLists records snapshots with these jobs in order. It returns how many waits were
// observed, and the counters that are not 0.
func recordJobLists(t *testing.T, lists ...[]*slurm.Job) (waits int, ended map[string]float64) {
	t.Helper()
	o := NewJobHistory()
	for i, jobs := range lists {
		s := exportertest.SmallCluster()
		s.Jobs.Value, s.Jobs.Sequence = jobs, uint64(i+1)
		o.Record(s)
	}
	ended = map[string]float64{}
	for _, b := range slurm.JobBases() {
		if n := endedIn(t, o, exposition.LabelSpelling(b.String())); n > 0 {
			ended[exposition.LabelSpelling(b.String())] = n
		}
	}
	families, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "slurm_job_start_wait_seconds" {
			for _, m := range f.GetMetric() {
				waits += int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return waits, ended
}

// endedIn returns how many jobs of the partition cpu ended in a state.
func endedIn(t *testing.T, o *JobHistory, state string) float64 {
	t.Helper()
	var m dto.Metric
	if err := o.ended.WithLabelValues("cpu", state).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestJobHistoryBetweenSnapshots(t *testing.T) {
	asIs := func(*slurm.Job) {}
	ended := func(state string) func(*slurm.Job) {
		return func(j *slurm.Job) { exportertest.SetRunning(j); j.State = slurm.ParseJobState(state) }
	}
	one := func(change func(*slurm.Job)) []*slurm.Job { return []*slurm.Job{exportertest.NewJob(1, change)} }
	for _, tc := range []struct {
		name  string
		lists [][]*slurm.Job
		waits int
		ended map[string]float64
	}{
		{"jobs that ended before the first snapshot do not count", [][]*slurm.Job{one(ended("FAILED"))}, 0, nil},
		{"a job that starts has waited", [][]*slurm.Job{one(asIs), one(exportertest.SetRunning)}, 1, nil},
		{"its wait counts once", [][]*slurm.Job{one(asIs), one(exportertest.SetRunning), one(ended("COMPLETED"))}, 1,
			map[string]float64{"completed": 1}},
		{"a job that was submitted, ran and ended between snapshots counts", [][]*slurm.Job{nil, one(ended("TIMEOUT"))},
			1, map[string]float64{"timeout": 1}},
		{"a job cancelled while it waits has not started",
			[][]*slurm.Job{one(asIs), one(func(j *slurm.Job) { j.State = slurm.ParseJobState("CANCELLED") })}, 0,
			map[string]float64{"cancelled": 1}},
		{"a job that another cluster of the federation started has not ended",
			[][]*slurm.Job{one(asIs),
				one(func(j *slurm.Job) { j.State = slurm.ParseJobState("CANCELLED", "REVOKED") })}, 0, nil},
		{"the end of COMPLETING is not counted again",
			[][]*slurm.Job{one(exportertest.SetRunning), one(ended("COMPLETED")),
				one(func(j *slurm.Job) { ended("COMPLETED")(j); j.EndTime = 5 })}, 0,
			map[string]float64{"completed": 1}},
		{"a purged record does not count", [][]*slurm.Job{one(exportertest.SetRunning), nil}, 0, nil},
		{"a job that is requeued and starts again waits again",
			[][]*slurm.Job{one(asIs), one(exportertest.SetRunning), one(asIs), one(exportertest.SetRunning)}, 2, nil},
		{"a start before the eligible time does not count",
			[][]*slurm.Job{one(asIs),
				one(func(j *slurm.Job) { exportertest.SetRunning(j); j.EligibleTime = j.StartTime + 1 })}, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			waits, got := recordJobLists(t, tc.lists...)
			if waits != tc.waits {
				t.Errorf("%d waits were observed, want %d", waits, tc.waits)
			}
			want := tc.ended
			if want == nil {
				want = map[string]float64{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJobHistoryBeginsAfterTheFirstReading(t *testing.T) {
	o := NewJobHistory()
	o.Record(exportertest.EmptySnapshot())
	s := exportertest.SmallCluster()
	o.Record(s)
	if n := endedIn(t, o, "failed"); n != 0 {
		t.Errorf("the first reading counted %v jobs", n)
	}
	next := *s
	next.Jobs.Sequence++
	next.Jobs.Value = append([]*slurm.Job{}, s.Jobs.Value...)
	next.Jobs.Value = append(next.Jobs.Value,
		exportertest.NewJob(99, func(j *slurm.Job) {
			exportertest.SetRunning(j)
			j.State = slurm.ParseJobState(
				"FAILED")
		}))
	o.Record(&next)
	if n := endedIn(t, o, "failed"); n != 1 {
		t.Errorf("the second reading counted %v jobs", n)
	}
}

func TestUnknownPartitionNamesMakeNoSeries(t *testing.T) {
	o := NewJobHistory()
	s := exportertest.SmallCluster()
	s.Partitions.Value = []*slurm.Partition{{Name: "a"}, {Name: "b"}}
	o.Record(s)
	next := *s
	next.Jobs.Sequence++
	next.Jobs.Value = nil
	for i, partition := range []string{"a,b", "b,a", "b,a,gone", "gone", "", "b"} {
		next.Jobs.Value = append(next.Jobs.Value, exportertest.NewJob(uint32(900+i), func(j *slurm.Job) {
			j.Partition, j.State = partition, slurm.ParseJobState("CANCELLED")
		}))
	}
	o.Record(&next)
	got := map[string]float64{}
	families, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "slurm_jobs_ended_total" && m.GetLabel()[1].GetValue() == "cancelled" {
				got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"a": 3, "b": 1, tally.RestLabelValue: 2}, got); diff != "" {
		t.Error(diff)
	}
}

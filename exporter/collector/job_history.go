package collector

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// JobHistory counts what only a comparison of snapshots shows: how long jobs waited and how they ended. It starts with
// the first reading of the jobs and processes every snapshot, scraped or not. Only one goroutine may call Record.
type JobHistory struct {
	registry     *prometheus.Registry
	eligibleWait *prometheus.HistogramVec
	startWait    *prometheus.HistogramVec
	ended        *prometheus.CounterVec

	last       *slurmclient.Snapshot
	partitions map[string]bool // whose series exist
}

// NewJobHistory returns a history without snapshots.
func NewJobHistory() *JobHistory {
	o := &JobHistory{
		registry: prometheus.NewRegistry(),
		eligibleWait: newWaitHistogram("slurm_job_eligible_wait_seconds",
			"Time from the submission of a job until it was eligible, for jobs that started since the exporter started.",
			"partition"),
		startWait: newWaitHistogram("slurm_job_start_wait_seconds",
			"Time from when a job was eligible until it started, for jobs that started since the exporter started.",
			"partition"),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_jobs_ended_total",
			Help: "Jobs that ended since the exporter started, by partition and state.",
		}, []string{"partition", "state"}),
		partitions: map[string]bool{},
	}
	o.registry.MustRegister(o.eligibleWait, o.startWait, o.ended)
	return o
}

// Record compares a snapshot with the previous one. Jobs that ended before the first snapshot
// do not count.
func (o *JobHistory) Record(s *slurmclient.Snapshot) {
	for _, p := range s.Partitions.Value {
		o.AddPartition(p.Name)
	}
	if o.last == nil || !o.last.Jobs.Known {
		o.last = s
		return
	}
	if !tally.HasChanged(o.last, s, slurmclient.Jobs) {
		return
	}
	for _, c := range slurmclient.JobChanges(o.last, s) {
		o.recordChange(c)
	}
	o.last = s
}

// AddPartition creates all series of a partition, so that they start at 0.
func (o *JobHistory) AddPartition(name string) {
	if o.partitions[name] {
		return
	}
	o.partitions[name] = true
	o.eligibleWait.WithLabelValues(name)
	o.startWait.WithLabelValues(name)
	for _, b := range slurm.JobBases() {
		if b.Finished() {
			o.ended.WithLabelValues(name, exposition.LabelSpelling(b.String()))
		}
	}
}

func (o *JobHistory) recordChange(c slurmclient.Change[slurm.Job]) {
	j := c.New
	if j == nil || j.State.Has(slurm.JobRevoked) {
		return // a revoked job runs in another cluster of the federation
	}
	if hasStarted(c.Old, j) {
		partition := o.partitionOf(j)
		o.eligibleWait.WithLabelValues(partition).Observe(max(0, j.EligibleTime.Sub(j.SubmitTime).Seconds()))
		o.startWait.WithLabelValues(partition).Observe(max(0, j.StartTime.Sub(j.EligibleTime).Seconds()))
	}
	if j.State.Base.Finished() && (c.Old == nil || !c.Old.State.Base.Finished()) {
		o.ended.WithLabelValues(o.partitionOf(j), exposition.LabelSpelling(j.State.Base.String())).Inc()
	}
}

// partitionOf returns the partition in which a job counts: the one where it ran, else its first known partition by
// name, else RestLabelValue. Users write the list in any order and with any names, and a counter exists until the
// exporter stops.
func (o *JobHistory) partitionOf(j *slurm.Job) string {
	names := j.Partitions()
	slices.Sort(names)
	for _, name := range names {
		if o.partitions[name] {
			return name
		}
	}
	o.AddPartition(tally.RestLabelValue)
	return tally.RestLabelValue
}

// hasStarted reports whether a job has started since the previous snapshot. A job that was
// submitted, ran and ended in between counts. A job that was cancelled before it started, or
// whose times are not all known, does not.
func hasStarted(old, j *slurm.Job) bool {
	if j.State.Base == slurm.JobPending || j.State.Base == slurm.JobUnknown || j.Nodes == "" {
		return false
	}
	if !j.StartTime.IsSet() || !j.EligibleTime.IsSet() || !j.SubmitTime.IsSet() || j.EligibleTime > j.StartTime {
		return false
	}
	return old == nil || old.State.Base == slurm.JobPending
}

// Families renders the history. It may be called concurrently with Record, and then includes
// a part of what Record adds.
func (o *JobHistory) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	return renderRegistry(o.registry, labels)
}

func renderRegistry(r *prometheus.Registry, labels exposition.ConstLabels) []exposition.RenderedFamily {
	out, err := exposition.GatherFamilies(r, labels)
	if err != nil {
		return nil // families of one registry do not conflict
	}
	return out
}

// Example returns a history with one partition.
func (o *JobHistory) Example() prometheus.Gatherer {
	e := NewJobHistory()
	e.AddPartition("batch")
	return e.registry
}

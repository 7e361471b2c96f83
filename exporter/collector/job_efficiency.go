package collector

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const jobEfficiencyNote = "Every 5 minutes slurmdbd is asked for the jobs that have ended since; a job counts when it ended 90 seconds ago, since " +
	"its steps may be recorded after it. Efficiency is the rate of what was used over the rate of what " +
	"was allocated; both count the jobs whose steps Slurm has all measured (`JobAcctGatherType`). The others are in " +
	"`unmeasured_total`. The memory of a job is the most that one of its steps used, for the time that the job ran. GPU time is counted for jobs " +
	"of which Slurm has gathered the utilization of GPUs. Jobs that ended before the exporter started do not count. Several replicas count the " +
	"same jobs: take `max` over them, not `sum`."

func jobEfficiencyCollector() exposition.Collector {
	return newEfficiencyCollector("job_efficiency", "what jobs that have ended used of what they had, by account (from slurmdbd)", "account",
		func(j *slurm.EndedJob) string { return j.Account })
}

func userEfficiencyCollector() exposition.Collector {
	return newEfficiencyCollector("user_efficiency", "what jobs that have ended used of what they had, by user (from slurmdbd, many series)", "user",
		func(j *slurm.EndedJob) string { return j.User })
}

func newEfficiencyCollector(name, help, label string, ownerOf func(*slurm.EndedJob) string) exposition.Collector {
	return exposition.Collector{
		Name: name, Set: exposition.Native, OptIn: true, CountsTime: true, Help: help, Note: jobEfficiencyNote,
		Needs:      []slurmclient.Resource{slurmclient.EndedJobs},
		NewHistory: func() exposition.History { return newEndedJobs(label, ownerOf) },
	}
}

// endedJobs counts the allocation and the usage of ended jobs, by owner. Only one goroutine may call Record.
type endedJobs struct {
	registry *prometheus.Registry
	label    string
	ownerOf  func(*slurm.EndedJob) string

	ended              *prometheus.CounterVec // by owner and state
	unmeasured         *prometheus.CounterVec
	cpus, memory, gpus resourceUse
	last               *slurmclient.Snapshot
	// counted are the runs in the last reading, and known the owners with series. waiting are the jobs of owners that are new in that reading.
	counted map[endedRun]bool
	known   map[string]bool
	waiting []*slurm.EndedJob
}

// endedRun identifies one run of a job.
type endedRun struct {
	id    uint32
	start slurm.Time
	end   slurm.Time
}

// resourceUse are the counters of one resource.
type resourceUse struct{ allocated, used *prometheus.CounterVec }

func newEndedJobs(label string, ownerOf func(*slurm.EndedJob) string) *endedJobs {
	o := &endedJobs{registry: prometheus.NewRegistry(), label: label, ownerOf: ownerOf, known: map[string]bool{}}
	prefix := "slurm_" + label + "_ended_job"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, append([]string{label}, labels...))
		o.registry.MustRegister(v)
		return v
	}
	use := func(resource, unit, what, used string) resourceUse {
		return resourceUse{
			counter("_"+resource+"_allocated_"+unit+"_total", what+" that jobs of the "+label+" had, for jobs that have ended."),
			counter("_"+resource+"_used_"+unit+"_total", used+" of the "+label+", for jobs that have ended.")}
	}
	o.ended = counter("s_total", "Jobs of the "+label+" that ran and have ended, by the state in which they ended.", "state")
	o.unmeasured = counter("s_unmeasured_total", "Jobs of the "+label+" that ran and have ended, whose use Slurm has not gathered.")
	o.cpus = use("cpu", "seconds", "Seconds of CPUs", "User and system time in seconds of jobs")
	o.memory = use("memory", "byte_seconds", "Bytes of memory times seconds", "Most bytes of memory used at once times seconds of jobs")
	o.gpus = use("gpu", "seconds", "Seconds of GPUs, where their utilization was gathered,", "Seconds of busy GPUs of jobs")
	return o
}

// stepRecordDelay is how long after the end of a run the usage of its steps may be recorded. If a run is cancelled, requeued or timed out,
// slurmctld records its end when it signals the steps. slurmd records their usage when they have ended, by default KillWait (30 s) and
// UnkillableStepTimeout (60 s) later (slurm.conf(5)).
const stepRecordDelay = 90 * time.Second

// Record counts the jobs that are new in a reading, except in the first reading of a cluster, whose jobs ended before. The series of a new
// owner begin at 0, and its jobs count at the next reading: Prometheus sees no increase in the first sample of a series.
func (o *endedJobs) Record(s *slurmclient.Snapshot) {
	if !s.EndedJobs.Known || o.last != nil && o.last.EndedJobs.ReadAt.Equal(s.EndedJobs.ReadAt) {
		return
	}
	for _, j := range o.waiting {
		o.countJob(j)
	}
	o.waiting = nil
	if o.last != nil && o.last.EndedJobs.Cluster != s.EndedJobs.Cluster {
		o.last = nil
	}
	counted := map[endedRun]bool{}
	for i := range s.EndedJobs.Value {
		j := &s.EndedJobs.Value[i]
		if j.Cluster != s.EndedJobs.Cluster && s.EndedJobs.Cluster != "" {
			continue
		}
		run := endedRun{j.ID, j.Start, j.End}
		switch {
		case o.last == nil || o.counted[run] || counted[run] || !j.Start.IsSet() || j.CPUs == 0: // it is known, or never ran
		case s.EndedJobs.ReadAt.Sub(j.End.Time()) < stepRecordDelay: // the next reading has it, too
			o.addSeries(j)
			continue
		case o.addSeries(j):
			o.waiting = append(o.waiting, j)
		default:
			o.countJob(j)
		}
		counted[run] = true
	}
	o.last, o.counted = s, counted
}

// addSeries creates the series of a job at 0, and reports whether they are new.
func (o *endedJobs) addSeries(j *slurm.EndedJob) bool {
	owner := o.seriesOf(j)
	if o.known[owner] {
		return false
	}
	o.known[owner] = true
	for _, b := range slurm.JobBases() {
		if b.Finished() {
			o.ended.WithLabelValues(owner, endStateOf(slurm.JobState{Base: b}))
		}
	}
	o.ended.WithLabelValues(owner, requeued)
	o.unmeasured.WithLabelValues(owner)
	o.cpus.addUse(owner, 0, 0)
	o.memory.addUse(owner, 0, 0)
	o.gpus.addUse(owner, 0, 0)
	return true
}

// seriesOf returns the label value of the owner of a job.
func (o *endedJobs) seriesOf(j *slurm.EndedJob) string {
	if owner := o.ownerOf(j); o.known[owner] || len(o.known) < maxOwners {
		return owner
	}
	return tally.RestLabelValue
}

func (o *endedJobs) countJob(j *slurm.EndedJob) {
	owner := o.seriesOf(j)
	o.ended.WithLabelValues(owner, endStateOf(j.State)).Inc()
	if j.Usage == nil {
		o.unmeasured.WithLabelValues(owner).Inc()
		return
	}
	ran := j.Elapsed.Seconds()
	o.cpus.addUse(owner, float64(j.CPUs)*ran, j.Usage.CPUTime.Seconds())
	o.memory.addUse(owner, float64(j.MemoryMiB)*(1<<20)*ran, float64(j.Usage.MemoryBytes)*ran)
	if j.Usage.HasGPUTime {
		o.gpus.addUse(owner, float64(j.GPUs)*ran, j.Usage.GPUTime.Seconds())
	}
}

func (u resourceUse) addUse(owner string, allocated, used float64) {
	u.allocated.WithLabelValues(owner).Add(allocated)
	u.used.WithLabelValues(owner).Add(used)
}

// requeued is the state of a run after which the job is pending again.
const requeued = "requeued"

// endStateOf returns the state in which a run of a job ended.
func endStateOf(s slurm.JobState) string {
	if s.Has(slurm.JobRequeued) {
		return requeued
	}
	return strings.ToLower(s.Base.String())
}

// Families renders the counters. It may be called concurrently with Record.
func (o *endedJobs) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	return renderRegistry(o.registry, labels)
}

// Example returns counters of one owner.
func (o *endedJobs) Example() prometheus.Gatherer {
	e := newEndedJobs(o.label, o.ownerOf)
	e.addSeries(&slurm.EndedJob{User: "a", Account: "a"})
	return e.registry
}

package collector

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const jobEfficiencyNote = "slurmdbd is asked for jobs that have ended every 5 minutes. Efficiency is the rate of what was used over the rate of what " +
	"was allocated; both count the same jobs: those of which Slurm has gathered the use of all steps (`JobAcctGatherType`). The others are in " +
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
		Name: name, Set: exposition.Native, OptIn: true, Help: help, Note: jobEfficiencyNote,
		Needs:      []slurmclient.Resource{slurmclient.EndedJobs},
		NewHistory: func() exposition.History { return newEndedJobs(label, ownerOf) },
	}
}

// endedJobs counts what jobs that have ended were allocated and have used, by owner. Only one goroutine may call Record.
type endedJobs struct {
	registry *prometheus.Registry
	label    string
	ownerOf  func(*slurm.EndedJob) string

	ended              *prometheus.CounterVec // by owner and state
	unmeasured         *prometheus.CounterVec
	cpus, memory, gpus resourceUse
	last               *slurmclient.Snapshot
	// counted are the runs in the last reading, and known the owners with series.
	counted map[endedRun]bool
	known   map[string]bool
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

// Record counts the jobs that are new in a reading. Those of the first reading of a cluster ended before.
func (o *endedJobs) Record(s *slurmclient.Snapshot) {
	if !s.EndedJobs.Known || !tally.HasChanged(o.last, s, slurmclient.EndedJobs) {
		return
	}
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
		if o.last != nil && !o.counted[run] && !counted[run] {
			o.count(j)
		}
		counted[run] = true
	}
	o.last, o.counted = s, counted
}

func (o *endedJobs) count(j *slurm.EndedJob) {
	if !j.Start.IsSet() || j.CPUs == 0 {
		return // it never ran
	}
	owner := o.ownerOf(j)
	if !o.known[owner] && len(o.known) >= maxOwners {
		owner = tally.RestLabelValue
	}
	o.known[owner] = true
	o.ended.WithLabelValues(owner, endStateOf(j.State)).Inc()
	if j.Usage == nil {
		o.unmeasured.WithLabelValues(owner).Inc()
		return
	}
	ran := j.Elapsed.Seconds()
	o.cpus.add(owner, float64(j.CPUs)*ran, j.Usage.CPUTime.Seconds())
	o.memory.add(owner, float64(j.MemoryMiB)*(1<<20)*ran, float64(j.Usage.MemoryBytes)*ran)
	if j.Usage.HasGPUTime {
		o.gpus.add(owner, float64(j.GPUs)*ran, j.Usage.GPUTime.Seconds())
	}
}

func (u resourceUse) add(owner string, allocated, used float64) {
	u.allocated.WithLabelValues(owner).Add(allocated)
	u.used.WithLabelValues(owner).Add(used)
}

// endStateOf returns the state in which a run of a job ended. A job that was requeued is pending again.
func endStateOf(s slurm.JobState) string {
	if s.Has(slurm.JobRequeued) {
		return "requeued"
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
	e.ended.WithLabelValues("a", endStateOf(slurm.JobState{Base: slurm.JobCompleted}))
	e.unmeasured.WithLabelValues("a")
	for _, u := range []resourceUse{e.cpus, e.memory, e.gpus} {
		u.add("a", 0, 0)
	}
	return e.registry
}

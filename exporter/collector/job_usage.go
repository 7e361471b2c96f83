package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const jobUsageNote = "Time counts at each reading of the jobs, from the start of a job to its end as Slurm has them, also of jobs that " +
	"ran between two readings. The clocks of slurmctld and the exporter must agree. Time without a reading for more than 2 minutes, and 3 polls, is unknown and does not count. " +
	"A job whose GPUs are not known ends the series of the GPU time that it belongs to. " +
	"Several replicas count the same time: take `max` over them, not `sum`."

func jobUsageCollector() exposition.Collector {
	return exposition.Collector{
		Name: "job_usage", Set: exposition.Native, OptIn: true, CountsTime: true,
		Help:       "CPU time, GPU time and waiting times of jobs by account and by QOS (many series)",
		Needs:      []slurmclient.Resource{slurmclient.Jobs},
		NewHistory: func() exposition.History { return newJobUsage(accountsOfJobs(), qosOfJobs()) },
		Note:       jobUsageNote,
	}
}

func userUsageCollector() exposition.Collector {
	return exposition.Collector{
		Name: "user_usage", Set: exposition.Native, OptIn: true, CountsTime: true,
		Help:       "CPU time and GPU time of jobs by user (many series)",
		Needs:      []slurmclient.Resource{slurmclient.Jobs},
		NewHistory: func() exposition.History { return newJobUsage(usersOfJobs()) },
		Note:       jobUsageNote,
	}
}

// maxOwners is how many owners of one kind have their own series until the exporter stops. Later ones are summed as tally.RestLabelValue.
// maxNativeBuckets describes the memory of their histograms.
const maxOwners = 1000

// jobUsage counts the CPU and GPU time of running jobs by their owners. It processes every snapshot, scraped or not. Only one goroutine
// may call Record.
type jobUsage struct {
	registry *prometheus.Registry
	kinds    []*ownerKind
	last     *slurmclient.Snapshot
}

// ownerKind are the counters of one kind of owners of jobs.
type ownerKind struct {
	label, noun string
	// ownerOf returns the owner of a job. amounts returns the resources of each owner's jobs.
	ownerOf func(j *slurm.Job) string
	amounts func(t *tally.JobTotals) map[string]*tally.Jobs
	// hasWaits is whether there is a histogram of waiting times.
	hasWaits bool

	cpus, gpus *prometheus.CounterVec
	startWait  *prometheus.HistogramVec
	// known are the owners with series, and unknownGPUs are the owners without a series of GPU time.
	known, unknownGPUs map[string]bool
	// running maps each owner to the resources of its running jobs in the last snapshot.
	running map[string]tally.Amounts
}

func accountsOfJobs() *ownerKind {
	return &ownerKind{label: "account", noun: "account", ownerOf: func(j *slurm.Job) string { return j.Account() }, hasWaits: true,
		amounts: func(t *tally.JobTotals) map[string]*tally.Jobs { return t.ByAccount }}
}

func qosOfJobs() *ownerKind {
	return &ownerKind{label: "qos", noun: "QOS", ownerOf: func(j *slurm.Job) string { return j.QOS() }, hasWaits: true,
		amounts: func(t *tally.JobTotals) map[string]*tally.Jobs { return t.ByQOS }}
}

func usersOfJobs() *ownerKind {
	return &ownerKind{label: "user", noun: "user", ownerOf: func(j *slurm.Job) string { return j.UserName() },
		amounts: func(t *tally.JobTotals) map[string]*tally.Jobs { return t.ByUser }}
}

func newJobUsage(kinds ...*ownerKind) *jobUsage {
	o := &jobUsage{registry: prometheus.NewRegistry(), kinds: kinds}
	for _, k := range kinds {
		k.registerMetrics(o.registry)
	}
	return o
}

func (k *ownerKind) registerMetrics(to *prometheus.Registry) {
	k.known, k.unknownGPUs = map[string]bool{}, map[string]bool{}
	counter := func(name, help string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "slurm_" + k.label + name, Help: help}, []string{k.label})
		to.MustRegister(v)
		return v
	}
	k.cpus = counter("_cpu_seconds_total", "Seconds of CPUs that running jobs of the "+k.noun+" had.")
	k.gpus = counter("_gpu_seconds_total", "Seconds of GPUs that running jobs of the "+k.noun+" had.")
	if k.hasWaits {
		k.startWait = newWaitHistogram("slurm_"+k.label+"_job_start_wait_seconds", "Time from when a job of the "+k.noun+
			" was eligible until it started, for jobs that started since the exporter started.", k.label)
		to.MustRegister(k.startWait)
	}
}

// Record adds the time since the previous snapshot, and the waits of the jobs that have started since.
func (o *jobUsage) Record(s *slurmclient.Snapshot) {
	if !s.Jobs.Known {
		return
	}
	took := time.Duration(0)
	if o.last != nil {
		took = o.last.Jobs.TimeUntil(s.Jobs.Poll)
	}
	var changes []slurmclient.Change[slurm.Job]
	if o.last != nil && tally.HasChanged(o.last, s, slurmclient.Jobs) {
		changes = slurmclient.JobChanges(o.last, s)
	}
	for _, k := range o.kinds {
		k.addSeconds(took, k.correctionsOf(changes, s.Jobs.ReadAt, took))
	}
	if tally.HasChanged(o.last, s, slurmclient.Jobs) {
		totals := tally.TotalJobs(s.Jobs.Value)
		for _, k := range o.kinds {
			k.setRunning(k.amounts(totals))
		}
		o.recordWaits(changes)
	}
	o.last = s
}

func (o *jobUsage) recordWaits(changes []slurmclient.Change[slurm.Job]) {
	for _, c := range changes {
		j := c.New
		if j == nil || j.State.Has(slurm.JobRevoked) || !hasStarted(c.Old, j) {
			continue
		}
		for _, k := range o.kinds {
			if k.hasWaits {
				k.startWait.WithLabelValues(k.seriesOf(k.ownerOf(j))).Observe(max(0, j.StartTime.Sub(j.EligibleTime).Seconds()))
			}
		}
	}
}

// setRunning remembers the resources of each owner's running jobs. Series of new owners start at 0.
func (k *ownerKind) setRunning(jobs map[string]*tally.Jobs) {
	k.running = map[string]tally.Amounts{}
	for owner, t := range jobs {
		if t.InState(slurm.JobRunning) == 0 {
			continue
		}
		series, a := k.seriesOf(owner), t.Running
		if a.HasUnknownGPUs {
			k.unknownGPUs[series] = true
			k.gpus.DeleteLabelValues(series)
		}
		sum := k.running[series]
		sum.CPUs, sum.GPUs = sum.CPUs+a.CPUs, sum.GPUs+a.GPUs
		k.running[series] = sum
	}
	k.addSeconds(0, nil)
}

// seconds are the CPU and GPU seconds of an owner.
type seconds struct{ cpus, gpus float64 }

// addSeconds adds the time since the last snapshot for each job that ran in it. corrections adjust the sums for jobs that ran for only a
// part of the time.
func (k *ownerKind) addSeconds(took time.Duration, corrections map[string]seconds) {
	sums := corrections
	if sums == nil {
		sums = map[string]seconds{}
	}
	for series, a := range k.running {
		s := sums[series]
		s.cpus, s.gpus = s.cpus+float64(a.CPUs)*took.Seconds(), s.gpus+float64(a.GPUs)*took.Seconds()
		sums[series] = s
	}
	for series, s := range sums {
		k.cpus.WithLabelValues(series).Add(max(0, s.cpus))
		if !k.unknownGPUs[series] {
			k.gpus.WithLabelValues(series).Add(max(0, s.gpus))
		}
	}
}

// correctionsOf returns, for each owner, how much the usage between two readings exceeds the usage that the jobs of the last snapshot
// imply.
func (k *ownerKind) correctionsOf(changes []slurmclient.Change[slurm.Job], now time.Time, took time.Duration) map[string]seconds {
	out := map[string]seconds{}
	for _, c := range changes {
		correction := runCorrection(c.Old, c.New, now, took)
		if correction == 0 {
			continue
		}
		j := c.New
		if isRunning(c.Old) {
			j = c.Old
		}
		a, series := tally.Allocated(j), k.seriesOf(k.ownerOf(j))
		if a.HasUnknownGPUs {
			k.unknownGPUs[series] = true
			k.gpus.DeleteLabelValues(series)
		}
		s := out[series]
		s.cpus, s.gpus = s.cpus+float64(a.CPUs)*correction.Seconds(), s.gpus+float64(a.GPUs)*correction.Seconds()
		out[series] = s
	}
	return out
}

func isRunning(j *slurm.Job) bool {
	return j != nil && j.State.Base == slurm.JobRunning && !j.State.Has(slurm.JobRevoked)
}

// runCorrection returns the difference between a job's real running time before now and the time that its old state implies, over the
// duration took. It is negative if the job ended or was suspended, positive if it started, and 0 if unknown. Times have the resolution of a
// second.
func runCorrection(old, j *slurm.Job, now time.Time, took time.Duration) time.Duration {
	if j == nil || took <= 0 || j.State.Has(slurm.JobRevoked) {
		return 0
	}
	within := func(since slurm.Time) time.Duration { return min(max(now.Sub(since.Time()), 0), took) }
	ended := time.Duration(0) // how long ago
	switch {
	case isRunning(j):
	case j.State.Base.Finished() && j.EndTime.IsSet():
		ended = within(j.EndTime)
	case j.State.Base == slurm.JobSuspended && j.SuspendTime.IsSet():
		ended = within(j.SuspendTime)
	default:
		return 0
	}
	switch {
	case isRunning(old):
		return -ended
	case old != nil && old.State.Base != slurm.JobPending || !j.StartTime.IsSet() || j.Nodes == "":
		return 0
	}
	return max(0, within(j.StartTime)-ended)
}

// seriesOf returns the label value of an owner.
func (k *ownerKind) seriesOf(owner string) string {
	if !k.known[owner] && len(k.known) >= maxOwners {
		return tally.RestLabelValue
	}
	k.known[owner] = true
	return owner
}

// Families renders the counters. It may be called concurrently with Record.
func (o *jobUsage) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	return renderRegistry(o.registry, labels)
}

// Example returns counters of one owner of each kind.
func (o *jobUsage) Example() prometheus.Gatherer {
	kinds := make([]*ownerKind, len(o.kinds))
	for i, k := range o.kinds {
		kinds[i] = &ownerKind{label: k.label, noun: k.noun, hasWaits: k.hasWaits}
	}
	e := newJobUsage(kinds...)
	for _, k := range kinds {
		k.running = map[string]tally.Amounts{"a": {}}
		k.addSeconds(0, nil)
		if k.hasWaits {
			k.startWait.WithLabelValues("a")
		}
	}
	return e.registry
}

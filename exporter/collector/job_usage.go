package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const jobUsageNote = "Each reading of the jobs counts until the next one, so that a job counts from the first reading that shows it " +
	"running to the first that does not. Time without a reading for more than 2 minutes, and 3 polls, is unknown and does not count. " +
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

// maxOwners is how many owners of one kind have series of their own until the exporter stops. Later ones are summed as
// tally.RestLabelValue.
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
	// ownerOf returns the owner of a job. amounts returns what the jobs of each owner have.
	ownerOf func(j *slurm.Job) string
	amounts func(t *tally.JobTotals) map[string]*tally.Jobs
	// hasWaits is whether there is a histogram of waiting times.
	hasWaits bool

	cpus, gpus *prometheus.CounterVec
	startWait  *prometheus.HistogramVec
	// known are the owners with series, and unknownGPUs those without one of GPU time.
	known, unknownGPUs map[string]bool
	// running is what the jobs of each owner have, as the last snapshot shows.
	running map[string]tally.Amounts
}

func accountsOfJobs() *ownerKind {
	return &ownerKind{label: "account", noun: "account", ownerOf: func(j *slurm.Job) string { return j.Account }, hasWaits: true,
		amounts: func(t *tally.JobTotals) map[string]*tally.Jobs { return t.ByAccount }}
}

func qosOfJobs() *ownerKind {
	return &ownerKind{label: "qos", noun: "QOS", ownerOf: func(j *slurm.Job) string { return j.QOS }, hasWaits: true,
		amounts: func(t *tally.JobTotals) map[string]*tally.Jobs { return t.ByQOS }}
}

func usersOfJobs() *ownerKind {
	return &ownerKind{label: "user", noun: "user", ownerOf: func(j *slurm.Job) string { return j.UserName },
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
		k.startWait = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurm_" + k.label + "_job_start_wait_seconds", Buckets: waitBuckets,
			Help: "Time from when a job of the " + k.noun + " was eligible until it started, for jobs that started since the " +
				"exporter started.",
		}, []string{k.label})
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
	for _, k := range o.kinds {
		k.addSeconds(took)
	}
	if tally.HasChanged(o.last, s, slurmclient.Jobs) {
		totals := tally.TotalJobs(s.Jobs.Value)
		for _, k := range o.kinds {
			k.setRunning(k.amounts(totals))
		}
		o.recordWaits(s)
	}
	o.last = s
}

func (o *jobUsage) recordWaits(s *slurmclient.Snapshot) {
	if o.last == nil {
		return
	}
	for _, c := range slurmclient.JobChanges(o.last, s) {
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

// setRunning remembers what the running jobs of each owner have. Series of new owners start at 0.
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
	k.addSeconds(0)
}

// addSeconds adds a time to the counters of the owners whose jobs ran in the last snapshot.
func (k *ownerKind) addSeconds(took time.Duration) {
	for series, a := range k.running {
		k.cpus.WithLabelValues(series).Add(float64(a.CPUs) * took.Seconds())
		if !k.unknownGPUs[series] {
			k.gpus.WithLabelValues(series).Add(float64(a.GPUs) * took.Seconds())
		}
	}
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
		k.addSeconds(0)
		if k.hasWaits {
			k.startWait.WithLabelValues("a")
		}
	}
	return e.registry
}

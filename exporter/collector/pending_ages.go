package collector

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// pendingAges is a histogram of how long the jobs of the last snapshot have been pending. Only one goroutine may call Record.
type pendingAges struct {
	registry *prometheus.Registry
	desc     *prometheus.Desc
	last     *slurmclient.Snapshot
	current  atomic.Pointer[ageCounts]
}

// ageCounts count the tasks of pending jobs: all, the sum of their ages in seconds, and those not older than each bucket.
type ageCounts struct {
	count   uint64
	sum     float64
	buckets map[float64]uint64
}

func newPendingAges() *pendingAges {
	o := &pendingAges{registry: prometheus.NewRegistry(), desc: prometheus.NewDesc("slurm_pending_job_age_seconds",
		"How long the jobs that are pending now have been eligible; every array task counts. Held jobs, and those that are not eligible "+
			"yet, do not. The histogram is that of the moment: use it without rate().", nil, nil)}
	o.registry.MustRegister(o)
	return o
}

// Record counts the ages of the pending jobs.
func (o *pendingAges) Record(s *slurmclient.Snapshot) {
	if !s.Jobs.Known || o.last != nil && o.last.Jobs.ReadAt.Equal(s.Jobs.ReadAt) {
		return
	}
	o.last = s
	o.current.Store(countAges(s.Jobs.Value, slurm.At(s.Jobs.ReadAt)))
}

func countAges(jobs []*slurm.Job, now slurm.Time) *ageCounts {
	out := &ageCounts{buckets: make(map[float64]uint64, len(waitBuckets))}
	for _, j := range jobs {
		if j.State.Base != slurm.JobPending || j.State.Has(slurm.JobRevoked) || pending.Held(j) || !j.EligibleTime.IsSet() ||
			j.EligibleTime > now {
			continue
		}
		tasks, _ := pending.CountTasks(j)
		age := now.Sub(j.EligibleTime).Seconds()
		out.count, out.sum = out.count+tasks, out.sum+age*float64(tasks)
		for _, most := range waitBuckets {
			if age <= most {
				out.buckets[most] += tasks
			}
		}
	}
	for _, most := range waitBuckets {
		out.buckets[most] += 0
	}
	return out
}

// Describe implements prometheus.Collector.
func (o *pendingAges) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect implements prometheus.Collector. It returns no sample before jobs have been read.
func (o *pendingAges) Collect(to chan<- prometheus.Metric) {
	if c := o.current.Load(); c != nil {
		to <- prometheus.MustNewConstHistogram(o.desc, c.count, c.sum, c.buckets)
	}
}

// Families renders the histogram. It may be called concurrently with Record.
func (o *pendingAges) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	return renderRegistry(o.registry, labels)
}

// Example returns the histogram of no job.
func (o *pendingAges) Example() prometheus.Gatherer {
	e := newPendingAges()
	e.current.Store(countAges(nil, 0))
	return e.registry
}

// histories are several histories that one collector shows.
type histories []exposition.History

// Record implements exposition.History.
func (o histories) Record(s *slurmclient.Snapshot) {
	for _, h := range o {
		h.Record(s)
	}
}

// Families implements exposition.History.
func (o histories) Families(labels exposition.ConstLabels) []exposition.RenderedFamily {
	var out []exposition.RenderedFamily
	for _, h := range o {
		out = append(out, h.Families(labels)...)
	}
	return out
}

// Example implements exposition.History.
func (o histories) Example() prometheus.Gatherer {
	var out prometheus.Gatherers
	for _, h := range o {
		out = append(out, h.Example())
	}
	return out
}

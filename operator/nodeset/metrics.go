package nodeset

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// Metrics are the reconciler's own metrics: the number of workers that it creates and deletes, and the
// reasons why workers to remove wait.
type Metrics struct {
	created *prometheus.CounterVec
	deleted *prometheus.CounterVec
	drain   *prometheus.HistogramVec
	waiting *prometheus.GaugeVec
}

// NewMetrics returns Metrics that are registered with registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	set := []string{"namespace", "nodeset"}
	m := &Metrics{
		created: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_operator_workers_created_total", Help: "Worker pods that were created."}, set),
		deleted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slurm_operator_workers_deleted_total",
			Help: "Worker pods that were deleted, by cause. The cause is empty for pods whose containers had ended."},
			[]string{"namespace", "nodeset", "cause"}),
		drain: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slurm_operator_worker_drain_duration_seconds",
			Help:    "Time from the choice of a worker for removal to its deletion.",
			Buckets: []float64{1, 5, 15, 60, 300, 1800, 7200, 43200, 172800}}, []string{"cause"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slurm_operator_workers_waiting",
			Help: "Workers that are to be removed, by cause and by what they wait for: jobs, or a reading of Slurm."},
			[]string{"namespace", "nodeset", "cause", "for"}),
	}
	registry.MustRegister(m.created, m.deleted, m.drain, m.waiting)
	for _, cause := range drainCauses() {
		m.drain.WithLabelValues(cause)
	}
	return m
}

func drainCauses() []string {
	return []string{v1beta1.DrainCauseScaleIn, v1beta1.DrainCauseUpdate, v1beta1.DrainCauseDeletion,
		v1beta1.DrainCauseReboot}
}

// Values of the label "for".
const (
	waitingForJobs  = "jobs"
	waitingForSlurm = "slurm"
)

// countStep counts a step that was carried out.
func (m *Metrics) countStep(s *observation, step plan.Step, now time.Time) {
	namespace, name := s.nodeSet.Namespace, s.nodeSet.Name
	switch step.Verb {
	case plan.CreatePod:
		m.created.WithLabelValues(namespace, name).Inc()
	case plan.DeletePod:
		note := plan.DrainMark{}
		if pod := s.pod(step.Pod); pod != nil {
			note = observed.DrainMark(pod)
		}
		m.deleted.WithLabelValues(namespace, name, note.Cause).Inc()
		if note.Cause != "" {
			m.drain.WithLabelValues(note.Cause).Observe(now.Sub(note.Since).Seconds())
		}
	}
}

// setWaiting sets the metrics of the reasons why a NodeSet's workers wait.
func (m *Metrics) setWaiting(s *observation, actions *plan.Actions) {
	counts := map[[2]string]int{}
	for _, w := range actions.Waits {
		reason := waitingForSlurm
		if w.Jobs > 0 {
			reason = waitingForJobs
		}
		counts[[2]string{w.Cause, reason}]++
	}
	for _, cause := range drainCauses() {
		for _, reason := range []string{waitingForJobs, waitingForSlurm} {
			m.waiting.WithLabelValues(s.nodeSet.Namespace, s.nodeSet.Name, cause, reason).Set(
				float64(counts[[2]string{cause, reason}]))
		}
	}
}

// ForgetNodeSet deletes the series of a NodeSet that is gone.
func (m *Metrics) forgetNodeSet(name types.NamespacedName) {
	labels := prometheus.Labels{"namespace": name.Namespace, "nodeset": name.Name}
	m.created.DeletePartialMatch(labels)
	m.deleted.DeletePartialMatch(labels)
	m.waiting.DeletePartialMatch(labels)
}

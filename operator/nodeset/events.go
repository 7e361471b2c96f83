package nodeset

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// reportStep logs a step that was carried out, and queues its event.
func (r *Reconciler) reportStep(ctx context.Context, s *observation, step plan.Step) {
	reason, action := "", ""
	switch step.Verb {
	case plan.ClearPod:
		log.FromContext(ctx).Info("removed the pod from a comment", "slurmNode", step.SlurmName)
		return
	case plan.Annotate:
		if step.DrainMark.Cause == "" || s.pod(step.Pod) == nil {
			return
		}
		log.FromContext(ctx).Info("chose a worker for removal", "pod", step.Pod, "cause", step.DrainMark.Cause)
		return
	case plan.AdoptPod:
		log.FromContext(ctx).Info("adopted a worker", "pod", step.Pod)
		return
	case plan.Drain, plan.AddDrain:
		reason, action = "DrainStarted", "Drain"
	case plan.Undrain, plan.Resume:
		reason, action = "Undrained", "Undrain"
	case plan.DeletePod:
		if pod := s.pod(step.Pod); pod != nil && step.Precondition == plan.PreconditionDrained {
			s.queueEvent(workerEvent{"Drained", "Drain", step.Reason}, step, pod)
		}
		reason, action = "SuccessfulDelete", "Delete"
	case plan.ClearReason:
		log.FromContext(ctx).Info("cleared our drain reason", "slurmNode", step.SlurmName)
		return
	case plan.RecreateRecord:
		reason, action = "RecordRecreated", "Recreate"
	case plan.MarkFuture, plan.DeleteRecord:
		if step.Precondition == plan.PreconditionFaultDrained {
			s.queueEvent(workerEvent{"Undrained", "Undrain", step.Reason}, step, nil)
		}
		log.FromContext(ctx).Info("removed or reset a slurm node record", "slurmNode", step.SlurmName, "verb",
			string(step.Verb))
		return
	}
	log.FromContext(ctx).Info(reason, "pod", step.Pod, "slurmNode", step.SlurmName, "reason", step.Reason)
	s.queueEvent(workerEvent{reason, action, step.Reason}, step, s.pod(step.Pod))
}

// maxSingleEvents is the largest number of workers that get an event each for the same step.
const maxSingleEvents = 10

// workerEvent is the content of an event about a worker.
type workerEvent struct{ reason, action, why string }

// eventSubject is the object of an event.
type eventSubject struct {
	text string
	pod  *corev1.Pod // nil for a Slurm node without a pod
}

// queueEvent queues an event about a worker until all steps are done.
func (s *observation) queueEvent(n workerEvent, step plan.Step, pod *corev1.Pod) {
	who := eventSubject{"slurm node " + step.SlurmName, nil}
	if pod != nil {
		who = eventSubject{"worker " + step.Pod, pod}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pendingEvents == nil {
		s.pendingEvents = map[workerEvent][]eventSubject{}
	}
	if s.pendingEvents[n] == nil {
		s.eventOrder = append(s.eventOrder, n)
	}
	s.pendingEvents[n] = append(s.pendingEvents[n], who)
}

// emitStepEvents records the queued events. Many workers share one event, because a thousand events
// would only displace others.
func (r *Reconciler) emitStepEvents(s *observation) {
	for _, n := range s.eventOrder {
		about := s.pendingEvents[n]
		if len(about) <= maxSingleEvents {
			for _, who := range about {
				var related runtime.Object
				if who.pod != nil {
					related = who.pod
				}
				r.events.Eventf(s.nodeSet, related, corev1.EventTypeNormal, n.reason, n.action, "%s: %s", who.text,
					n.why)
			}
			continue
		}
		var names []string
		for _, who := range about {
			_, name, _ := strings.Cut(strings.TrimPrefix(who.text, "slurm "), " ")
			names = append(names, name)
		}
		slices.Sort(names)
		r.events.Eventf(s.nodeSet, nil, corev1.EventTypeNormal, n.reason, n.action, "%d workers: %s: %s", len(names),
			n.why, observed.CleanReason(hostlist.Compress(names)))
	}
}

// emitCreatedEvents records the creation of workers, of many in one event.
func (r *Reconciler) emitCreatedEvents(s *observation) {
	slices.SortFunc(s.created, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	if len(s.created) <= maxSingleEvents {
		for _, pod := range s.created {
			r.events.Eventf(s.nodeSet, pod, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "created worker %s",
				pod.Name)
		}
		return
	}
	names := make([]string, len(s.created))
	for i, pod := range s.created {
		names[i] = pod.Name
	}
	r.events.Eventf(s.nodeSet, nil, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "created %d workers: %s",
		len(names), observed.CleanReason(hostlist.Compress(names)))
}

// emitWaitEvents records an event when a worker begins to wait for a job, and when something else begins to
// keep it. Many workers, and the workers of an outage, share one event. A wait that was reported before an
// outage is not reported again after it.
func (r *Reconciler) emitWaitEvents(s *observation, actions *plan.Actions) {
	reported := map[string]expectations.ReportedWait{}
	newWaits := map[string][]plan.Wait{}
	for _, w := range actions.Waits {
		was := s.expectations.ReportedWaits[w.Pod]
		is := expectations.ReportedWait{Job: was.Job, Block: w.BlockReason}
		if w.BlockReason == plan.NotBlocked && w.Jobs > 0 {
			is.Job = w.Job
		}
		reported[w.Pod] = is
		switch {
		case w.BlockReason == plan.BlockedByStaleReading && was.Block != w.BlockReason:
			newWaits["DeletionBlocked"] = append(newWaits["DeletionBlocked"], w)
		case w.BlockReason == plan.BlockedByRegistration && was.Block != w.BlockReason:
			newWaits["SlurmNodeNotRegistered"] = append(newWaits["SlurmNodeNotRegistered"], w)
		case w.BlockReason == plan.NotBlocked && is.Job != was.Job:
			newWaits["DrainWaiting"] = append(newWaits["DrainWaiting"], w)
		}
	}
	s.expectations.ReportedWaits = reported
	for _, reason := range slices.Sorted(maps.Keys(newWaits)) {
		r.emitWaitEventsFor(s, reason, newWaits[reason])
	}
}

// emitWaitEventsFor records the events of workers that begin to wait for the same reason.
func (r *Reconciler) emitWaitEventsFor(s *observation, reason string, waits []plan.Wait) {
	kind := corev1.EventTypeWarning
	if reason == "DrainWaiting" {
		kind = corev1.EventTypeNormal
	}
	if len(waits) == 1 || len(waits) <= maxSingleEvents && reason != "DeletionBlocked" {
		for _, w := range waits {
			r.events.Eventf(s.nodeSet, s.pod(w.Pod), kind, reason, "Drain", "%s", status.FormatWait(w))
		}
		return
	}
	names := make([]string, len(waits))
	for i, w := range waits {
		names[i] = w.Pod
	}
	r.events.Eventf(s.nodeSet, nil, kind, reason, "Drain", "%d workers wait (%s), the first: %s", len(waits),
		observed.CleanReason(hostlist.Compress(names)), status.FormatWait(waits[0]))
}

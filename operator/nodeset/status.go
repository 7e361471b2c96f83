package nodeset

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// statusOf computes the status of a NodeSet. Conditions of other controllers, and the transition
// times of unchanged ones, stay.
func statusOf(now time.Time, s *observation, actions *plan.Actions) v1beta1.NodeSetStatus {
	out := *s.nodeSet.Status.DeepCopy()
	out.ObservedGeneration = s.nodeSet.Generation
	out.Selector = labels.Set(names.NodeSetSelector(s.nodeSet.Name, s.clusterRef)).String()
	if s.problem.reason == "" {
		out.NodeSetHash = s.revision.Hash
	}
	out.Desired = int32(s.desired.WorkerCount())
	countWorkers(&out, now, s, actions)
	if s.desired.PerKubeNode || s.desired.Deleting {
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionSubmittable)
	}
	for _, c := range []metav1.Condition{readyCondition(&out, s, actions), drainingCondition(s, actions),
		updatedCondition(s, actions), submittableCondition(s)} {
		if c.Type != "" {
			c.ObservedGeneration, c.LastTransitionTime = s.nodeSet.Generation, metav1.NewTime(now)
			meta.SetStatusCondition(&out.Conditions, c)
		}
	}
	v1beta1.SetFieldsIgnored(&out.Conditions, s.nodeSet.Spec.IgnoredFields(), s.nodeSet.Generation, now)
	return out
}

// countWorkers counts the workers. Counts of Slurm states keep their values until Slurm is read.
func countWorkers(out *v1beta1.NodeSetStatus, now time.Time, s *observation, actions *plan.Actions) {
	out.Replicas, out.UpdatedReplicas, out.ReadyReplicas, out.AvailableReplicas = 0, 0, 0, 0
	if s.slurm.Known {
		out.SlurmIdle, out.SlurmAllocated, out.SlurmDown, out.SlurmDrain = 0, 0, 0, 0
	}
	for i := range s.workers {
		w := &s.workers[i]
		if !w.DeletedAt.IsZero() || w.Finished {
			continue
		}
		out.Replicas++
		incrementIf(&out.UpdatedReplicas, w.Revision == out.NodeSetHash)
		incrementIf(&out.ReadyReplicas, w.Ready)
		incrementIf(&out.AvailableReplicas, w.Ready && !now.Before(w.ReadySince.Add(s.desired.MinReady)))
		record, known := s.slurm.Records[w.SlurmName]
		if !known || record.Future {
			continue
		}
		incrementIf(&out.SlurmDrain, record.Drain)
		switch {
		case record.Down:
			out.SlurmDown++
		case record.Busy:
			out.SlurmAllocated++
		case !record.Drain:
			out.SlurmIdle++
		}
	}
	out.UnavailableReplicas = max(0, out.Desired-out.AvailableReplicas)
	out.DrainingReplicas = int32(len(actions.Waits))
}

func incrementIf(to *int32, isSet bool) {
	if isSet {
		*to++
	}
}

func newCondition(kind string, status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func readyCondition(out *v1beta1.NodeSetStatus, s *observation, actions *plan.Actions) metav1.Condition {
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return newCondition(v1beta1.ConditionReady, status, reason, format, args...)
	}
	switch desired := s.desired.WorkerCount(); {
	case s.problem.reason != "":
		return say(metav1.ConditionFalse, s.problem.reason, "%s", s.problem.message)
	case s.slurm.ClusterMismatch != "":
		return say(metav1.ConditionFalse, v1beta1.ReasonOtherSlurmCluster, "%s; the operator changes nothing",
			s.slurm.ClusterMismatch)
	case !s.slurm.Known && int(out.Replicas) < desired:
		return say(metav1.ConditionUnknown, v1beta1.ReasonNotObserved,
			"%s; workers are created once Slurm has been read", s.slurm.Problem)
	case !s.slurm.Fresh:
		return say(metav1.ConditionUnknown, v1beta1.ReasonNotObserved, "%s", s.slurm.Problem)
	case len(s.slurm.OwnedByOthers) > 0:
		return say(metav1.ConditionFalse, v1beta1.ReasonSlurmNodesTaken, "%s; the operator does not change them",
			formatOwnedByOthers(s.slurm.OwnedByOthers))
	case actions.Available < desired:
		text := fmt.Sprintf("%d of %d workers are in service", actions.Available, desired)
		if len(actions.UnknownToSlurm) > 0 {
			text += fmt.Sprintf("; slurmd runs on %s, which Slurm does not list: it may have jobs that slurmctld lost, so delete the pod by hand once it has none", observed.CleanReason(hostlist.Compress(actions.UnknownToSlurm)))
		}
		if len(actions.OwnerUnknown) > 0 {
			text += fmt.Sprintf("; Slurm nodes %s respond and have no owner in their comment, so no worker is created with their names", observed.CleanReason(hostlist.Compress(actions.OwnerUnknown)))
		}
		return say(metav1.ConditionFalse, v1beta1.ReasonProgressing, "%s", text)
	case int(out.Replicas) > desired:
		return say(metav1.ConditionFalse, v1beta1.ReasonProgressing, "%s to be removed",
			formatWorkers(int(out.Replicas)-desired))
	default:
		return say(metav1.ConditionTrue, v1beta1.ReasonAvailable, "%d of %d workers are in service", actions.Available,
			desired)
	}
}

// drainingCondition reports what the first worker that is to be removed waits for.
func drainingCondition(s *observation, actions *plan.Actions) metav1.Condition {
	if len(actions.Waits) == 0 {
		if text := formatRefusals(s); text != "" {
			return newCondition(v1beta1.ConditionDraining, metav1.ConditionTrue, v1beta1.ReasonRecordsLeft, "%s", text)
		}
		return newCondition(v1beta1.ConditionDraining, metav1.ConditionFalse, v1beta1.ReasonNotDraining,
			"no worker is to be removed")
	}
	first, reason := actions.Waits[0], v1beta1.ReasonWaitingForSlurm
	for _, w := range actions.Waits {
		if w.Jobs > 0 {
			first, reason = w, v1beta1.ReasonWaitingForJobs
			break
		}
	}
	text := formatWait(first)
	if more := len(actions.Waits) - 1; more > 0 {
		text += fmt.Sprintf("; %d more wait", more)
	}
	return newCondition(v1beta1.ConditionDraining, metav1.ConditionTrue, reason, "%s", text)
}

// formatRefusals lists the records that Slurm refuses to delete, empty for none.
func formatRefusals(s *observation) string {
	var names []string
	for name := range s.expectations.refusedDeletions {
		if _, there := s.slurm.Records[name]; there {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	text := fmt.Sprintf("Slurm refuses to delete the record %s: %s", names[0],
		s.expectations.refusedDeletions[names[0]])
	if more := len(names) - 1; more > 0 {
		text += fmt.Sprintf("; %d more are refused", more)
	}
	return text
}

// formatWait describes a wait for people.
func formatWait(w plan.Wait) string {
	text := fmt.Sprintf("worker %s is to be removed (%s) and waits: %s", w.Pod, w.Cause, w.Message)
	switch {
	case w.Jobs == 0:
	case w.Until.IsZero():
		text += ", without a time limit"
	default:
		text += ", until " + w.Until.UTC().Format(time.RFC3339) + " at the latest"
	}
	return text
}

// updatedCondition is empty while the newest revision is not known.
func updatedCondition(s *observation, actions *plan.Actions) metav1.Condition {
	reason := v1beta1.ReasonUpdating
	switch strategy := s.nodeSet.Spec.UpdateStrategy; {
	case s.problem.reason != "", s.slurm.ClusterMismatch != "":
		return metav1.Condition{}
	case actions.Outdated == 0:
		return newCondition(v1beta1.ConditionUpdated, metav1.ConditionTrue, v1beta1.ReasonUpToDate,
			"every worker has revision %s", s.revision.Hash)
	case strategy.Type == v1beta1.UpdateOnDelete:
		reason = v1beta1.ReasonOnDelete
	case strategy.Paused:
		reason = v1beta1.ReasonUpdatePaused
	case strategy.Type == v1beta1.UpdateScheduled:
		reason = v1beta1.ReasonScheduled
	case neverUpdates(strategy):
		return newCondition(v1beta1.ConditionUpdated, metav1.ConditionFalse, v1beta1.ReasonUpdatePaused,
			"%s of an old revision, and rollingUpdate.maxUnavailable is 0", formatWorkers(actions.Outdated))
	}
	return newCondition(v1beta1.ConditionUpdated, metav1.ConditionFalse, reason, "%s of an old revision",
		formatWorkers(actions.Outdated))
}

// formatWorkers returns "1 worker is" or "n workers are".
func formatWorkers(n int) string {
	if n == 1 {
		return "1 worker is"
	}
	return fmt.Sprintf("%d workers are", n)
}

// submittableCondition is empty where it does not apply.
func submittableCondition(s *observation) metav1.Condition {
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return newCondition(v1beta1.ConditionSubmittable, status, reason, format, args...)
	}
	switch {
	case s.desired.PerKubeNode || s.desired.Deleting || s.problem.reason != "":
		return metav1.Condition{}
	case s.desired.MaxWorkers == nil:
		return say(metav1.ConditionFalse, v1beta1.ReasonNoMaximum,
			"neither spec.maxReplicas nor a HorizontalPodAutoscaler sets the maximum number of workers")
	case s.desired.SlurmName(0) == "":
		return say(metav1.ConditionFalse, v1beta1.ReasonNamesUnknown,
			"with hostNetwork workers are named after Kubernetes nodes")
	case !s.desired.CanCreateRecords:
		return say(metav1.ConditionFalse, v1beta1.ReasonShapeUnknown,
			"neither limits of spec.slurmd nor CPUs in spec.extraConf give the resources of a worker")
	case !s.slurm.Fresh:
		return say(metav1.ConditionUnknown, v1beta1.ReasonNotObserved, "%s", s.slurm.Problem)
	}
	missing := 0
	for i := range *s.desired.MaxWorkers {
		name := s.desired.SlurmName(i)
		if _, there := s.slurm.Records[name]; !there && s.slurm.OwnedByOthers[name] == "" {
			missing++
		}
	}
	switch {
	case missing > 0 && s.recordsProblem != "":
		return say(metav1.ConditionFalse, v1beta1.ReasonRecordsMissing, "%s", s.recordsProblem)
	case missing > 0:
		return say(metav1.ConditionFalse, v1beta1.ReasonRecordsMissing, "%d of %d records do not exist yet", missing,
			*s.desired.MaxWorkers)
	}
	text := fmt.Sprintf("Slurm accepts jobs for %d workers", *s.desired.MaxWorkers)
	if s.requestedMax != nil && int(*s.requestedMax) > *s.desired.MaxWorkers {
		text += fmt.Sprintf(": the operator keeps no more records, though the maximum is %d", *s.requestedMax)
	}
	return say(metav1.ConditionTrue, v1beta1.ReasonRecordsReady, "%s", text)
}

// Package status computes the status of a NodeSet from an observation. It is pure.
package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// Problem is why a NodeSet cannot be reconciled: reason and message of the condition Ready.
type Problem struct{ Reason, Message string }

// Observation is the input for the status of a NodeSet.
type Observation struct {
	NodeSet *v1beta1.NodeSet
	// ClusterRef is the name of its Controller or Cluster.
	ClusterRef string
	// ExternalController is true if the operator does not write the slurm.conf of the NodeSet's Controller.
	ExternalController bool
	Problem            Problem
	// Waiting is why no worker is created for now, empty for no reason that users must know.
	Waiting Problem
	// Revision is the hash of the newest revision. It is meaningless while a problem exists.
	Revision string
	Desired  plan.Desired
	// RequestedMax is the requested maximum of workers, which Desired.MaxWorkers may not reach.
	RequestedMax *int32
	Workers      []plan.Worker
	Slurm        plan.SlurmReading
	// RecordsProblem is why FUTURE records could not be created, empty if they could.
	RecordsProblem string
	// RecordsUnsupported is whether Slurm offers no way to create them here.
	RecordsUnsupported bool
	// RefusedDeletions is why records could not be deleted, by Slurm node.
	RefusedDeletions map[string]string
	// EndedPins are, by ordinal, the Kubernetes nodes where workers are no longer pinned because others have their names.
	EndedPins map[string]string
	// IgnoredFacts are the annotations that are ignored, by Kubernetes node.
	IgnoredFacts map[string][]string
	Avoiding     AvoidingWorkers
}

// AvoidingWorkers are pods that are not scheduled, and the Kubernetes nodes that they avoid because others have their names. Both are
// sorted.
type AvoidingWorkers struct{ Pods, KubeNodes []string }

// Of computes the status of a NodeSet. Conditions of other controllers, and the transition times of unchanged conditions, stay.
func Of(now time.Time, s *Observation, actions *plan.Actions) v1beta1.NodeSetStatus {
	out := *s.NodeSet.Status.DeepCopy()
	out.ObservedGeneration = s.NodeSet.Generation
	out.Selector = labels.Set(names.NodeSetSelector(s.NodeSet.Name, s.ClusterRef)).String()
	if s.Problem.Reason == "" {
		out.NodeSetHash = s.Revision
	}
	out.Desired = int32(s.Desired.WorkerCount())
	countWorkers(&out, now, s, actions)
	if s.Desired.PerKubeNode || s.Desired.Deleting {
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionSubmittable)
	}
	for _, c := range []metav1.Condition{readyCondition(&out, s, actions), drainingCondition(s, actions),
		updatedCondition(s, actions), submittableCondition(s)} {
		if c.Type != "" {
			v1beta1.SetCondition(&out.Conditions, c.Type, c, s.NodeSet.Generation, now)
		}
	}
	ignored := s.NodeSet.Spec.IgnoredFields()
	if s.ExternalController && s.NodeSet.Spec.HasSSH() {
		ignored = append(ignored, v1beta1.SSHNeedsContain())
	}
	v1beta1.SetFieldsIgnored(&out.Conditions, ignored, s.NodeSet.Generation, now)
	return out
}

// countWorkers counts the workers. Counts of Slurm states keep their values until Slurm is read.
func countWorkers(out *v1beta1.NodeSetStatus, now time.Time, s *Observation, actions *plan.Actions) {
	out.Replicas, out.UpdatedReplicas, out.ReadyReplicas, out.AvailableReplicas = 0, 0, 0, 0
	if s.Slurm.Known {
		out.SlurmIdle, out.SlurmAllocated, out.SlurmDown, out.SlurmDrain = 0, 0, 0, 0
	}
	for i := range s.Workers {
		w := &s.Workers[i]
		if !w.DeletedAt.IsZero() || w.Finished {
			continue
		}
		out.Replicas++
		incrementIf(&out.UpdatedReplicas, w.Revision == out.NodeSetHash)
		incrementIf(&out.ReadyReplicas, w.Ready)
		incrementIf(&out.AvailableReplicas, w.Ready && !now.Before(w.ReadySince.Add(s.Desired.MinReady)))
		record, known := s.Slurm.Records[w.SlurmName]
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

func readyCondition(out *v1beta1.NodeSetStatus, s *Observation, actions *plan.Actions) metav1.Condition {
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return newCondition(v1beta1.ConditionReady, status, reason, format, args...)
	}
	switch wanted := s.Desired.WorkerCount(); {
	case s.Problem.Reason != "":
		return say(metav1.ConditionFalse, s.Problem.Reason, "%s", s.Problem.Message)
	case s.Slurm.ClusterMismatch != "":
		return say(metav1.ConditionFalse, v1beta1.ReasonOtherSlurmCluster, "%s; the operator changes nothing",
			s.Slurm.ClusterMismatch)
	case !s.Slurm.Known && int(out.Replicas) < wanted:
		return say(metav1.ConditionUnknown, v1beta1.ReasonNotObserved,
			"%s; workers are created once Slurm has been read", s.Slurm.Problem)
	case !s.Slurm.Fresh:
		return say(metav1.ConditionUnknown, v1beta1.ReasonNotObserved, "%s", s.Slurm.Problem)
	case len(s.Slurm.OwnedByOthers) > 0:
		return say(metav1.ConditionFalse, v1beta1.ReasonSlurmNodesTaken, "%s; the operator does not change them",
			FormatOwnedByOthers(s.Slurm.OwnedByOthers))
	case s.Waiting.Reason != "" && actions.Available < wanted:
		return say(metav1.ConditionFalse, s.Waiting.Reason, "%s", s.Waiting.Message)
	case actions.Available < wanted:
		text := fmt.Sprintf("%d of %d workers are in service", actions.Available, wanted)
		if len(actions.UnknownToSlurm) > 0 {
			text += fmt.Sprintf("; slurmd runs on %s, which Slurm does not list: it may have jobs that slurmctld lost, so delete the pod by hand once it has none", observed.CleanReason(hostlist.Compress(actions.UnknownToSlurm)))
		}
		text += formatTakenNames(actions.Taken) + formatNamesakes(actions.Namesakes) +
			formatInvalidNames(actions.InvalidNames) + formatKeptNames(actions.KeptNames) +
			formatReserved(actions.Reserved, s.Desired.ReservedNames)
		text += formatLost(actions) + formatExcess(s) + formatEndedPins(s) + formatPinned(s.Workers) +
			formatAvoided(s.Avoiding) + formatIgnoredFacts(s)
		if len(actions.OwnerUnknown) > 0 {
			text += fmt.Sprintf("; Slurm nodes %s have no NodeSet in their comment, so no worker is created with their names", observed.CleanReason(hostlist.Compress(actions.OwnerUnknown)))
		}
		return say(metav1.ConditionFalse, v1beta1.ReasonProgressing, "%s", text)
	case int(out.Replicas) > wanted:
		return say(metav1.ConditionFalse, v1beta1.ReasonProgressing, "%s to be removed%s",
			formatWorkers(int(out.Replicas)-wanted), formatLost(actions)+formatTakenNames(actions.Taken))
	default:
		return say(metav1.ConditionTrue, v1beta1.ReasonAvailable, "%d of %d workers are in service%s", actions.Available,
			wanted, formatTakenNames(actions.Taken)+formatReserved(actions.Reserved, s.Desired.ReservedNames)+formatExcess(s)+formatIgnoredFacts(s))
	}
}

// formatLost reports the workers whose records Slurm lost, and the manual step for workers without an agent.
func formatLost(actions *plan.Actions) string {
	if len(actions.LostBySlurm) == 0 {
		return ""
	}
	text := fmt.Sprintf("; Slurm lost the records of workers %s, as after a restore of slurmctld's state: they stay, "+
		"since they may have jobs that slurmctld lost, and register again when these have ended",
		observed.CleanReason(hostlist.Compress(actions.LostBySlurm)))
	if len(actions.AskedByHand) > 0 {
		text += fmt.Sprintf("; %s have no slurm-agent, so run for each of them when its jobs have ended: "+
			"kubectl exec %s -c slurmd -- sh -c 'kill -HUP $(pidof slurmd)'",
			observed.CleanReason(hostlist.Compress(actions.AskedByHand)), actions.AskedByHand[0])
	}
	return text
}

// drainingCondition reports what the first worker to remove waits for.
func drainingCondition(s *Observation, actions *plan.Actions) metav1.Condition {
	if len(actions.Waits) == 0 {
		if s.Desired.Deleting && len(actions.Taken) > 0 {
			return newCondition(v1beta1.ConditionDraining, metav1.ConditionTrue, v1beta1.ReasonWaitingForJobs, "%s",
				strings.TrimPrefix(formatTakenNames(actions.Taken), "; "))
		}
		if text := cmp.Or(formatRefusals(s), formatKeptRecords(s, actions.KeptRecords),
			formatOldShapes(actions.OldShapes)); text != "" {
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
	text := FormatWait(first)
	if more := len(actions.Waits) - 1; more > 0 {
		text += fmt.Sprintf("; %d more wait", more)
	}
	return newCondition(v1beta1.ConditionDraining, metav1.ConditionTrue, reason, "%s", text)
}

// formatRefusals lists the records that could not be deleted, or returns an empty string.
func formatRefusals(s *Observation) string {
	var names []string
	for name := range s.RefusedDeletions {
		if _, there := s.Slurm.Records[name]; there {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	text := fmt.Sprintf("the record %s could not be deleted: %s", names[0],
		s.RefusedDeletions[names[0]])
	if more := len(names) - 1; more > 0 {
		text += fmt.Sprintf("; %d more could not be deleted", more)
	}
	return text
}

// FormatWait describes a wait for people.
func FormatWait(w plan.Wait) string {
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
func updatedCondition(s *Observation, actions *plan.Actions) metav1.Condition {
	reason := v1beta1.ReasonUpdating
	switch strategy := s.NodeSet.Spec.UpdateStrategy; {
	case s.Problem.Reason != "", s.Slurm.ClusterMismatch != "":
		return metav1.Condition{}
	case actions.Outdated == 0:
		return newCondition(v1beta1.ConditionUpdated, metav1.ConditionTrue, v1beta1.ReasonUpToDate,
			"every worker has revision %s", s.Revision)
	case strategy.Type == v1beta1.UpdateOnDelete:
		reason = v1beta1.ReasonOnDelete
	case strategy.Paused:
		reason = v1beta1.ReasonUpdatePaused
	case strategy.Type == v1beta1.UpdateScheduled:
		reason = v1beta1.ReasonScheduled
	case desired.NeverUpdates(strategy):
		return newCondition(v1beta1.ConditionUpdated, metav1.ConditionFalse, v1beta1.ReasonUpdatePaused,
			"%s of an old revision, and rollingUpdate.maxUnavailable is 0", formatWorkers(actions.Outdated))
	}
	text := formatWorkers(actions.Outdated) + " of an old revision"
	if kept := actions.WithoutSuccessor; len(kept) > 0 {
		text += fmt.Sprintf("; %s stays, because %s", observed.CleanReason(hostlist.Compress(kept)), actions.SuccessorProblem)
	}
	return newCondition(v1beta1.ConditionUpdated, metav1.ConditionFalse, reason, "%s", text)
}

// formatWorkers returns "1 worker is" or "n workers are".
func formatWorkers(n int) string {
	if n == 1 {
		return "1 worker is"
	}
	return fmt.Sprintf("%d workers are", n)
}

// FormatOwnedByOthers lists the Slurm nodes that belong to other NodeSets or are listed in slurm.conf.
func FormatOwnedByOthers(taken map[string]string) string {
	by := map[string][]string{}
	for name, owner := range taken {
		by[owner] = append(by[owner], name)
	}
	var out []string
	for _, owner := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[owner])
		out = append(out, fmt.Sprintf("Slurm nodes %s belong to %s", hostlist.Compress(by[owner]), owner))
	}
	return strings.Join(out, "; ")
}

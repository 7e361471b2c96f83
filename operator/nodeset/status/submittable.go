package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
)

// submittableCondition returns the condition, or an empty one where it does not apply.
func submittableCondition(s *Observation) metav1.Condition {
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return newCondition(v1beta1.ConditionSubmittable, status, reason, format, args...)
	}
	switch {
	case s.Desired.PerKubeNode || s.Desired.Deleting || s.Problem.Reason != "":
		return metav1.Condition{}
	case s.Desired.MaxWorkers == nil:
		return say(metav1.ConditionFalse, v1beta1.ReasonNoMaximum,
			"neither spec.maxReplicas nor a HorizontalPodAutoscaler sets the maximum number of workers")
	case s.Desired.SlurmName(0) == "":
		return say(metav1.ConditionFalse, v1beta1.ReasonNamesUnknown,
			"with hostNetwork workers are named after Kubernetes nodes")
	case !s.Desired.CanCreateRecords:
		return say(metav1.ConditionFalse, v1beta1.ReasonShapeUnknown,
			"neither limits of spec.slurmd nor CPUs in spec.extraConf give the resources of a worker")
	case !s.Slurm.Fresh:
		return say(metav1.ConditionUnknown, v1beta1.ReasonNotObserved, "%s", s.Slurm.Problem)
	}
	names := countNames(s)
	switch {
	case names.missing > 0 && names.recorded == 0 && s.RecordsProblem != "" && s.RecordsUnsupported:
		return say(metav1.ConditionFalse, v1beta1.ReasonRecordsUnsupported, "%s%s", s.RecordsProblem, untilRegistered)
	case names.missing > 0 && s.RecordsProblem != "":
		return say(metav1.ConditionFalse, v1beta1.ReasonRecordsMissing, "%s", s.RecordsProblem)
	case names.missing > 0:
		return say(metav1.ConditionFalse, v1beta1.ReasonRecordsMissing, "%d of %d records do not exist yet", names.missing,
			names.missing+names.recorded)
	case names.recorded == 0 && len(names.ofOthers) > 0:
		return say(metav1.ConditionFalse, v1beta1.ReasonRecordsMissing, "Slurm accepts jobs for no worker%s",
			formatReserved(names.ofOthers, names.owners))
	}
	text := fmt.Sprintf("Slurm accepts jobs for %d workers", names.recorded)
	if names.recorded == 1 {
		text = "Slurm accepts jobs for 1 worker"
	}
	switch most := *s.Desired.MaxWorkers; {
	case s.RequestedMax == nil || int(*s.RequestedMax) <= most:
	case most < desired.MaxRecords:
		text += fmt.Sprintf(": further ones would have names that are too long, though the maximum is %d", *s.RequestedMax)
	default:
		text += fmt.Sprintf(": the operator keeps no more records, though the maximum is %d", *s.RequestedMax)
	}
	return say(metav1.ConditionTrue, v1beta1.ReasonRecordsReady, "%s", text+formatReserved(names.ofOthers, names.owners))
}

// untilRegistered ends the message of RecordsUnsupported.
const untilRegistered = "; until a worker has registered, Slurm accepts no job"

// RecordsUnsupportedBecause returns the reason why records cannot be created, from the condition of a NodeSet, or "".
func RecordsUnsupportedBecause(n *v1beta1.NodeSet) string {
	c := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionSubmittable)
	if c == nil || c.Reason != v1beta1.ReasonRecordsUnsupported {
		return ""
	}
	return strings.TrimSuffix(c.Message, untilRegistered)
}

// possibleNames are the names of all possible workers: names with a record, names whose record is missing, and names of others,
// with their owners.
type possibleNames struct {
	recorded, missing int
	ofOthers          []string
	owners            map[string]string
}

// countNames counts the names of the workers up to the maximum. A worker may still have a name of others.
func countNames(s *Observation) possibleNames {
	out := possibleNames{owners: map[string]string{}}
	for i := range *s.Desired.MaxWorkers {
		name := s.Desired.SlurmName(i)
		record, there := s.Slurm.Records[name]
		owner := s.Slurm.OwnedByOthers[name]
		if owner == "" && (!there || record.Future) {
			owner = s.Desired.ReservedNames[name]
		}
		switch {
		case name == "":
		case owner != "":
			out.ofOthers, out.owners[name] = append(out.ofOthers, name), owner
		case there:
			out.recorded++
		default:
			out.missing++
		}
	}
	return out
}

package explain

import (
	"slices"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Job is the explanation of a job.
type Job struct {
	Namespace  string   `json:"namespace"`
	Cluster    string   `json:"cluster"`
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	User       string   `json:"user"`
	Partitions []string `json:"partitions"`
	State      string   `json:"state"`
	// Reason is why the job waits or how it ended, as queue and top jobs show it. Code is Slurm's code for it.
	Reason string `json:"reason,omitempty"`
	Code   string `json:"code,omitempty"`
	// ExitCode and ExitSignal are how a finished job ended.
	ExitCode   *uint64 `json:"exitCode,omitempty"`
	ExitSignal uint32  `json:"exitSignal,omitempty"`
	// Class is the class of the reason, derived from the whole record. Meaning describes the class.
	Class   pending.Class `json:"class,omitempty"`
	Meaning string        `json:"meaning,omitempty"`
	// Asks describes the requested resources.
	Asks string `json:"asks"`
	// Details are sentences about what the job waits for.
	Details []string `json:"details,omitempty"`
	// Help says whether more workers would help.
	Help    Help      `json:"moreWorkersHelp"`
	Serving []Serving `json:"nodeSets"`
	Gaps    []string  `json:"gaps,omitempty"`
}

// Help says whether more workers would help a job.
type Help string

// Whether more workers would help.
const (
	HelpYes Help = "yes"
	HelpNo  Help = "no"
	// HelpLater: only after another reason to wait has ended.
	HelpLater Help = "later"
	// HelpNotNeeded: the job does not wait.
	HelpNotNeeded Help = "not needed"
)

// Serving is a NodeSet of the job's cluster.
type Serving struct {
	NodeSet string `json:"nodeSet"`
	// Could is whether its workers could run the job. Why is why not.
	Could bool   `json:"could"`
	Why   string `json:"why,omitempty"`
	// Wanted is spec.replicas. Without and With are the numbers of required workers without the
	// job, and with the job if it were free to start.
	Wanted  int32  `json:"wanted"`
	Without uint64 `json:"requiredWithoutIt"`
	With    uint64 `json:"requiredWithIt"`
}

// OfJob explains a job. observed must contain the view, and j must be one of its jobs.
func OfJob(observed *Observation, namespace, cluster string, j *slurm.Job) Job {
	out := Job{
		Namespace: namespace, Cluster: cluster, ID: records.JobID(j), Name: j.Name, User: j.UserName(),
		Partitions: orEmpty(j.Partitions()), Serving: []Serving{},
		State: j.State.String(), Asks: describeRequest(j), Help: HelpNotNeeded, Gaps: slices.Clone(observed.Gaps),
	}
	if j.State.Base != slurm.JobPending {
		out.Details = describeRun(j)
		if j.State.Base.Finished() {
			if code, isKnown := j.ExitCode().Value(); isKnown {
				out.ExitCode = &code
			}
			out.ExitSignal = j.ExitSignal()
			out.Reason, out.Code = records.Reason(j), j.Reason
		}
		return out
	}
	out.Reason, out.Code = records.Reason(j), j.Reason
	now := slurm.At(observed.Now)
	out.Class = observed.classOf(cluster, now, j)
	out.Meaning = Meaning(out.Class, One)
	out.Details = describeWait(out.Class, now, j)
	out.Serving = orEmpty(observed.servingNodeSets(cluster, j))
	out.Help = judgeHelp(out.Class, out.Serving)
	return out
}

// classOf returns the class of the reason why the job waits, according to its record and the
// available workers.
func (s *Observation) classOf(cluster string, now slurm.Time, j *slurm.Job) pending.Class {
	class := pending.Classify(now, j)
	if class != pending.ClassCapacity {
		return class
	}
	if j.IsArray() && pending.RunnableTasks(j, s.runningTasks(j)) == 0 {
		return pending.ClassArrayThrottle
	}
	d := demand.Compute(s.Now, s.withOnlyPending(j).snapshot(s.Now), s.pools(cluster)...)
	for _, p := range j.Partitions() {
		if part, ok := d.Partition(p); ok && part.EligiblePendingJobs > 0 {
			return pending.ClassCapacity
		}
	}
	for _, p := range d.Pools {
		for _, class := range []pending.Class{pending.ClassUnsatisfiable, pending.ClassPartitionLimit} {
			if p.ByClass[class] > 0 {
				return class
			}
		}
	}
	if isPartitionClosed(d, j) {
		return pending.ClassPartitionLimit
	}
	return pending.ClassUnsatisfiable
}

// isPartitionClosed reports whether a partition of the job does not accept it.
func isPartitionClosed(d demand.Demand, j *slurm.Job) bool {
	for _, name := range j.Partitions() {
		part, ok := d.Partition(name)
		if ok && slices.ContainsFunc(part.PendingByReason,
			func(r demand.ReasonCount) bool { return r.Class == pending.ClassPartitionLimit }) {
			return true
		}
	}
	return false
}

// runningTasks returns the number of running tasks of the job's array.
func (s *Observation) runningTasks(j *slurm.Job) uint64 {
	var n uint64
	for _, other := range s.Slurm.Jobs {
		if other.ArrayJobID == j.ArrayJobID && other.State.Base == slurm.JobRunning {
			n++
		}
	}
	return n
}

func judgeHelp(class pending.Class, serving []Serving) Help {
	could := slices.ContainsFunc(serving, func(v Serving) bool { return v.Could })
	switch {
	case class == pending.ClassCapacity && could:
		return HelpYes
	case class == pending.ClassCapacity, class == pending.ClassUnsatisfiable, class == pending.ClassInvalid,
		class == pending.ClassPartitionLimit:
		return HelpNo
	case could:
		return HelpLater
	}
	return HelpNo
}

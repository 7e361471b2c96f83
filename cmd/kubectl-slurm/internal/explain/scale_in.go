package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ScaleIn lists the workers that a scale-in deletes.
type ScaleIn struct {
	// Going are the workers that were already chosen. Next are the workers that a lower number of
	// replicas would choose, in order.
	Going []Candidate `json:"going,omitempty"`
	Next  []Candidate `json:"next,omitempty"`
	// Order says what the order is based on.
	Order string `json:"order,omitempty"`
}

// Candidate is a worker that was or would be chosen.
type Candidate struct {
	Pod       string `json:"pod"`
	SlurmNode string `json:"slurmNode"`
	// State is such as idle, busy or down. Jobs is its number of jobs, Job the ID of the job that ends
	// last.
	State string `json:"state"`
	Jobs  int    `json:"jobs,omitempty"`
	Job   uint32 `json:"job,omitempty"`
	// Cause is why a chosen worker is deleted, Since when it was chosen.
	Cause string     `json:"cause,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	// Until is when the time limit of its last job ends, which is the latest time of its deletion.
	// It is nil if the worker is deleted at once or the time is unknown.
	Until *time.Time `json:"until,omitempty"`
	// Why is what the deletion waits for, or the policy that decides.
	Why string `json:"why"`
}

// maxNextCandidates limits ScaleIn.Next.
const maxNextCandidates = 5

// explainScaleIn lists the candidates according to the operator's rules.
func explainScaleIn(from *Observation, n *v1beta1.NodeSet, e *NodeSet) ScaleIn {
	if from.Pods == nil || n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet {
		return ScaleIn{}
	}
	look := newPlanInput(from, observed.FaultReasons(n))
	if problem := look.observed.Slurm.Problem; problem != "" {
		e.Gaps = append(e.Gaps, "which workers have work, so that the operator chooses none: "+problem)
	}
	out := ScaleIn{Order: look.order}
	byPod := map[string]*plan.Worker{}
	active := 0
	for i := range look.observed.Workers {
		w := &look.observed.Workers[i]
		byPod[w.Pod] = w
		if w.DeletedAt.IsZero() && !w.Finished {
			active++
		}
		if w.DrainMark.Cause != "" || !w.DeletedAt.IsZero() {
			out.Going = append(out.Going, look.candidate(from.Now, n, w))
		}
	}
	slices.SortFunc(out.Going, func(a, b Candidate) int { return strings.Compare(a.Pod, b.Pod) })
	listed := map[string]bool{}
	for replicas := min(active, int(max(0, e.Wanted))) - 1; replicas >= 0 &&
		len(out.Next) < maxNextCandidates; replicas-- {
		for _, pod := range chosenForScaleIn(from.Now, n, look.observed, replicas) {
			if w := byPod[pod]; !listed[pod] && w.DrainMark.Cause == "" && len(out.Next) < maxNextCandidates {
				out.Next = append(out.Next, look.candidate(from.Now, n, w))
			}
			listed[pod] = true
		}
	}
	return out
}

// chosenForScaleIn returns the pods that the operator would choose for the number of replicas.
func chosenForScaleIn(now time.Time, n *v1beta1.NodeSet, observed plan.Observation, replicas int) []string {
	wish := plan.Desired{
		UID: string(n.UID), Replicas: replicas, Revision: n.Status.NodeSetHash,
		SlurmName: func(int) string { return "" },
	}
	todo := plan.New(plan.DefaultConfig()).Plan(now, wish, observed)
	var out []string
	for _, w := range todo.Waits {
		if w.Cause == v1beta1.DrainCauseScaleIn {
			out = append(out, w.Pod)
		}
	}
	for _, s := range todo.Steps {
		if s.Verb == plan.DeletePod || s.Verb == plan.Annotate && s.DrainMark.Cause == v1beta1.DrainCauseScaleIn {
			out = append(out, s.Pod)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// planInput is the input of the operator's plan.
type planInput struct {
	observed plan.Observation
	order    string
	states   map[string]string
}

// newPlanInput converts pods and Slurm nodes to the input of the plan. Without the view, the states
// of Slurm nodes come from the pods' conditions. faults are the reasons of drains that end with a worker.
func newPlanInput(from *Observation, faults []string) planInput {
	l := planInput{states: map[string]string{}}
	l.observed.Slurm = plan.SlurmReading{
		Connected: true, Known: true, Fresh: true, Records: map[string]plan.Record{}, Work: map[string]occupancy.Work{},
		JobsReadAt: from.Now,
	}
	for i := range from.Pods {
		l.observed.Workers = append(l.observed.Workers, observed.Worker(&from.Pods[i], nil, nil))
	}
	if from.Slurm == nil {
		l.order = "by the pods' conditions, which do not include the idle time of workers"
		for i := range from.Pods {
			l.addPod(&from.Pods[i])
		}
		return l
	}
	l.order = "by what the view shows"
	for _, n := range from.Slurm.Nodes {
		record := observed.Record(n, isKubeNodeKnown, faults)
		record.OwnerUID = "" // an earlier NodeSet of the name may own it, which only the operator can tell
		l.observed.Slurm.Records[n.Name] = record
		l.states[n.Name] = n.State.Word()
		if n.State.Base != slurm.NodeFuture {
			l.observed.Slurm.TotalNodes++
		}
	}
	l.addWork(from.Slurm.Jobs)
	return l
}

// isKubeNodeKnown stands for the Kubernetes nodes, which the plugin does not read. They matter only
// to records without a worker.
func isKubeNodeKnown(string) bool { return true }

// addWork adds the work of Slurm nodes. If a job cannot be placed on its nodes, the operator knows the
// work of no node and chooses no worker.
func (l *planInput) addWork(jobs []*slurm.Job) {
	work, err := occupancy.ByNode(jobs)
	if err != nil {
		l.observed.Slurm.Known, l.observed.Slurm.Fresh, l.observed.Slurm.Problem = false, false, err.Error()
		return
	}
	l.observed.Slurm.Work = work
}

func (l *planInput) addPod(pod *corev1.Pod) {
	has := map[corev1.PodConditionType]bool{}
	for _, c := range pod.Status.Conditions {
		has[c.Type] = c.Status == corev1.ConditionTrue
	}
	name := observed.SlurmName(pod)
	r := plan.Record{
		Name: name, Dynamic: true, Drain: has[v1beta1.PodConditionDrain], Down: has[v1beta1.PodConditionDown] ||
			has[v1beta1.PodConditionNotResponding],
		Busy: !has[v1beta1.PodConditionIdle] && !has[v1beta1.PodConditionDown] || has[v1beta1.PodConditionCompleting],
	}
	l.states[name] = "busy"
	switch {
	case r.Down:
		l.states[name] = "down"
	case !r.Busy:
		l.states[name] = "idle"
	}
	l.observed.Slurm.Records[name] = r
	l.observed.Slurm.TotalNodes++
	if deadline, err := time.Parse(time.RFC3339, pod.Annotations[v1beta1.AnnotationPodDeadline]); err == nil && r.Busy {
		l.observed.Slurm.Work[name] = occupancy.Work{Jobs: 1, End: deadline}
	}
}

// candidate describes a chosen or next worker.
func (l *planInput) candidate(now time.Time, n *v1beta1.NodeSet, w *plan.Worker) Candidate {
	work := l.observed.Slurm.Work[w.SlurmName]
	c := Candidate{Pod: w.Pod, SlurmNode: w.SlurmName, State: l.states[w.SlurmName], Jobs: work.Jobs, Job: work.LastJob,
		Cause: w.DrainMark.Cause}
	if c.State == "" {
		c.State = "not registered"
	}
	if !w.DrainMark.Since.IsZero() {
		c.Since = &w.DrainMark.Since
	}
	record := l.observed.Slurm.Records[w.SlurmName]
	policy, known := n.Spec.DrainPolicy, l.observed.Slurm.Known
	switch {
	case !w.DeletedAt.IsZero():
		c.Why = "it is being deleted"
	case known && w.KubeNode == "":
		c.Why = "at once: it was never scheduled"
	case policy != nil && policy.Type == v1beta1.DrainForce:
		c.Why = "at once: the drain policy is Force"
	case known && work.Jobs == 0 && !record.Busy:
		c.Why = "at once: it has no work"
	case !known && (policy == nil || policy.Type != v1beta1.DrainTimeout):
		c.Why = "when the operator knows which nodes have work: " + l.observed.Slurm.Problem
	default:
		c.describeWait(now, policy, work, w)
	}
	return c
}

// describeWait says how long the deletion of a worker with work would wait.
func (c *Candidate) describeWait(now time.Time, policy *v1beta1.DrainPolicy, work occupancy.Work, w *plan.Worker) {
	c.Why = "when its work ends, which has no time limit"
	if !work.End.IsZero() {
		end := work.End.UTC().Truncate(time.Second)
		c.Until, c.Why = &end, "when its work ends, at its time limit at the latest"
	}
	if policy == nil || policy.Type != v1beta1.DrainTimeout || policy.Timeout == nil {
		return
	}
	since := w.DrainMark.Drained
	if since.IsZero() {
		since = now
	}
	if end := since.Add(policy.Timeout.Duration).UTC().Truncate(time.Second); c.Until == nil || end.Before(*c.Until) {
		c.Until, c.Why = &end, fmt.Sprintf("when its work ends, after the drain policy's timeout of %s at the latest",
			policy.Timeout.Duration)
	}
}

package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Node is the explanation of a Slurm node.
type Node struct {
	Namespace  string   `json:"namespace"`
	Cluster    string   `json:"cluster"`
	Name       string   `json:"name"`
	State      string   `json:"state"`
	States     []string `json:"states"`
	Partitions []string `json:"partitions"`
	// Meaning is what the state means for jobs.
	Meaning string `json:"meaning"`
	// Reason is why the node is drained or down, By who set it, and Since when.
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"reasonBy,omitempty"`
	Since  *time.Time `json:"reasonTime,omitempty"`
	// Pod is the worker pod, and NodeSet its NodeSet. They are empty for a node without a pod.
	Pod      string `json:"pod,omitempty"`
	NodeSet  string `json:"nodeSet,omitempty"`
	KubeNode string `json:"kubeNode,omitempty"`
	PodState string `json:"podState,omitempty"`
	// Details are sentences about the node, and Cures what would help.
	Details []string  `json:"details,omitempty"`
	Cures   []string  `json:"cures,omitempty"`
	Jobs    []NodeJob `json:"jobs"`
	Gaps    []string  `json:"gaps,omitempty"`
}

// NodeJob is a job on a node or in a partition.
type NodeJob struct {
	ID    string `json:"id"`
	User  string `json:"user"`
	Name  string `json:"name"`
	State string `json:"state"`
	Time  string `json:"time"`
	Where string `json:"nodeListOrReason"`
}

// OfNode explains a Slurm node. observed must contain the view; its pods are the pods of workers.
func OfNode(observed *Observation, namespace, cluster string, n *slurm.Node) Node {
	out := Node{Namespace: namespace, Cluster: cluster, Name: n.Name, State: n.State.Code(), States: n.State.Names(),
		Partitions: orEmpty(n.Partitions), Meaning: nodeMeaning(n.State), Reason: n.Reason, By: n.ReasonBy,
		Gaps: slices.Clone(observed.Gaps)}
	if n.ReasonAt.IsSet() {
		at := n.ReasonAt.Time().UTC()
		out.Since = &at
	}
	out.addPod(observed, n)
	out.Jobs = jobRows(observed.Now, observed.Slurm.Jobs, func(j *slurm.Job) bool {
		return !j.State.Base.Finished() && records.NodeSet(j.Nodes)[n.Name]
	})
	out.describe(observed.Now, n)
	return out
}

// addPod finds the worker pod of the node.
func (e *Node) addPod(observed *Observation, n *slurm.Node) {
	for i := range observed.Pods {
		pod := &observed.Pods[i]
		if cmp.Or(pod.Labels[v1beta1.LabelPodHostname], pod.Name) != n.Name || pod.Labels[v1beta1.LabelCluster] != e.Cluster {
			continue
		}
		e.Pod, e.NodeSet, e.KubeNode = pod.Name, pod.Labels[v1beta1.LabelAppInstance], pod.Spec.NodeName
		e.PodState = string(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			e.PodState = "Terminating"
		}
		return
	}
}

// nodeMeaning returns what a state means for jobs.
func nodeMeaning(s slurm.NodeState) string {
	switch {
	case s.Has(slurm.NodeInvalidReg):
		return "slurmctld refused its registration, and it gets no jobs"
	case s.Draining():
		return "its jobs continue, and it gets no new ones"
	case s.Has(slurm.NodeDrain):
		return "it has no jobs and gets none"
	case s.Base == slurm.NodeDown:
		return "it is down and gets no jobs"
	case s.Has(slurm.NodeFail):
		return "it is failing and gets no jobs"
	case s.Base == slurm.NodeFuture:
		return "it does not exist yet: a worker with its name may register"
	case s.Has(slurm.NodePoweredDown):
		return "it is powered down and starts when a job needs it"
	case s.Any(slurm.NodePoweringUp | slurm.NodePowerUp):
		return "it is starting"
	case s.Any(slurm.NodePoweringDown | slurm.NodePowerDown):
		return "it is being powered down"
	case s.Has(slurm.NodeMaintenance):
		return "a maintenance reservation has it"
	case s.Has(slurm.NodeReserved):
		return "only jobs of its reservation may use it"
	case s.Has(slurm.NodeCompleting):
		return "its last jobs are ending"
	case s.Base == slurm.NodeAllocated:
		return "jobs have all of its CPUs"
	case s.Base == slurm.NodeMixed:
		return "jobs have a part of it"
	case s.Base == slurm.NodeIdle:
		return "it is free for jobs"
	}
	return "slurmctld does not say more"
}

// describe adds the details and what would help.
func (e *Node) describe(now time.Time, n *slurm.Node) {
	add := func(list *[]string, format string, args ...any) { *list = append(*list, fmt.Sprintf(format, args...)) }
	if n.State.Has(slurm.NodeNotResponding) {
		add(&e.Details, "slurmctld gets no answer from its slurmd")
	}
	if n.Reservation != "" {
		add(&e.Details, "it is in the reservation %s", n.Reservation)
	}
	if n.ResumeAfter.IsSet() {
		add(&e.Details, "slurmctld resumes it at %s", formatTime(n.ResumeAfter))
	}
	if len(e.Jobs) == 0 && n.LastBusy.IsSet() && n.State.Base != slurm.NodeFuture {
		add(&e.Details, "it last had a job %s ago", duration.HumanDuration(max(0, now.Sub(n.LastBusy.Time()))))
	}
	drained := n.State.Has(slurm.NodeDrain)
	switch operator := strings.HasPrefix(n.Reason, v1beta1.DrainReasonPrefix); {
	case drained && operator && e.NodeSet != "":
		add(&e.Cures, "slurm-operator drained it and ends the drain itself; kubectl slurm explain nodeset %s says why", e.NodeSet)
	case drained && operator:
		add(&e.Cures, "slurm-operator drained it and ends the drain itself")
	case drained:
		add(&e.Cures, "scontrol update nodename=%s state=resume ends the drain, once its reason is gone", n.Name)
	case n.State.Base == slurm.NodeDown && e.Pod != "":
		add(&e.Cures, "see why slurmd does not run: kubectl logs --namespace %s %s", e.Namespace, e.Pod)
	case n.State.Base == slurm.NodeDown && n.State.Has(slurm.NodeNotResponding):
		add(&e.Cures, "start its slurmd: it then registers again")
	case n.State.Base == slurm.NodeDown:
		add(&e.Cures, "scontrol update nodename=%s state=resume ends the state, once its reason is gone", n.Name)
	}
}

// jobRows returns rows of selected jobs in the order of their IDs.
func jobRows(now time.Time, jobs []*slurm.Job, selected func(j *slurm.Job) bool) []NodeJob {
	out := []NodeJob{}
	for _, j := range jobs {
		if selected(j) {
			out = append(out, NodeJob{ID: records.JobID(j), User: j.UserName(), Name: j.Name, State: j.State.Code(),
				Time: records.FormatTime(j.RunTime(slurm.At(now))), Where: records.WhereOrWhy(j)})
		}
	}
	return out
}

func jobLines(jobs []NodeJob) [][]string {
	out := [][]string{{"JOBID", "USER", "NAME", "ST", "TIME", "NODELIST(REASON)"}}
	for i, j := range jobs {
		if i == maxJobLines {
			return append(out, []string{fmt.Sprintf("… and %d more", len(jobs)-i)})
		}
		out = append(out, []string{j.ID, j.User, table.Cut(j.Name, 20), j.State, j.Time, table.Cut(j.Where, 30)})
	}
	return out
}

// maxJobLines is how many jobs a text lists.
const maxJobLines = 15

// Write writes the explanation as text for people.
func (e *Node) Write(w io.Writer) error {
	var p textPage
	p.line("Node %s of Slurm cluster %s/%s: %s (%s)", e.Name, e.Namespace, e.Cluster, e.State, strings.Join(e.States, "+"))
	p.line("  %s", e.Meaning)
	if e.Reason != "" {
		who := ""
		if e.By != "" {
			who = ", set by " + e.By
		}
		if e.Since != nil {
			who += " at " + e.Since.Format(time.RFC3339)
		}
		p.line("  Slurm's reason: %s", e.Reason)
		p.line("    %s", strings.TrimPrefix(who, ", "))
	}
	if len(e.Partitions) > 0 {
		p.line("  partitions: %s", strings.Join(e.Partitions, ", "))
	}
	if e.Pod != "" {
		p.line("  worker pod: %s (%s) of NodeSet %s on Kubernetes node %s", e.Pod, e.PodState, e.NodeSet, cmp.Or(e.KubeNode, "<none>"))
	} else {
		p.line("  worker pod: none")
	}
	for _, d := range e.Details {
		p.line("  %s", d)
	}
	if len(e.Jobs) > 0 {
		p.rows("Jobs on the node", jobLines(e.Jobs))
	}
	p.list("What helps", e.Cures)
	p.list("Unknown", e.Gaps)
	return p.writeTo(w)
}

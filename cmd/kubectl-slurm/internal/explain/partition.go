package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/info"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Partition is the explanation of a partition.
type Partition struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Default   bool   `json:"default,omitempty"`
	// Meaning is what the state means for jobs.
	Meaning   string `json:"meaning"`
	TimeLimit string `json:"timeLimit"`
	// Limits are sentences about who may use it and how.
	Limits []string `json:"limits,omitempty"`
	// Nodes are the rows of sinfo, and Reasons why nodes get no jobs.
	Nodes   []info.Row `json:"nodes"`
	Reasons []info.Row `json:"reasons,omitempty"`
	// NodeSets are the NodeSets whose workers are in it.
	NodeSets []string `json:"nodeSets,omitempty"`
	// Running is the number of running jobs, and Waiting are the pending jobs by the class of their reasons.
	Running uint64    `json:"runningJobs"`
	Waiting []Waiting `json:"waiting"`
	Gaps    []string  `json:"gaps,omitempty"`
}

// OfPartition explains a partition. observed must contain the view; its pods are the pods of workers.
func OfPartition(observed *Observation, namespace, cluster string, p *slurm.Partition) Partition {
	out := Partition{Namespace: namespace, Cluster: cluster, Name: p.Name, State: string(p.State), Default: p.Default,
		Meaning: partitionMeaning(p.State), TimeLimit: records.FormatLimit(p.MaxTime), Limits: partitionLimits(p),
		Waiting: []Waiting{}, Gaps: slices.Clone(observed.Gaps)}
	c := info.Cluster{Namespace: namespace, Name: cluster, Nodes: observed.Slurm.Nodes, Partitions: []*slurm.Partition{p}}
	out.Nodes, out.Reasons = orEmpty(c.Rows(info.ByState, observed.Now.Location())), c.Rows(info.Reasons, observed.Now.Location())
	out.NodeSets = observed.nodeSetsIn(cluster, p.Name)
	counts := map[pending.Class]uint64{}
	for _, j := range observed.Slurm.Jobs {
		switch {
		case !slices.Contains(j.Partitions(), p.Name):
		case j.State.Base == slurm.JobRunning:
			out.Running++
		case j.State.Base == slurm.JobPending:
			tasks, _ := pending.CountTasks(j)
			counts[pending.Classify(slurm.At(observed.Now), j)] += max(1, tasks)
		}
	}
	for class, jobs := range counts {
		out.Waiting = append(out.Waiting, Waiting{Class: class, Jobs: jobs, Meaning: Meaning(class, Many)})
	}
	slices.SortFunc(out.Waiting, func(a, b Waiting) int { return strings.Compare(string(a.Class), string(b.Class)) })
	return out
}

// nodeSetsIn returns the NodeSets with a node in a partition, by the pods of the workers.
func (s *Observation) nodeSetsIn(cluster, partition string) []string {
	var out []string
	for _, n := range s.Slurm.Nodes {
		if !slices.Contains(n.Partitions, partition) {
			continue
		}
		e := Node{Cluster: cluster}
		if e.addPod(s, n); e.NodeSet != "" && !slices.Contains(out, e.NodeSet) {
			out = append(out, e.NodeSet)
		}
	}
	slices.Sort(out)
	return out
}

func partitionMeaning(s slurm.PartitionState) string {
	switch s {
	case slurm.PartitionUp:
		return "it accepts and starts jobs"
	case slurm.PartitionDown:
		return "it accepts jobs but starts none"
	case slurm.PartitionDrain:
		return "it accepts no jobs; those that it has continue and may start"
	case slurm.PartitionInactive:
		return "it neither accepts nor starts jobs"
	}
	return "slurmctld does not say more"
}

// partitionLimits describes who may use a partition and how.
func partitionLimits(p *slurm.Partition) []string {
	var out []string
	for _, text := range []struct{ format, value string }{
		{"only the accounts %s", p.AllowAccounts}, {"not the accounts %s", p.DenyAccounts}, {"only the groups %s", p.AllowGroups},
		{"only the QOS %s", p.AllowQOS}, {"not the QOS %s", p.DenyQOS}, {"the limits of the QOS %s", p.QOS},
	} {
		if text.value != "" {
			out = append(out, fmt.Sprintf(text.format, text.value))
		}
	}
	if n, ok := p.MaxNodes.Value(); ok {
		out = append(out, fmt.Sprintf("at most %d nodes for a job", n))
	}
	return out
}

// Write writes the explanation as text for people.
func (e *Partition) Write(w io.Writer) error {
	var p textPage
	name := e.Name
	if e.Default {
		name += " (the default)"
	}
	p.line("Partition %s of Slurm cluster %s/%s: %s", name, e.Namespace, e.Cluster, strings.ToLower(e.State))
	p.line("  %s", e.Meaning)
	p.line("  time limit: %s", e.TimeLimit)
	for _, limit := range e.Limits {
		p.line("  %s", limit)
	}
	if len(e.NodeSets) > 0 {
		p.line("  NodeSets: %s", strings.Join(e.NodeSets, ", "))
	}
	rows := [][]string{{"NODES", "STATE", "NODELIST"}}
	for _, r := range e.Nodes {
		rows = append(rows, []string{r.Nodes, r.State, r.NodeList})
	}
	p.rows("Nodes", rows)
	if len(e.Reasons) > 0 {
		rows := [][]string{{"REASON", "SET BY", "AT", "NODELIST"}}
		for _, r := range e.Reasons {
			rows = append(rows, []string{table.Cut(r.Reason, 30), r.User, r.Time, r.NodeList})
		}
		p.rows("Why nodes get no jobs", rows)
	}
	p.line("")
	p.line("%s running", countNoun(&e.Running, "job"))
	if len(e.Waiting) > 0 {
		p.rows("Pending jobs", waitingRows(e.Waiting))
	}
	p.list("Unknown", e.Gaps)
	return p.writeTo(w)
}

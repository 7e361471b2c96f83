package explain

import (
	"cmp"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// NodeSet is the explanation of a NodeSet.
type NodeSet struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster"`
	// Wanted is spec.replicas, Present the number of workers, and Ready the number of ready
	// workers.
	Wanted  int32 `json:"wanted"`
	Present int32 `json:"present"`
	Ready   int32 `json:"ready"`

	// Need is how the number of required workers is computed.
	Need Need `json:"need"`
	// Waiting counts the pending jobs of the NodeSet's partitions by class. It is nil without the
	// view.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Unsatisfiable are jobs that the NodeSet could not run with all its workers.
	Unsatisfiable []demand.Unsatisfiable `json:"unsatisfiable,omitempty"`
	// Autoscaler is nil for none or several.
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	// Blocks are sentences about what keeps the number of workers from the required number.
	Blocks  []string `json:"blocks"`
	ScaleIn ScaleIn  `json:"scaleIn"`
	// Gaps are sentences about what is unknown.
	Gaps []string `json:"gaps,omitempty"`
}

// Need contains the parts of the number of required workers. Unknown parts are nil.
type Need struct {
	Busy *uint64 `json:"busy"`
	// IdleClaimed and BootingClaimed are workers that pending jobs will use. Grace are idle workers
	// that count as required during the idle grace.
	IdleClaimed    *uint64 `json:"idleClaimed"`
	Grace          *uint64 `json:"grace"`
	BootingClaimed *uint64 `json:"bootingClaimed"`
	// Kept is the sum of BootingClaimed and the larger of IdleClaimed and Grace.
	Kept         *uint64 `json:"kept"`
	Pending      *uint64 `json:"pending"`
	Replacements *uint64 `json:"replacements"`
	// Least is the least number of required workers, which does not come from jobs. It is 1 while Slurm accepts no job
	// for the NodeSet until a worker has registered, else 0.
	Least    uint64  `json:"least,omitempty"`
	Min      *int32  `json:"min"`
	Max      *int32  `json:"max"`
	Required *uint64 `json:"required"`

	Idle     *uint64 `json:"idle"`
	Booting  *uint64 `json:"booting"`
	Unusable *uint64 `json:"unusable"`
	// UnsatisfiableJobs counts jobs that create no demand because they could never run.
	UnsatisfiableJobs *uint64 `json:"unsatisfiableJobs"`
}

// Waiting is the number of pending jobs of one class.
type Waiting struct {
	Class   pending.Class `json:"class"`
	Jobs    uint64        `json:"jobs"`
	Meaning string        `json:"meaning"`
}

// Autoscaler is the HPA of a NodeSet.
type Autoscaler struct {
	Name       string      `json:"name"`
	Min        int32       `json:"min"`
	Max        int32       `json:"max"`
	Current    int32       `json:"current"`
	Desired    int32       `json:"desired"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is a condition of an HPA.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// OfNodeSet explains the NodeSet with the name. It returns false if observed does not contain the
// NodeSet.
func OfNodeSet(observed *Observation, name string) (NodeSet, bool) {
	n := observed.nodeSet(name)
	if n == nil {
		return NodeSet{}, false
	}
	table := top.NodeSets(top.OneNamespace, []v1beta1.NodeSet{*n}, observed.Autoscalers, map[string]top.Numbers{
		metricsapi.PoolName(n.Namespace, n.Name): observed.Numbers[n.Name],
	})
	row := table.Rows[0]
	out := NodeSet{
		Namespace: n.Namespace, Name: n.Name, Cluster: row.Cluster, Wanted: row.Replicas, Present: n.Status.Replicas,
		Ready: row.Ready,
		Need: Need{
			Busy: row.Busy, Pending: row.Pending, Idle: row.Idle, Booting: row.Booting, Unusable: row.Unusable,
			Required: row.Required, UnsatisfiableJobs: row.Unsatisfiable, Min: row.Min, Max: row.Max,
			Grace:        observed.Numbers[n.Name].Of("slurm_nodeset_grace_nodes"),
			Replacements: observed.Numbers[n.Name].Of("slurm_nodeset_replacement_nodes"),
		},
		Gaps: slices.Clone(observed.Gaps),
	}
	pool := observed.pool(n)
	out.Need.Least = pool.Min
	out.Need.splitClaimed(observed.Numbers[n.Name], pool.Max)
	out.addJobs(observed, n)
	out.Autoscaler = autoscalerOf(observed.autoscaler(n))
	out.ScaleIn = explainScaleIn(observed, n, &out)
	out.Blocks = orEmpty(findBlocks(observed, n, &out))
	return out, true
}

// NodeSetMetrics are the metrics that the explanation of a NodeSet uses.
func NodeSetMetrics() []string {
	return append(top.NodeSetMetrics(), "slurm_nodeset_claimed_nodes", "slurm_nodeset_grace_nodes", "slurm_nodeset_replacement_nodes")
}

// JobMetrics are the metrics of NodeSets that the explanation of a job uses.
func JobMetrics() []string { return []string{idleGraceMetric} }

// addJobs counts the pending jobs of the view by the adapter's rules. The idle grace does not matter to them.
func (e *NodeSet) addJobs(observed *Observation, n *v1beta1.NodeSet) {
	if observed.Slurm == nil {
		return
	}
	d := demand.Compute(observed.Now, observed.Slurm.snapshot(observed.Now), observed.pools(e.Cluster)...)
	p, _ := d.Pool(metricsapi.PoolName(n.Namespace, n.Name))
	for _, class := range pending.Classes() {
		if jobs := p.ByClass[class]; jobs > 0 {
			e.Waiting = append(e.Waiting, Waiting{class, jobs, Meaning(class, Many)})
		}
	}
	e.Unsatisfiable = p.Unsatisfiable
}

// splitClaimed splits the claimed workers into idle and booting ones, and computes the kept ones. Both are known only
// if the sum of all parts is the required number: the metrics are read one by one, and a job may name a worker.
func (e *Need) splitClaimed(numbers top.Numbers, most uint64) {
	claimed := numbers.Of("slurm_nodeset_claimed_nodes")
	for _, part := range []*uint64{e.Busy, e.Idle, e.Pending, e.Replacements, e.Grace, e.Required, claimed} {
		if part == nil {
			return
		}
	}
	idle := min(*claimed, *e.Idle) // jobs claim idle workers before booting ones
	booting := *claimed - idle
	kept := max(idle, *e.Grace) + booting
	sum := *e.Busy + kept + *e.Pending + *e.Replacements
	sum = max(sum, e.Least)
	if most > 0 {
		sum = max(min(sum, most), *e.Busy)
	}
	if sum == *e.Required {
		e.IdleClaimed, e.BootingClaimed, e.Kept = &idle, &booting, &kept
	}
}

func autoscalerOf(h *autoscalingv2.HorizontalPodAutoscaler) *Autoscaler {
	if h == nil {
		return nil
	}
	out := &Autoscaler{Name: h.Name, Min: scaling.MinReplicas(h), Max: h.Spec.MaxReplicas,
		Current: h.Status.CurrentReplicas,
		Desired: h.Status.DesiredReplicas}
	for _, c := range h.Status.Conditions {
		out.Conditions = append(out.Conditions, Condition{string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	slices.SortFunc(out.Conditions, func(a, b Condition) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

package explain

import (
	"cmp"
	"fmt"
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
	Min          *int32  `json:"min"`
	Max          *int32  `json:"max"`
	Required     *uint64 `json:"required"`

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
		},
		Gaps: slices.Clone(observed.Gaps),
	}
	out.Need.fillZeros()
	out.splitNeed(observed, n)
	out.Autoscaler = autoscalerOf(observed.autoscaler(n))
	out.ScaleIn = explainScaleIn(observed, n, &out)
	out.Blocks = findBlocks(observed, n, &out)
	return out, true
}

// splitNeed computes the parts of the number from the view.
func (e *NodeSet) splitNeed(observed *Observation, n *v1beta1.NodeSet) {
	if observed.Slurm == nil {
		return
	}
	d := demand.Compute(observed.Now, observed.Slurm.snapshot(observed.Now), observed.pools(e.Cluster)...)
	p, ok := d.Pool(metricsapi.PoolName(n.Namespace, n.Name))
	if !ok {
		return
	}
	for _, class := range pending.Classes() {
		if jobs := p.ByClass[class]; jobs > 0 {
			e.Waiting = append(e.Waiting, Waiting{class, jobs, Meaning(class, Many)})
		}
	}
	e.Unsatisfiable = p.Unsatisfiable
	if why := e.Need.describeDifference(&p); why != "" {
		e.Gaps = append(e.Gaps, fmt.Sprintf("the view and the metrics differ (%s): they were read at different "+
			"times, the view hides jobs from you, or it lacks data such as reservations; the parts of the number "+
			"are unknown", why))
		return
	}
	e.Need.fillParts(&p, observed.pool(n))
}

// describeDifference describes where the adapter's numbers differ from those of the view, empty if
// nowhere. Unknown numbers do not differ.
func (e *Need) describeDifference(p *demand.PoolDemand) string {
	for _, pair := range []struct {
		what     string
		metric   *uint64
		computed uint64
	}{
		{"required", e.Required, p.Required}, {"busy", e.Busy, p.Busy}, {"pending", e.Pending, p.Pending},
		{"idle", e.Idle, p.Idle}, {"booting", e.Booting, p.Booting}, {"unusable", e.Unusable, p.Unusable},
	} {
		if pair.metric != nil && *pair.metric != pair.computed {
			return fmt.Sprintf("%s %d, not %d", pair.what, pair.computed, *pair.metric)
		}
	}
	return ""
}

// fillZeros sets the parts that are zero because their total is zero.
func (e *Need) fillZeros() {
	none := new(uint64)
	is := func(n *uint64) bool { return n != nil && *n == 0 }
	if is(e.Idle) {
		e.IdleClaimed, e.Grace = none, none
	}
	if is(e.Booting) {
		e.BootingClaimed = none
	}
	if is(e.Idle) && is(e.Booting) {
		e.Kept = none
	}
	if is(e.Unusable) {
		e.Replacements = none
	}
}

// fillParts sets the parts that have no metric. The numbers of claimed idle and of claimed booting
// nodes are known only if their sum matches the required workers.
func (e *Need) fillParts(p *demand.PoolDemand, pool demand.Pool) {
	e.Busy, e.Idle, e.Booting, e.Unusable = &p.Busy, &p.Idle, &p.Booting, &p.Unusable
	e.Pending, e.Required, e.Grace, e.Replacements = &p.Pending, &p.Required, &p.Grace, &p.Replacements
	var idle, booting uint64
	switch {
	case p.Booting == 0 || p.Claimed == 0:
		idle = p.Claimed
	case p.Idle == 0:
		booting = p.Claimed
	default: // jobs claim idle nodes before booting ones
		idle = min(p.Claimed, p.Idle)
		booting = p.Claimed - idle
	}
	if kept := max(idle, p.Grace) + booting; clampRequired(p.Busy+kept+p.Pending+p.Replacements, p,
		pool) == p.Required {
		e.IdleClaimed, e.BootingClaimed, e.Kept = &idle, &booting, &kept
	}
}

// clampRequired applies the bounds of the pool to the needed workers.
func clampRequired(sum uint64, p *demand.PoolDemand, pool demand.Pool) uint64 {
	out := max(sum, pool.Min)
	if pool.Max > 0 {
		out = max(min(out, pool.Max), p.Busy)
	}
	return out
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

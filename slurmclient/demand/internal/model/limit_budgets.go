package model

import (
	"math"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// unlimited is the value of a limit that is not set.
const unlimited = math.MaxUint64

// The positions in a cost that every cluster has. The TRES of the cluster's limits follow.
const (
	costJobs = iota
	// costMilliNodes is thousandths of nodes. Slurm counts a node once, however many jobs are on
	// it, so a job that shares its nodes costs the part of them that it allocates.
	costMilliNodes
	costNodes
	costOthers
)

// costIndex maps the TRES that limits count to positions in a cost.
type costIndex struct {
	positions map[string]int
	// LimitsNodes is whether a limit counts nodes.
	LimitsNodes bool
	maxCPUs     uint64 // the most CPUs of any existing or future node, 0 when unknown
	cache       map[costKey][]uint64
}

// costKey is the part of a job record that determines its cost.
type costKey struct {
	tres, licenses string
	CPUs, nodes    uint64
	exclusive      bool
}

func newCostIndex() costIndex {
	return costIndex{positions: map[string]int{"node": costNodes}, cache: map[costKey][]uint64{}}
}

// addTRES assigns a position to each TRES of the limits.
func (s *costIndex) addTRES(limits ...map[string]uint64) {
	for _, limit := range limits {
		for name := range limit {
			if _, ok := s.positions[name]; !ok {
				s.positions[name] = costOthers - 1 + len(s.positions)
			}
		}
	}
}

// size returns the number of positions in a cost.
func (s *costIndex) size() int { return costOthers - 1 + len(s.positions) }

// boundsOf returns a limit as the maximum at each position. A limit of nodes bounds costMilliNodes.
func (s *costIndex) boundsOf(jobs slurm.Number, tres map[string]uint64) []uint64 {
	out := make([]uint64, s.size())
	for i := range out {
		out[i] = unlimited
	}
	out[costJobs] = jobs.Or(unlimited)
	for name, most := range tres {
		out[s.positions[name]] = most
		if name == "node" {
			out[costNodes], out[costMilliNodes] = unlimited, saturating.Mul(most, 1000)
			s.LimitsNodes = true
		}
	}
	return out
}

// costOf returns what one job of the record costs, by its requested or allocated TRES. Callers do
// not write to the result.
func (s *costIndex) costOf(j *slurm.Job, tres string) []uint64 {
	text := costKey{tres: tres, licenses: j.Licenses(), CPUs: j.CPUs.Or(0), nodes: j.NodeCount.Or(1),
		exclusive: isExclusive(j.Shared())}
	cost, ok := s.cache[text]
	if !ok {
		cost = s.computeCost(text)
		s.cache[text] = cost
	}
	return cost
}

func (s *costIndex) computeCost(text costKey) []uint64 {
	out := make([]uint64, s.size())
	t, _ := slurm.ParseTRES(text.tres) // malformed text costs nothing
	cpus, nodes := max(t.CPUs, text.CPUs), max(t.Nodes, text.nodes, 1)
	out[costJobs], out[costNodes], out[costMilliNodes] = 1, nodes, saturating.Mul(nodes, 1000)
	if s.maxCPUs > 0 {
		milliNodes := max(1, saturating.Mul(cpus, 1000)/s.maxCPUs)
		if text.exclusive {
			milliNodes = max(saturating.Mul(nodes, 1000), saturating.Mul(DivideUp(cpus, s.maxCPUs), 1000))
		}
		out[costMilliNodes] = milliNodes
	}
	put := func(name string, count uint64) {
		if at, ok := s.positions[name]; ok {
			out[at] = max(out[at], count)
		}
	}
	put("cpu", cpus)
	put("mem", t.MemoryMiB)
	put("billing", t.Billing)
	for name, count := range t.GRES {
		put("gres/"+name, count)
	}
	for name, count := range parseLicenses(text.licenses) {
		put("license/"+name, count)
	}
	return out
}

// parseLicenses parses "matlab:2,ansys". It returns nil for alternatives ("a|b").
func parseLicenses(text string) map[string]uint64 {
	if text == "" || strings.Contains(text, "|") {
		return nil
	}
	out, err := slurm.ParseGRES(text)
	if err != nil {
		return nil
	}
	return out
}

func isExclusive(shared string) bool {
	return strings.Contains(shared, "none") || strings.Contains(shared, "topo")
}

// budget is the unused rest of one limit.
type budget struct {
	remaining []uint64
	usedNodes map[string]bool // of the running jobs under the limit
	// milliNodes is the initial value of costMilliNodes, where that is limited.
	milliNodes uint64
}

// chargeRunning subtracts a running job from the budget.
func (b *budget) chargeRunning(j *slurm.Job, cost []uint64) {
	for i, x := range cost {
		if b.remaining[i] != unlimited && i != costMilliNodes {
			b.remaining[i] = saturating.Sub(b.remaining[i], x)
		}
	}
	if b.remaining[costMilliNodes] == unlimited {
		return
	}
	for _, name := range expandHostlist(j.Nodes) {
		if !b.usedNodes[name] {
			if b.usedNodes == nil {
				b.usedNodes = map[string]bool{}
			}
			b.usedNodes[name] = true
			b.remaining[costMilliNodes] = saturating.Sub(b.remaining[costMilliNodes], 1000)
		}
	}
}

// sharedLimit is a budget and the positions at which it limits jobs. At the other positions another limit takes
// precedence, and the budget only counts the usage.
type sharedLimit struct {
	*budget
	binds []bool
	class pending.Class
}

func (d *sharedLimit) limitsNodes() bool {
	return d.binds[costMilliNodes] && d.remaining[costMilliNodes] != unlimited
}

// fitsNodes reports whether the limit allows one job with that many nodes if no other job runs.
func (d *sharedLimit) fitsNodes(nodes uint64) bool {
	return !d.limitsNodes() || saturating.Mul(nodes, 1000) <= d.milliNodes
}

// CountAllowed returns how many of the jobs with the cost the budget still allows.
func (d *sharedLimit) countAllowed(cost []uint64, jobs uint64) uint64 {
	for i, x := range cost {
		if x > 0 && d.binds[i] && d.remaining[i] != unlimited {
			jobs = min(jobs, d.remaining[i]/x)
		}
	}
	return jobs
}

// charge subtracts that many jobs of the cost from the budget.
func (d *sharedLimit) charge(cost []uint64, jobs uint64) {
	for i, x := range cost {
		if d.remaining[i] != unlimited {
			d.remaining[i] = saturating.Sub(d.remaining[i], saturating.Mul(x, jobs))
		}
	}
}

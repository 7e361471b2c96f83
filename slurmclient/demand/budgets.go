package demand

import (
	"math"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// unlimited is the value of a limit that is not set.
const unlimited = math.MaxUint64

// The positions in a cost that every cluster has. The TRES of the cluster's limits follow.
const (
	costJobs = iota
	// costMilliNodes is thousandths of nodes. Slurm counts a node once, however many jobs are on
	// it, so a job that shares its nodes costs the part of them that it allocates.
	costNodeParts
	costNodes
	costOthers
)

// costIndex maps the TRES that limits count to positions in a cost.
type scale struct {
	places map[string]int
	// limitsNodes is whether a limit counts nodes.
	limitsNodes bool
	maxCPUs     uint64 // the most CPUs of any existing or future node, 0 when unknown
	costs       map[costText][]uint64
}

// costKey is the part of a job record that determines its cost.
type costText struct {
	tres, licenses string
	cpus, nodes    uint64
	whole          bool
}

func newScale() scale {
	return scale{places: map[string]int{"node": costNodes}, costs: map[costText][]uint64{}}
}

// addTRES assigns a position to each TRES of the limits.
func (s *scale) know(limits ...map[string]uint64) {
	for _, limit := range limits {
		for name := range limit {
			if _, ok := s.places[name]; !ok {
				s.places[name] = costOthers - 1 + len(s.places)
			}
		}
	}
}

// size returns the number of positions in a cost.
func (s *scale) size() int { return costOthers - 1 + len(s.places) }

// boundsOf returns a limit as the maximum at each position. A limit of nodes bounds costMilliNodes.
func (s *scale) bounds(jobs slurm.Number, tres map[string]uint64) []uint64 {
	out := make([]uint64, s.size())
	for i := range out {
		out[i] = unlimited
	}
	out[costJobs] = jobs.Or(unlimited)
	for name, most := range tres {
		out[s.places[name]] = most
		if name == "node" {
			out[costNodes], out[costNodeParts] = unlimited, times(most, 1000)
			s.limitsNodes = true
		}
	}
	return out
}

// costOf returns what one job of the record costs, by its requested or allocated TRES. Callers do
// not write to the result.
func (s *scale) costOf(j *slurm.Job, tres string) []uint64 {
	text := costText{tres: tres, licenses: j.Licenses, cpus: j.CPUs.Or(0), nodes: j.NodeCount.Or(1),
		whole: wholeNodes(j.Shared)}
	cost, ok := s.costs[text]
	if !ok {
		cost = s.read(text)
		s.costs[text] = cost
	}
	return cost
}

func (s *scale) read(text costText) []uint64 {
	out := make([]uint64, s.size())
	t, _ := slurm.ParseTRES(text.tres) // malformed text costs nothing
	cpus, nodes := max(t.CPUs, text.cpus), max(t.Nodes, text.nodes, 1)
	out[costJobs], out[costNodes], out[costNodeParts] = 1, nodes, times(nodes, 1000)
	if s.maxCPUs > 0 {
		milliNodes := max(1, times(cpus, 1000)/s.maxCPUs)
		if text.whole {
			milliNodes = max(times(nodes, 1000), times(share(cpus, s.maxCPUs), 1000))
		}
		out[costNodeParts] = milliNodes
	}
	put := func(name string, count uint64) {
		if at, ok := s.places[name]; ok {
			out[at] = max(out[at], count)
		}
	}
	put("cpu", cpus)
	put("mem", t.MemoryMiB)
	put("billing", t.Billing)
	for name, count := range t.GRES {
		put("gres/"+name, count)
	}
	for name, count := range readLicenses(text.licenses) {
		put("license/"+name, count)
	}
	return out
}

// parseLicenses parses "matlab:2,ansys". It returns nil for alternatives ("a|b").
func readLicenses(text string) map[string]uint64 {
	if text == "" || strings.Contains(text, "|") {
		return nil
	}
	out, err := slurm.ParseGRES(text)
	if err != nil {
		return nil
	}
	return out
}

func wholeNodes(shared string) bool {
	return strings.Contains(shared, "none") || strings.Contains(shared, "topo")
}

// budget is what can still be used under one limit.
type budget struct {
	left  []uint64
	nodes map[string]bool // of the running jobs under the limit
	// milliNodes is the initial value of costMilliNodes, where that is limited.
	nodeParts uint64
}

// chargeRunning subtracts a running job from the budget.
func (b *budget) use(j *slurm.Job, cost []uint64) {
	for i, x := range cost {
		if b.left[i] != unlimited && i != costNodeParts {
			b.left[i] = less(b.left[i], x)
		}
	}
	if b.left[costNodeParts] == unlimited {
		return
	}
	for _, name := range expand(j.Nodes) {
		if !b.nodes[name] {
			if b.nodes == nil {
				b.nodes = map[string]bool{}
			}
			b.nodes[name] = true
			b.left[costNodeParts] = less(b.left[costNodeParts], 1000)
		}
	}
}

// sharedLimit is a budget and the positions at which it limits jobs. At the other positions another
// limit takes precedence, and the budget only counts.
type draw struct {
	*budget
	binds []bool
	class Class
}

func (d *draw) limitsNodes() bool {
	return d.binds[costNodeParts] && d.left[costNodeParts] != unlimited
}

// fitsNodes reports whether the limit allows one job with that many nodes if no other job runs.
func (d *draw) holdsNodes(nodes uint64) bool {
	return !d.limitsNodes() || times(nodes, 1000) <= d.nodeParts
}

// countAllowed returns how many of the jobs with the cost the budget still allows.
func (d *draw) allows(cost []uint64, jobs uint64) uint64 {
	for i, x := range cost {
		if x > 0 && d.binds[i] && d.left[i] != unlimited {
			jobs = min(jobs, d.left[i]/x)
		}
	}
	return jobs
}

// charge subtracts that many jobs of the cost from the budget.
func (d *draw) take(cost []uint64, jobs uint64) {
	for i, x := range cost {
		if d.left[i] != unlimited {
			d.left[i] = less(d.left[i], times(x, jobs))
		}
	}
}

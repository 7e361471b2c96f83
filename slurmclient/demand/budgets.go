package demand

import (
	"math"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// unlimited is a limit that is none.
const unlimited = math.MaxUint64

// The places in a cost that every cluster has. Others follow, by Slurm's names of TRES.
const (
	costJobs = iota
	// costNodeParts is thousandths of nodes. Slurm counts a node once, however many jobs
	// are on it, so a job that shares its nodes costs the part of them that it takes.
	costNodeParts
	costNodes
	costOthers
)

// scale is the TRES that limits count, and their places in a cost.
type scale struct {
	places map[string]int
	// limitsNodes is whether a limit counts nodes.
	limitsNodes bool
	maxCPUs     uint64 // of any node, be it there or to come; 0 when that is not known
	costs       map[costText][]uint64
}

// costText is what the cost of a job is read from.
type costText struct {
	tres, licenses string
	cpus, nodes    uint64
	whole          bool
}

func newScale() scale {
	return scale{places: map[string]int{"node": costNodes}, costs: map[costText][]uint64{}}
}

// know gives the names of a limit places.
func (s *scale) know(limits ...map[string]uint64) {
	for _, limit := range limits {
		for name := range limit {
			if _, ok := s.places[name]; !ok {
				s.places[name] = costOthers - 1 + len(s.places)
			}
		}
	}
}

// size is how many places a cost has.
func (s *scale) size() int { return costOthers - 1 + len(s.places) }

// bounds is a limit as the most of each place, and for Nodes of the parts too.
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

// costOf is what one job of the record takes, by the TRES that slurmctld tells of it:
// those asked for, or those that it has. Callers do not write to it.
func (s *scale) costOf(j *slurm.Job, tres string) []uint64 {
	text := costText{tres: tres, licenses: j.Licenses, cpus: j.CPUs.Or(0), nodes: j.NodeCount.Or(1), whole: wholeNodes(j.Shared)}
	cost, ok := s.costs[text]
	if !ok {
		cost = s.read(text)
		s.costs[text] = cost
	}
	return cost
}

func (s *scale) read(text costText) []uint64 {
	out := make([]uint64, s.size())
	t, _ := slurm.ParseTRES(text.tres) // what can not be read costs nothing
	cpus, nodes := max(t.CPUs, text.cpus), max(t.Nodes, text.nodes, 1)
	out[costJobs], out[costNodes], out[costNodeParts] = 1, nodes, times(nodes, 1000)
	if s.maxCPUs > 0 {
		parts := max(1, times(cpus, 1000)/s.maxCPUs)
		if text.whole {
			parts = max(times(nodes, 1000), times(share(cpus, s.maxCPUs), 1000))
		}
		out[costNodeParts] = parts
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

// readLicenses reads "matlab:2,ansys"; of alternatives ("a|b") it tells nothing.
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

// budget is what may still be used under one limit.
type budget struct {
	left  []uint64
	nodes map[string]bool // that its jobs are on
	// nodeParts is what costNodeParts was before any job, where that is limited.
	nodeParts uint64
}

// use takes a job that runs off the budget.
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

// draw is a budget that jobs draw on, and for which places it holds them back: where
// another limit takes precedence it only counts.
type draw struct {
	*budget
	binds []bool
	class Class
}

func (d *draw) limitsNodes() bool {
	return d.binds[costNodeParts] && d.left[costNodeParts] != unlimited
}

// holdsNodes reports whether a job could have so many nodes if it were alone.
func (d *draw) holdsNodes(nodes uint64) bool {
	return !d.limitsNodes() || times(nodes, 1000) <= d.nodeParts
}

// allows is how many jobs of the cost the budget would still let run.
func (d *draw) allows(cost []uint64, jobs uint64) uint64 {
	for i, x := range cost {
		if x > 0 && d.binds[i] && d.left[i] != unlimited {
			jobs = min(jobs, d.left[i]/x)
		}
	}
	return jobs
}

// take takes so many jobs of the cost off the budget.
func (d *draw) take(cost []uint64, jobs uint64) {
	for i, x := range cost {
		if d.left[i] != unlimited {
			d.left[i] = less(d.left[i], times(x, jobs))
		}
	}
}

package demand

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// freeNodes is a number of nodes with the same room.
type freeNodes struct {
	shape int
	free  model.Amounts
	// empty is whether the nodes have no work.
	empty bool
	// name is the name of the node if jobs require or exclude it.
	name  string
	count uint64
	// FreeState is how each node counts in its pool once a job takes it. taken is how many of the
	// nodes jobs take.
	freeState model.FreeState
	taken     uint64
}

// groupFreeNodes groups the nodes that have room.
func (p *planner) groupFreeNodes() []freeNodes {
	named := p.nodesNamedByJobs()
	index := map[string]int{}
	var out []freeNodes
	scratch := make(model.Amounts, model.AmountGRES+len(p.GresNames))
	var buf []byte
	for _, m := range p.Nodes {
		empty, state, ok := p.readRoom(&m, scratch)
		if !ok {
			continue
		}
		s := freeNodes{shape: m.Shape, empty: empty, freeState: state}
		if named[m.Node.Name] {
			s.name = m.Node.Name
		}
		buf = s.appendKey(buf[:0], scratch)
		i, ok := index[string(buf)]
		if !ok {
			i = len(out)
			index[string(buf)] = i
			s.free = slices.Clone(scratch)
			out = append(out, s)
		}
		out[i].count++
	}
	return out
}

// readRoom writes the free resources of a node to free. It returns whether the node has no work, and how it counts once a job takes it. ok
// is false if no job could start on it.
func (p *planner) readRoom(m *model.NodeState, free model.Amounts) (empty bool, state model.FreeState, ok bool) {
	if !m.HasRoom {
		return false, model.NotFree, false
	}
	n, work := m.Node, m.Use == model.UseBusy
	switch {
	case m.BeforeWork != nil:
		n, work = m.BeforeWork, false
	case m.AfterEnds != nil:
		n, work, state = m.AfterEnds, m.AfterEnds.State.Allocated(), model.FreeSoon
	}
	if empty = !work && n.AllocCPUs == 0 && n.AllocMemoryMiB == 0; empty && m.AfterEnds == nil {
		state = m.FreeState
	}
	p.FreeOf(free, p.Shapes[m.Shape].Room, n)
	free[model.AmountCPUs] = min(free[model.AmountCPUs], p.AllowedCPUs(m))
	return empty, state, free[model.AmountCPUs] > 0
}

// sortFreeNodes sorts nodes with work before empty ones, and idle nodes before booting ones. Nodes that are only free soon come last,
// because a job starts on another one at once.
func sortFreeNodes(free []freeNodes) {
	slices.SortFunc(free, func(a, b freeNodes) int {
		return cmp.Or(
			cmp.Compare(soonRank(a.freeState), soonRank(b.freeState)),
			cmp.Compare(emptyRank(a.empty), emptyRank(b.empty)), cmp.Compare(a.freeState, b.freeState),
			cmp.Compare(a.shape, b.shape), slices.Compare(a.free, b.free), strings.Compare(a.name, b.name),
		)
	})
}

func soonRank(state model.FreeState) int {
	if state == model.FreeSoon {
		return 1
	}
	return 0
}

func emptyRank(empty bool) int {
	if empty {
		return 1
	}
	return 0
}

// appendKey appends what distinguishes one kind of free nodes from another.
func (s *freeNodes) appendKey(buf []byte, free model.Amounts) []byte {
	buf = append(buf, byte(emptyRank(s.empty)), byte(s.freeState))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.shape))
	for _, v := range free {
		buf = binary.LittleEndian.AppendUint64(buf, v)
	}
	return append(buf, s.name...)
}

// nodesNamedByJobs returns the nodes that some request names.
func (p *planner) nodesNamedByJobs() map[string]bool {
	out := map[string]bool{}
	for i := range p.requests {
		for _, name := range p.requests[i].RequiredNodes {
			out[name] = true
		}
	}
	p.nodeNames.Union(out, func(yield func(*model.NameSet) bool) {
		for i := range p.requests {
			if !yield(p.requests[i].ExcludedNodes) {
				return
			}
		}
	})
	return out
}

// provideNamedNodes processes the nodes that jobs name. A usable node adds no demand, and the resources that the jobs take there are not
// free for others. A missing or unusable node is one pending node, however many jobs name it.
func (p *planner) provideNamedNodes(free []freeNodes) {
	missing := map[string]bool{}
	byName := map[string][]int{}
	for k := range free {
		if free[k].name != "" {
			byName[free[k].name] = append(byName[free[k].name], k)
		}
	}
	for i := range p.requests {
		r := &p.requests[i]
		if r.target < 0 || r.jobs == 0 {
			continue
		}
		if p.work.isCanceled() {
			return
		}
		p.work.spend(stepsPerName * len(r.RequiredNodes))
		for _, name := range r.RequiredNodes {
			m, there := p.findNode(name)
			if !there || !m.Use.Usable() {
				if !missing[name] {
					missing[name] = true
					pool := p.poolOfMissing(r, m, there)
					p.addPendingNodes(r.target, pool, 1)
					p.requireWorker(pool, name)
				}
				continue
			}
			for _, k := range byName[name] {
				free[k].occupy(r)
			}
		}
	}
}

// requiresBusyNodes reports whether the request's jobs require a node by name that is usable, but has no room for any of them.
func (p *planner) requiresBusyNodes(r *request) bool {
	if p.work.isSpent() {
		return len(r.RequiredNodes) > 0
	}
	p.work.spend(stepsPerName * len(r.RequiredNodes))
	free := make(model.Amounts, model.AmountGRES+len(p.GresNames))
	return slices.ContainsFunc(r.RequiredNodes, func(name string) bool {
		m, there := p.findNode(name)
		if !there || !m.Use.Usable() {
			return false
		}
		empty, _, ok := p.readRoom(&m, free)
		return !ok || free.Fits(r.chunk) == 0 || r.keepsOthersOff() && !empty
	})
}

// requireWorker ensures that Required of the pool includes the named worker: workers have the
// lowest ordinals.
func (p *planner) requireWorker(pool int, worker string) {
	if pool == model.NoPool {
		return
	}
	if ordinal, ok := p.Pools[pool].Spec.OrdinalOf(worker); ok {
		p.Pools[pool].NamedWorkers = max(p.Pools[pool].NamedWorkers, saturating.Add(ordinal, 1))
	}
}

// poolOfMissing returns the pool of a node that is missing or unusable. It is the pool of the node's record if the record is in the
// partition, else the pool in which the jobs request nodes.
func (p *planner) poolOfMissing(r *request, m model.NodeState, there bool) int {
	if there && slices.Contains(p.Shapes[m.Shape].Partitions, r.target) {
		return p.Shapes[m.Shape].Pool
	}
	return r.pool
}

// occupy takes the usable resources of one node for the request's jobs.
func (s *freeNodes) occupy(r *request) {
	s.taken = 1
	if r.keepsOthersOff() {
		clear(s.free)
	} else {
		s.free.Take(r.chunk, min(s.free.Fits(r.chunk), r.jobs))
	}
	s.empty = false
}

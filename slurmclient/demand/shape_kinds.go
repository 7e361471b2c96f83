package demand

import (
	"encoding/binary"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
)

// spread is how a job runs on empty nodes of one kind. Shapes of one kind differ only in their features, disk, weight, partitions and pool,
// so they share one spread.
type spread struct {
	// group, maxCPUs and most identify the question: the jobs, and the limits of the partition.
	group         *model.JobGroup
	maxCPUs, most uint64
	misfit        model.Misfit
	// placement has neither a pool nor a shape. Its chunk is overwritten by the next question.
	placement
}

// indexKinds sets the kind of each shape.
func (p *planner) indexKinds() {
	p.kinds = make([]int, len(p.Shapes))
	index := map[string]int{}
	var key []byte
	for i := range p.Shapes {
		s := &p.Shapes[i]
		key = binary.AppendUvarint(key[:0], s.Threads)
		if s.OneJobPerNode {
			key = append(key, 1)
		}
		for _, x := range s.Room {
			key = binary.AppendUvarint(key, x)
		}
		kind, ok := index[string(key)]
		if !ok {
			kind = len(index)
			index[string(key)] = kind
		}
		p.kinds[i] = kind
	}
	p.spreads = make([]spread, len(index))
}

// spreadOn returns how a job of the request runs on empty nodes of the shape, on at most that many. The result is valid until the next
// call for the shape.
func (p *planner) spreadOn(r *request, shape int, maxCPUs, most uint64) *spread {
	on := &p.spreads[p.kinds[shape]]
	if on.group == r.JobGroup && on.maxCPUs == maxCPUs && on.most == most {
		return on
	}
	s := &p.Shapes[shape]
	if on.chunk == nil {
		on.chunk = make(model.Amounts, model.AmountGRES+len(p.GresNames))
	}
	p.work.spend(stepsPerSpread)
	on.group, on.maxCPUs, on.most = r.JobGroup, maxCPUs, most
	on.nodesPerJob, on.misfit = p.spreadOver(r, on.chunk, s, maxCPUs, most)
	if r.CutsWholeNode(s, maxCPUs) {
		on.misfit = model.MisfitWholeNode
	}
	if on.misfit != model.MisfitNone {
		return on
	}
	if on.scattered = p.Scatters(&r.Requirements, s, most); on.scattered {
		r.PerTask(on.chunk)
	}
	if !p.TakesMemory {
		on.chunk[model.AmountMemory] = 0
	}
	on.chunksPerEmptyNode = chunksOnEmptyNode(r, on.chunk, s, maxCPUs)
	return on
}

// nodesOfSource are the nodes of one shape of a source.
type nodesOfSource struct{ pool, shape int }

// alikeNodesOf returns the nodes of the partition's sources, grouped by kind and generic resources.
func (p *planner) alikeNodesOf(part int) [][]nodesOfSource {
	if p.alikeNodes == nil {
		p.alikeNodes = make([][][]nodesOfSource, len(p.Partitions))
	}
	if p.alikeNodes[part] != nil {
		return p.alikeNodes[part]
	}
	type key struct {
		kind int
		gres string
	}
	index, out := map[key]int{}, [][]nodesOfSource{}
	for _, from := range p.Partitions[part].Sources {
		for _, shape := range from.Shapes {
			k := key{p.kinds[shape], p.Shapes[shape].GresText()}
			i, ok := index[k]
			if !ok {
				i = len(out)
				index[k], out = i, append(out, nil)
			}
			out[i] = append(out[i], nodesOfSource{from.Pool, shape})
		}
	}
	p.alikeNodes[part] = out
	return out
}

package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
)

// The rules for requests beyond the work budget. Each takes constant time for each partition of its list, and none removes an existing
// worker:
//
//   - A job is assigned to one of a few kinds of nodes, the first that could run it. If none fits but the largest nodes are large
//     enough, the job gets whole nodes of the first pool. The kinds to try depend on the job too, so each is tried for some jobs.
//   - The job is packed only on the last new node of its pool. Then a few other pools that can add nodes are tried.
//   - All existing workers of the pools that could run the job are kept.

// maxGuesses is how many kinds of nodes or pools are tried for a request beyond the budget.
const maxGuesses = 16

// sourceShape is a source of a partition, by its index, and one of the source's shapes.
type sourceShape struct{ source, shape int }

// largestNodes are bounds on all nodes that a partition can have.
type largestNodes struct {
	room     model.Amounts // the most of each resource on any of them
	maxNodes uint64        // the most nodes of one job
}

// findSource returns how the jobs of the request run on nodes of the first source of the partition that could run them.
func (p *planner) findSource(r *request, part int) (placement, int, model.Misfit) {
	if p.lastGuess == nil {
		p.lastGuess = slices.Repeat([]sourceShape{{shape: -1}}, len(p.Partitions))
	}
	find := p.guessSource
	if !p.work.isSpent() {
		find = func(r *request, part int) (placement, int, model.Misfit) { return p.firstSource(r, part, 0) }
	}
	how, source, f := find(r, part)
	if f == model.MisfitNone && how.shape >= 0 {
		p.lastGuess[part] = sourceShape{source, how.shape}
	}
	return how, source, f
}

// guessSource is findSource for a request beyond the budget. It returns a misfit only if no source could run the jobs.
func (p *planner) guessSource(r *request, part int) (placement, int, model.Misfit) {
	if f := p.misfitOfPartition(r, part); f != model.MisfitNone {
		return placement{}, 0, f
	}
	r.Deviations |= model.ExceedsBudget
	first := 0
	if some, all := p.knownSourcesFor(r, part); !all {
		if len(some) == 0 {
			return placement{}, 0, model.MisfitFeatures
		}
		first = some[0]
	}
	if len(r.RequiredNodes) == 0 {
		if how, source, ok := p.tryFewShapes(r, part); ok {
			return how, source, model.MisfitNone
		}
		if f := p.misfitOnLargest(r, part); f != model.MisfitNone {
			return placement{}, 0, f
		}
	}
	how := p.placeOnUnknownNodes(r)
	how.pool = p.Partitions[part].Sources[first].Pool
	return how, first, model.MisfitNone
}

// knownSourcesFor is sourcesFor, but stops comparing constraints with sources once these comparisons exceed the reserve, too.
func (p *planner) knownSourcesFor(r *request, part int) (some []int, all bool) {
	if r.filter != nil && p.work.isExhausted() {
		some := r.filter.sources[part]
		return some, some == nil
	}
	return p.sourcesFor(r, part)
}

// tryFewShapes tries a few shapes of the sources that the jobs accept, and the one on which a job last fit.
func (p *planner) tryFewShapes(r *request, part int) (placement, int, bool) {
	sources, most := p.Partitions[part].Sources, r.MaxSpread(p.nodeLimit(r, part))
	some, all := p.knownSourcesFor(r, part)
	for _, tried := range append(guessShapes(r, sources, some, all), p.lastGuess[part]) {
		from := sources[tried.source]
		if len(from.Shapes) == 0 {
			return p.placeOnUnknownNodes(r), tried.source, true
		}
		if tried.shape < 0 {
			continue
		}
		from.Shapes = []int{tried.shape}
		if how, f := p.tryShapes(r, part, &from, most); f == model.MisfitNone {
			return how, tried.source, true
		}
	}
	return placement{}, 0, false
}

// guessShapes returns a few shapes of some sources, or of all. Half of the tried sources are the first ones, and the job's ID chooses the
// other half. A source without shapes has the shape -1.
func guessShapes(r *request, sources []model.NodeSource, some []int, all bool) (out []sourceShape) {
	count := len(some)
	if all {
		count = len(sources)
	}
	for i := range min(count, maxGuesses) {
		if i >= maxGuesses/2 && count > maxGuesses {
			i = (int(r.LowestID) + i) % count
		}
		source := i
		if !all {
			source = some[i]
		}
		shapes := sources[source].Shapes
		if len(shapes) == 0 {
			out = append(out, sourceShape{source, -1})
		}
		for _, shape := range shapes[:min(len(shapes), maxGuesses)] {
			out = append(out, sourceShape{source, shape})
		}
	}
	return out
}

// misfitOnLargest returns the reason why the jobs cannot run on any node of the partition. They may be unable to run even with MisfitNone.
func (p *planner) misfitOnLargest(r *request, part int) model.Misfit {
	on := p.largestNodesOf(part)
	v := make(model.Amounts, model.AmountGRES+len(p.GresNames))
	p.PerNode(&r.Requirements, v, nil, r.MaxSpread(p.nodeLimit(r, part)))
	if f := model.MisfitOf(v, on.room, p.Partitions[part].MaxCPUs); f != model.MisfitNone {
		return f
	}
	if r.Nodes > on.maxNodes {
		return model.MisfitMaximum
	}
	return model.MisfitNone
}

// largestNodesOf returns the bounds on the nodes of a partition.
func (p *planner) largestNodesOf(part int) *largestNodes {
	if p.largest == nil {
		p.largest = make([]*largestNodes, len(p.Partitions))
	}
	if p.largest[part] == nil {
		on := &largestNodes{room: make(model.Amounts, model.AmountGRES+len(p.GresNames))}
		for _, from := range p.Partitions[part].Sources {
			on.maxNodes = max(on.maxNodes, p.maxNodesOfJobIn(part, from.Pool))
			for _, shape := range from.Shapes {
				on.room.Raise(p.Shapes[shape].Room)
			}
		}
		p.largest[part] = on
	}
	return p.largest[part]
}

// becomeCoarse makes the packer spend constant time on each further request.
func (b *packer) becomeCoarse() {
	if b.isCoarse() {
		return
	}
	b.window = 1
	for shape, open := range b.openBins {
		b.openBins[shape] = open[max(0, len(open)-b.window):]
	}
}

// isCoarse reports whether the packer spends constant time on each request.
func (b *packer) isCoarse() bool { return b.window < maxOpenBins }

// sourcesToPack is sourcesFor for the packer.
func (b *packer) sourcesToPack(r *request, part int) (some []int, all bool) {
	if b.isCoarse() {
		return b.knownSourcesFor(r, part)
	}
	return b.sourcesFor(r, part)
}

// shapesToPack returns the source with the shapes that are tried.
func (b *packer) shapesToPack(from *model.NodeSource) *model.NodeSource {
	if !b.isCoarse() || len(from.Shapes) <= maxGuesses {
		return from
	}
	return &model.NodeSource{Pool: from.Pool, Shapes: from.Shapes[:maxGuesses]}
}

// roomOfNewNodes is roomOfPool for a coarse packer: requests move on only to pools that can add nodes.
func (b *packer) roomOfNewNodes(p *model.PoolState) poolAmounts {
	clear(b.scratch)
	if p.NewLeft > 0 {
		copy(b.scratch, b.anyRoom)
		b.scratch[len(b.scratch)-1] = p.NewLeft
	}
	return b.scratch
}

// setNeedOfNewNodes sets the need of a job to new nodes only, as many as in the job's assigned pool.
func (b *packer) setNeedOfNewNodes(need poolAmounts, r *request) {
	copy(need, b.anyRoom)
	need[len(need)-1] = max(1, r.minNodes(r.Tasks))
}

// givesUp reports whether the request stops trying other pools, after the given number of pools without room for it. The packer tries all
// pools unless it is coarse.
func (b *packer) givesUp(r *request, full int) bool {
	if !b.isCoarse() {
		return false
	}
	b.updateIndexes(r.pool) // the index may be from before the packer became coarse
	return full >= maxGuesses
}

package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
)

// shapeFilter caches which shapes the jobs with one constraint and one request for disk accept.
type shapeFilter struct {
	met     []filterAnswer // by shape, nil until needed
	sources map[int][]int  // by partition; nil where all are accepted
}

type filterAnswer uint8

const (
	filterUnknown filterAnswer = iota
	filterAccepts
	filterRejects
)

// filterKey identifies a shapeFilter.
type filterKey struct {
	features string
	tmpDisk  uint64
}

// filterOf returns the filter of the request's jobs, nil if they accept every shape.
func (p *planner) filterOf(r *request) *shapeFilter {
	if r.Features == "" && r.TmpDisk == 0 {
		return nil
	}
	key := filterKey{r.Features, r.TmpDisk}
	f := p.filters[key]
	if f == nil {
		f = &shapeFilter{sources: map[int][]int{}}
		p.filters[key] = f
	}
	return f
}

// meets is requirements.meets with a cache.
func (p *planner) meets(r *request, shape int) bool {
	if !r.Readable || r.filter == nil {
		return r.Readable
	}
	if r.filter.met == nil {
		if p.work.isExhausted() {
			return r.Requirements.Meets(&p.Shapes[shape])
		}
		r.filter.met = make([]filterAnswer, len(p.Shapes))
	}
	if r.filter.met[shape] == filterUnknown {
		p.work.spend(stepsPerFilter)
		r.filter.met[shape] = filterRejects
		if r.Requirements.Meets(&p.Shapes[shape]) {
			r.filter.met[shape] = filterAccepts
		}
	}
	return r.filter.met[shape] == filterAccepts
}

// sourcesFor returns which sources of the partition have nodes that the jobs of the request accept, as far as features and disk
// decide it; all is true for every source.
func (p *planner) sourcesFor(r *request, part int) (some []int, all bool) {
	if r.filter == nil || !r.Readable || len(r.RequiredNodes) > 0 {
		return nil, true
	}
	some, ok := r.filter.sources[part]
	if !ok {
		p.work.spend(len(p.Partitions[part].Sources))
		for k := range p.Partitions[part].Sources {
			shapes := p.Partitions[part].Sources[k].Shapes
			if len(shapes) == 0 || slices.ContainsFunc(shapes, func(shape int) bool { return p.meets(r, shape) }) {
				some = append(some, k)
			}
		}
		if len(some) == len(p.Partitions[part].Sources) {
			some = nil // most constraints that differ are accepted by all, and a list for each would take jobs × pools
		} else if some == nil {
			some = []int{}
		}
		r.filter.sources[part] = some
	}
	return some, some == nil
}

// firstSource returns the first source of the partition, from the index on, that could run jobs of the request, and how they run on its
// nodes. If no source could, it returns the misfit of the source that comes closest.
func (p *planner) firstSource(r *request, part, from int) (placement, int, model.Misfit) {
	if f := p.misfitOfPartition(r, part); f != model.MisfitNone {
		return placement{}, 0, f
	}
	sources, worst := p.Partitions[part].Sources, model.MisfitNone
	some, all := p.sourcesFor(r, part)
	if !all && len(some) < len(sources) {
		worst = model.MisfitFeatures
	}
	next := func(k int) int {
		if all {
			return k
		}
		at, _ := slices.BinarySearch(some, k)
		if at == len(some) {
			return len(sources)
		}
		return some[at]
	}
	for k := next(from); k < len(sources); k = next(k + 1) {
		how, f := p.trySource(r, part, &sources[k])
		if f == model.MisfitNone {
			return how, k, f
		}
		worst = max(worst, f)
	}
	return placement{}, len(sources), worst
}

package demand

import "slices"

// packer packs requests on new nodes.
type bundler struct {
	*plan
	bundles []bundle
	// openBins are the bins with room, by shape.
	open [][]int
}

// assignPools assigns the request's jobs to the pools that could run them, as many to each pool as
// its Max allows, and returns how many are left.
func (b *bundler) deal(r *request) uint64 {
	rest, copied := r, false // only a copy that has not been packed is modified
	for {
		n := b.allowed(rest)
		if n == rest.jobs {
			b.put(rest)
			return 0
		}
		if n == 0 {
			b.mark(rest.pool)
		}
		if n > 0 {
			some := *rest
			some.jobs = n
			b.put(&some)
		}
		to, ok := b.next(rest)
		if !ok {
			return rest.jobs - n
		}
		if !copied {
			another := *r
			rest, copied = &another, true
		}
		rest.option, rest.jobs = to, rest.jobs-n
	}
}

// countAllowed returns for how many of the request's jobs the pool can have nodes. Only whole jobs
// count, since a part of a job cannot start.
func (b *bundler) allowed(r *request) uint64 {
	if r.pool == noPool || !b.pools[r.pool].limited {
		return r.jobs
	}
	chunks := r.pieces()
	if chunks == 0 ||
		times(r.jobs, chunks) <= times(b.pools[r.pool].left,
			min(r.perEmpty, r.together(r.jobs))) {
		return r.jobs
	}
	jobs := r.jobs
	for jobs > 0 {
		fit := b.capacity(r, jobs) / chunks
		if fit >= jobs {
			return jobs
		}
		jobs = fit
	}
	return 0
}

// markFull records whether the pool has no room left for any job.
func (b *bundler) mark(pool int) {
	p := &b.pools[pool]
	p.full = p.left == 0 &&
		!slices.ContainsFunc(p.shapes, func(shape int) bool { return len(b.open[shape]) > 0 })
}

// chunkCapacity returns how many chunks of that many of the request's jobs fit on nodes with room
// and on the nodes that the pool can still add. No two chunks of one job share a node, so a node
// takes at most one chunk of each job.
func (b *bundler) capacity(r *request, jobs uint64) uint64 {
	sum := times(b.pools[r.pool].left, min(r.perEmpty, r.together(jobs)))
	if r.alone() || r.shape < 0 {
		return sum
	}
	for _, shape := range b.shapesFor(r) {
		if !b.meets(r, shape) {
			continue
		}
		for _, i := range b.open[shape] {
			have := &b.bundles[i]
			sum = plus(sum, times(min(have.room.fits(r.each), r.together(jobs)), have.left))
		}
	}
	return sum
}

// chunkCount returns the number of chunks of a job, not counting the nodes that it names.
func (r *request) pieces() uint64 {
	if r.scattered {
		return r.tasks
	}
	return r.fresh()
}

// maxChunksPerNode returns how many chunks of that many jobs one node can have: one of each job,
// unless the tasks are scattered.
func (r *request) together(jobs uint64) uint64 {
	if r.scattered {
		return times(jobs, r.tasks)
	}
	return jobs
}

// unnamedNodes returns how many nodes a job needs in addition to those that it names.
func (r *request) fresh() uint64 { return r.spread - min(r.spread, uint64(len(r.required))) }

// keepsOthersOff reports whether other jobs are kept off the request's nodes.
func (r *request) alone() bool { return r.whole || r.alike }

// candidateShapes returns the shapes of the source that the request's nodes come from.
func (b *bundler) shapesFor(r *request) []int {
	if r.pool != noPool {
		return b.pools[r.pool].shapes
	}
	return b.parts[r.target].shapes
}

// packRequest packs the request's jobs on the nodes of their assignment.
func (b *bundler) put(r *request) {
	if r.pool != noPool {
		d := &b.pools[r.pool].result
		d.EligiblePendingJobs += r.jobs
		d.OldestEligible = earliest(d.OldestEligible, r.eligible)
	}
	left := times(r.jobs, r.pieces())
	if r.shape >= 0 && !r.alone() {
		left = b.fill(r, left)
	}
	b.openNew(r, left)
}

// fillOpenBins packs chunks of the request's jobs where there is room, no two chunks of one job on
// one node, and returns how many are left.
func (b *bundler) fill(r *request, left uint64) uint64 {
	for _, shape := range b.shapesFor(r) {
		if !b.meets(r, shape) {
			continue
		}
		for _, i := range slices.Clone(b.open[shape]) {
			if left == 0 {
				return 0
			}
			left -= b.fillBundle(i, r, left)
		}
		b.open[shape] = slices.DeleteFunc(b.open[shape], func(i int) bool {
			return b.bundles[i].room[amountCPUs] == 0
		})
	}
	return left
}

// fillBin packs up to left chunks on the nodes of a bin. It splits the bin into the nodes that get
// as many chunks as fit, the one that gets the rest, and those that get none.
func (b *bundler) fillBundle(i int, r *request, left uint64) (put uint64) {
	have := &b.bundles[i]
	per := min(have.room.fits(r.each), r.together(r.jobs))
	if per == 0 {
		return 0
	}
	put = min(left, times(per, have.left))
	full, rest := put/per, put%per
	if full == have.left {
		have.add(r, per)
		return put
	}
	old := *have
	have.left -= full
	if rest > 0 {
		have.left--
		b.split(old, 1, r, rest)
	}
	if full > 0 {
		b.split(old, full, r, per)
	}
	if b.bundles[i].left == 0 {
		b.bundles[i].room = make(amounts, len(old.room))
	}
	return put
}

// splitBin adds a copy of the bin with more chunks on it.
func (b *bundler) split(from bundle, count uint64, r *request, chunks uint64) {
	from.runs, from.room, from.left = slices.Clone(from.runs), slices.Clone(from.room), count
	from.add(r, chunks)
	b.push(from)
}

func (b *bundle) add(r *request, chunks uint64) {
	b.runs = append(b.runs, run{r, chunks})
	b.room.take(r.each, chunks)
}

func (b *bundler) push(n bundle) {
	b.bundles = append(b.bundles, n)
	if n.shape < 0 || n.room[amountCPUs] == 0 {
		return
	}
	b.open[n.shape] = append(b.open[n.shape], len(b.bundles)-1)
	b.open[n.shape] = b.open[n.shape][max(0, len(b.open[n.shape])-maxOpen):]
}

// addBins packs the remaining chunks on new nodes.
func (b *bundler) openNew(r *request, left uint64) {
	per := min(r.perEmpty, r.together(r.jobs))
	if left == 0 || per == 0 {
		return
	}
	for _, n := range [...]struct{ nodes, chunks uint64 }{{left / per, per}, {min(1, left%per), left % per}} {
		if n.nodes == 0 {
			continue
		}
		fresh := bundle{part: r.target, pool: r.pool, shape: r.shape, left: n.nodes, runs: []run{{r, n.chunks}}}
		if r.shape >= 0 {
			fresh.room = slices.Clone(b.shapes[r.shape].room)
			if r.alone() || b.shapes[r.shape].single {
				clear(fresh.room)
			} else {
				fresh.room.take(r.each, n.chunks)
			}
		}
		b.push(fresh)
		if r.pool != noPool {
			p := &b.pools[r.pool]
			p.left = less(p.left, n.nodes)
		}
	}
}

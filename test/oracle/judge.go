package oracle

import "slices"

// Trial is what real Slurm did with one queue on one number of workers.
type Trial struct {
	// Up is the number of workers of each pool, in the order of the scene's pools.
	Up []uint64
	// Started are the jobs that Slurm started, sorted.
	Started []string
}

// missing are the jobs that Slurm started in the one trial and not in the other.
func missing(in, from Trial) (jobs []string) {
	for _, name := range in.Started {
		if _, has := slices.BinarySearch(from.Started, name); !has {
			jobs = append(jobs, name)
		}
	}
	return jobs
}

// Verdict is the judgement of one round.
type Verdict struct {
	// Starved are the jobs that wait on what is required and start on all workers.
	Starved []string
	// Exact: no less would do. Dear: much less would do, by more than one node and
	// more than a tenth of the least.
	Exact, Dear bool
	// Allowed: demand said that it does not model some job of the queue, so that the
	// round breaks nothing, whatever it shows.
	Allowed bool
	// Unsteady: the round failed, and did not when it was played again. The main
	// scheduler and backfill take turns at any moment, and put jobs on nodes in different
	// ways.
	Unsteady bool
}

// Fails reports whether the round is one that must not be.
func (v Verdict) Fails() bool { return !v.Allowed && (len(v.Starved) > 0 || v.Dear) }

// judge compares what Slurm did on the required workers with what it did on all of them,
// and what is required with the least that does as much; unmodelled is how many jobs demand
// says not to model.
func judge(required, all Trial, least []uint64, unmodelled uint64) Verdict {
	v := Verdict{Starved: missing(all, required), Allowed: unmodelled > 0}
	if slices.Equal(required.Up, all.Up) {
		v.Starved = nil // Slurm does not do the same twice
	}
	if len(v.Starved) > 0 {
		return v
	}
	asked, enough := sum(required.Up), sum(least)
	v.Exact = slices.Equal(required.Up, least)
	v.Dear = asked > enough+1 && (asked-enough)*10 > enough
	return v
}

func sum(counts []uint64) (total uint64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// Figures sum up rounds.
type Figures struct {
	Rounds, Starved, Exact, Dear, Allowed, Unsteady int
}

// Add counts a round. One that demand said not to model counts as exact.
func (f *Figures) Add(v Verdict) {
	f.Rounds++
	if v.Unsteady {
		f.Unsteady++
	}
	switch {
	case v.Allowed:
		f.Allowed++
		f.Exact++
		return
	case len(v.Starved) > 0:
		f.Starved++
	case v.Exact:
		f.Exact++
	case v.Dear:
		f.Dear++
	}
}

// ExactShare and DearShare are shares of all rounds.
func (f Figures) ExactShare() float64 { return share(f.Exact, f.Rounds) }

// DearShare is the share of rounds in which much less would have done.
func (f Figures) DearShare() float64 { return share(f.Dear, f.Rounds) }

func share(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

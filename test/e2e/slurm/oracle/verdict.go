package oracle

import "slices"

// Trial is the result of real Slurm for one queue on a number of workers.
type Trial struct {
	// Up is the number of workers of each pool, in the order of the scenario's pools.
	Up []uint64
	// Started are the jobs that Slurm started, sorted.
	Started []string
}

// missingJobs returns the jobs that Slurm started in one trial and not in the other.
func missingJobs(in, from Trial) (jobs []string) {
	for _, name := range in.Started {
		if _, has := slices.BinarySearch(from.Started, name); !has {
			jobs = append(jobs, name)
		}
	}
	return jobs
}

// Verdict is the result of one round.
type Verdict struct {
	// Starved are the jobs that start on all workers, but not on the required workers. They do not start either on the
	// workers that demand requires once Slurm has started all the jobs it can.
	Starved []string
	// Delayed are the jobs that start only on the latter workers: Slurm placed other jobs so that more
	// workers are needed than with the placement that demand expected.
	Delayed []string
	// Exact is whether fewer workers are not enough. Excessive is whether many fewer are enough:
	// fewer by more than one node and by more than a tenth of the minimum.
	Exact, Excessive bool
	// Unmodelled is whether demand reported a job of the queue that it does not model. Such a round
	// never fails.
	Unmodelled bool
	// Unsteady is whether the round failed, but did not fail when it was repeated, or when Slurm
	// started all jobs in another trial with as many workers. The main scheduler and backfill can run
	// in any order, and put jobs on different nodes.
	Unsteady bool
}

// Fails reports whether the round is a failure.
func (v Verdict) Fails() bool {
	return !v.Unmodelled && (len(v.Starved)+len(v.Delayed) > 0 || v.Excessive)
}

// judgeRound compares Slurm's results on three sets of workers: the required ones, those that demand then required, and
// all of them. It also compares the required workers with the minimum that starts as many jobs. unmodelled is how many
// jobs demand does not model.
func judgeRound(required, grown, all Trial, least []uint64, unmodelled uint64) Verdict {
	v := Verdict{Starved: missingJobs(all, grown), Unmodelled: unmodelled > 0}
	switch missing := missingJobs(all, required); {
	case len(missing) == 0:
	case slices.Equal(required.Up, all.Up), slices.Equal(required.Up, least),
		len(v.Starved) == 0 && slices.Equal(required.Up, grown.Up):
		// Slurm does not always do the same. As many workers as required started every job in another
		// trial.
		v.Starved, v.Unsteady = nil, true
	case len(v.Starved) > 0:
		return v
	default:
		v.Delayed = missing
		return v
	}
	asked, enough := sumOf(required.Up), sumOf(least)
	v.Exact = slices.Equal(required.Up, least)
	v.Excessive = asked > enough+1 && (asked-enough)*10 > enough
	return v
}

func sumOf(counts []uint64) (total uint64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// Figures are the totals of several rounds.
type Figures struct {
	Rounds, Starved, Delayed, Exact, Excessive, Unmodelled, Unsteady int
}

// Add counts a round. An unmodelled round counts as exact.
func (f *Figures) Add(v Verdict) {
	f.Rounds++
	if v.Unsteady {
		f.Unsteady++
	}
	switch {
	case v.Unmodelled:
		f.Unmodelled++
		f.Exact++
		return
	case len(v.Starved) > 0:
		f.Starved++
	case len(v.Delayed) > 0:
		f.Delayed++
	case v.Exact:
		f.Exact++
	case v.Excessive:
		f.Excessive++
	}
}

// ExactShare is the share of rounds that were exact.
func (f Figures) ExactShare() float64 { return shareOf(f.Exact, f.Rounds) }

// DelayedShare is the share of rounds in which demand required more workers after Slurm had started all the jobs it
// could.
func (f Figures) DelayedShare() float64 { return shareOf(f.Delayed, f.Rounds) }

// ExcessiveShare is the share of rounds in which many fewer workers would have been enough.
func (f Figures) ExcessiveShare() float64 { return shareOf(f.Excessive, f.Rounds) }

func shareOf(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

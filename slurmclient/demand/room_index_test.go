package demand

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestNextFindsWhatALinearSearchFinds(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		sources := 1 + r.IntN(40)
		x, rooms := newRoomIndex(sources, 3), make([]poolAmounts, sources)
		random := func(most uint64) poolAmounts {
			return poolAmounts{r.Uint64N(most), r.Uint64N(most), r.Uint64N(most)}
		}
		for i := range rooms {
			rooms[i] = make(poolAmounts, 3)
		}
		for range 200 {
			at := r.IntN(sources)
			rooms[at] = random(6)
			x.set(at, rooms[at])
			needs, from, odd := []poolAmounts{random(8), random(8)}, r.IntN(sources+1), r.IntN(2)
			needs[0][2], needs[1][2] = needs[0][2]+1, needs[1][2]+1 // a job needs at least one node
			accept := func(source int) bool { return odd == 0 || source%2 == 1 }
			want := -1
			for k := from; k < sources && want < 0; k++ {
				if slices.ContainsFunc(needs, rooms[k].Covers) && accept(k) {
					want = k
				}
			}
			if got := x.next(from, needs, accept); got != want {
				t.Fatalf("seed %d: next(%d) = %d, want %d", seed, from, got, want)
			}
		}
	}
}

// TestTheIndexLeavesOutNoPoolWithRoom compares the index, after all jobs have been packed, with all pools.
func TestTheIndexLeavesOutNoPoolWithRoom(t *testing.T) {
	withRoom, leftOut := 0, 0
	for seed := range uint64(300) {
		p := plannerOfUnlikeJobs(rand.New(rand.NewPCG(seed, 2)))
		b := newPacker(p)
		for _, r := range p.requestsByPriority() {
			b.assignPools(r)
		}
		for _, r := range p.requestsByPriority() {
			indexed := map[sourcePosition]bool{}
			each(*r, b.nextAssignment, func(to assignment) { indexed[to.from] = true })
			each(*r, p.nextAssignment, func(to assignment) {
				some := *r
				some.assignment = to
				switch {
				case b.countAllowed(&some) == 0:
					leftOut++
				case !indexed[to.from]:
					t.Fatalf("seed %d: job %d does not find room at %+v", seed, r.LowestID, to.from)
				default:
					withRoom++
				}
			})
		}
	}
	if withRoom < 1000 || leftOut < 1000 {
		t.Fatalf("pools with room %d, without %d: the clusters test too little", withRoom, leftOut)
	}
}

// each yields every assignment after the one of the request.
func each(r request, next func(*request) (assignment, bool), yield func(assignment)) {
	for to, ok := next(&r); ok; to, ok = next(&r) {
		yield(to)
		r.assignment = to
	}
}

// plannerOfUnlikeJobs has a few pools of several partitions, and more jobs than they can run.
func plannerOfUnlikeJobs(r *rand.Rand) *planner {
	s := &slurmclient.Snapshot{}
	s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
	for _, name := range []string{"a", "b"} {
		s.Partitions.Value = append(s.Partitions.Value, &slurm.Partition{Name: name, State: slurm.PartitionUp})
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	kinds := 1 + r.IntN(3)*8
	var pools []Pool
	for i := range 1 + r.IntN(20) {
		feature := fmt.Sprintf("p%d", i)
		pools = append(pools, Pool{Name: feature, Feature: feature, Max: r.Uint64N(4), Partitions: []string{pick("a", "b"), "a"},
			Shape: &Shape{CPUs: 4 + uint64(r.IntN(kinds)), MemoryMiB: 8000, GRES: pick("", "gpu:2"), Features: []string{pick("x", "y")},
				ThreadsPerCore: r.Uint64N(3), Weight: r.Uint32N(2)}})
	}
	for i := range 1 + r.IntN(60) {
		tasks := 1 + r.Uint64N(8)
		j := &slurm.Job{ID: uint32(i + 1), Partition: pick("a", "b", "a,b"), Reason: "Resources", State: slurm.JobState{Base: slurm.JobPending},
			SubmitTime: 1000, EligibleTime: 1000, Priority: slurm.Num(r.Uint64N(50)), NodeCount: slurm.Num(1 + r.Uint64N(3)),
			Tasks: slurm.Num(tasks), CPUs: slurm.Num(tasks),
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{CPUsPerTask: slurm.Num(1), Features: pick("", "", "x", "x|y"),
				Shared: pick("", "", "", "none"), TRESPerNode: pick("", "", "gres/gpu:1")}), MemoryPerCPU: slurm.Num(r.Uint64N(3000))}
		s.Jobs.Value = append(s.Jobs.Value, j)
	}
	c := model.NewCluster(s, pools)
	now := model.ServerTime(time.Unix(2000, 0), s)
	c.IndexReservations(s, now)
	q := model.ReadQueue(now, s, c, func() bool { return false })
	c.AddNodes(s, now, q)
	p := newPlanner(newWorkBudget(maxSteps, nil), s, c, q.Groups)
	p.assignRequests()
	p.SetNewLeft()
	return p
}

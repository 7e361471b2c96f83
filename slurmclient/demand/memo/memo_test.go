package memo_test

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestMemoComputesAgainWhenAnInputChanges(t *testing.T) {
	for _, tc := range []struct {
		name   string
		later  time.Duration
		change func(s *slurmclient.Snapshot)
		pools  []demand.Pool
		again  bool
	}{
		{"nothing has changed", time.Second, func(*slurmclient.Snapshot) {}, nil, false},
		{"the jobs have changed", time.Second, func(s *slurmclient.Snapshot) { s.Jobs.Sequence++ }, nil, true},
		{"the reservations have changed", time.Second, func(s *slurmclient.Snapshot) { s.Reservations.Sequence++ }, nil,
			true},
		{"the statistics have changed", time.Second, func(s *slurmclient.Snapshot) { s.Stats.Sequence++ }, nil, false},
		{"there is a pool", time.Second, func(*slurmclient.Snapshot) {}, []demand.Pool{{Name: "x"}}, true},
		{"the answer is old", memo.MaxAge, func(*slurmclient.Snapshot) {}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var m memo.Memo
			s := &slurmclient.Snapshot{}
			s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
			s.Partitions.Value = []*slurm.Partition{{Name: "a"}}
			first := m.Compute(demandtest.Noon.Time(), s)
			next := *s
			tc.change(&next)
			second := m.Compute(demandtest.Noon.Time().Add(tc.later), &next, tc.pools...)
			if first.Err != nil || second.Err != nil || !second.Demand.Known {
				t.Fatalf("the answers are %+v and %+v", first, second)
			}
			if again := &first.Demand.Partitions[0] != &second.Demand.Partitions[0]; again != tc.again {
				t.Errorf("computed again: %v", again)
			}
		})
	}
}

package memo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slowTime is how long the demand of the slow cluster takes.
const slowTime = time.Hour

// slowMemo takes slowTime for each snapshot with the partition "slow".
func slowMemo() *Memo {
	return &Memo{compute: func(ctx context.Context, now time.Time, s *slurmclient.Snapshot, pools ...demand.Pool) (demand.Demand, error) {
		if s.Partitions.Value[0].Name == "slow" {
			select {
			case <-time.After(slowTime):
			case <-ctx.Done():
				return demand.Demand{}, ctx.Err()
			}
		}
		return demand.ComputeContext(ctx, now, s, pools...)
	}}
}

// snapshotOf returns a snapshot with one partition.
func snapshotOf(partition string, sequence uint64) *slurmclient.Snapshot {
	s := &slurmclient.Snapshot{}
	s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
	s.Partitions.Value, s.Jobs.Sequence = []*slurm.Partition{{Name: partition}}, sequence
	return s
}

func TestASlowClusterDelaysNoOtherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast := slowMemo(), slowMemo()
		begin := time.Now()
		done := make(chan struct{})
		go func() { slow.Compute(begin, snapshotOf("slow", 1)); close(done) }()
		synctest.Wait()
		answer, err := fast.ComputeContext(t.Context(), begin, snapshotOf("fast", 1))
		if took := time.Since(begin); took > 0 || err != nil || !answer.Demand.Known {
			t.Errorf("the fast cluster took %s: %+v, %v", took, answer, err)
		}
		<-done
		if took := time.Since(begin); took != slowTime {
			t.Errorf("the slow cluster took %s", took)
		}
	})
}

func TestAKnownAnswerDoesNotWaitForANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, begin := slowMemo(), time.Now()
		old := m.Compute(begin, snapshotOf("fast", 1))
		done := make(chan struct{})
		go func() { m.Compute(begin, snapshotOf("slow", 2)); close(done) }()
		synctest.Wait()
		again := m.Compute(begin, snapshotOf("fast", 1))
		if took := time.Since(begin); took > 0 || &again.Demand.Partitions[0] != &old.Demand.Partitions[0] {
			t.Errorf("the known answer took %s", took)
		}
		<-done
	})
}

func TestConcurrentCallersGetOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, begin := slowMemo(), time.Now()
		answers := make(chan Answer)
		for range 3 {
			go func() { answers <- m.Compute(begin, snapshotOf("slow", 1)) }()
		}
		first, second, third := <-answers, <-answers, <-answers
		if took := time.Since(begin); took != slowTime {
			t.Errorf("three callers took %s", took)
		}
		for _, other := range []Answer{second, third} {
			if &first.Demand.Partitions[0] != &other.Demand.Partitions[0] {
				t.Error("an answer was computed twice")
			}
		}
	})
}

func TestACanceledCallRemembersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, begin := slowMemo(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waiting := make(chan error)
		go func() {
			_, err := m.ComputeContext(ctx, begin, snapshotOf("slow", 1))
			waiting <- err
		}()
		synctest.Wait()
		// A caller that only waits for the other one returns at the deadline, too.
		answer, err := m.ComputeContext(ctx, begin, snapshotOf("fast", 2))
		if !errors.Is(err, context.DeadlineExceeded) || answer.Demand.Known || answer.Err != nil {
			t.Errorf("the answer of the waiting call is %+v, %v", answer, err)
		}
		if err := <-waiting; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error of the computing call is %v", err)
		}
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("the calls ended after %s", took)
		}
		if answer := m.Compute(begin, snapshotOf("slow", 1)); !answer.Demand.Known || time.Since(begin) != time.Minute+slowTime {
			t.Errorf("after %s the answer is %+v", time.Since(begin), answer)
		}
	})
}

func TestACallerTakesOverFromACanceledOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, begin := slowMemo(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _, _ = m.ComputeContext(ctx, begin, snapshotOf("slow", 1)) }()
		synctest.Wait()
		answer := m.Compute(begin, snapshotOf("slow", 1))
		if took := time.Since(begin); !answer.Demand.Known || took != time.Minute+slowTime {
			t.Errorf("the answer after %s is %+v", took, answer)
		}
	})
}

// TestCallersGetTheirTurnInOrder: a caller that computes one answer after the other does not delay the others.
func TestCallersGetTheirTurnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []uint64
		m := &Memo{compute: func(_ context.Context, _ time.Time, s *slurmclient.Snapshot, _ ...demand.Pool) (demand.Demand, error) {
			order = append(order, s.Jobs.Sequence) // only one call runs at a time
			time.Sleep(10 * time.Second)
			return demand.Demand{Known: true}, nil
		}}
		begin, wait := time.Now(), sync.WaitGroup{}
		wait.Go(func() {
			for sequence := uint64(1); sequence < 9; sequence += 3 {
				m.Compute(begin, snapshotOf("busy", sequence))
			}
		})
		for _, sequence := range []uint64{2, 3} {
			synctest.Wait()
			wait.Go(func() { m.Compute(begin, snapshotOf("busy", sequence)) })
		}
		wait.Wait()
		if want := []uint64{1, 2, 3, 4, 7}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
	})
}

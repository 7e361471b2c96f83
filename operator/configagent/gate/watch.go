package gate

import (
	"context"
	"maps"
	"time"
)

// A gate that is closed for longer than forgottenAfter was closed by an agent that has ended.
const (
	forgottenAfter = time.Minute
	watchInterval  = 5 * time.Second
)

// Watch opens a gate that an agent left closed, until the context ends. It also gives partitions new states in slurm.conf that
// Close and Open could not apply, or that slurmctld started with.
func (g Gate) Watch(ctx context.Context) { g.openForgotten(ctx, watchInterval, forgottenAfter) }

func (g Gate) openForgotten(ctx context.Context, interval, forgotten time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var applied map[string]string
	var failed error
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := g.closed().RestoreLost(ctx)
		if err != nil && ctx.Err() == nil {
			g.Log.Error("partitions may be DOWN as they were during a reconfigure", "err", err)
		}
		age, closed := g.closed().Age()
		if closed && age < forgotten {
			continue // a reconfigure is in progress, and a state could open a partition
		}
		applied, err = g.applyChanged(ctx, applied)
		if err != nil && ctx.Err() == nil && (failed == nil || err.Error() != failed.Error()) {
			g.Log.Warn("partitions do not have their states in slurm.conf yet", "err", err)
		}
		failed = err
		if !closed {
			continue
		}
		if err := g.Open(ctx); err == nil {
			g.Log.Warn("partitions that were DOWN for a reconfigure are UP again")
		} else if ctx.Err() == nil {
			g.Log.Error("partitions are still DOWN for a reconfigure", "err", err)
		}
	}
}

// applyChanged applies the partition states in slurm.conf if they differ from the applied ones, and returns the applied states.
// nil means that none are applied. Beside a standby it does nothing.
func (g Gate) applyChanged(ctx context.Context, applied map[string]string) (map[string]string, error) {
	wanted, err := g.Conf.Wanted()
	if err != nil || applied != nil && maps.Equal(wanted, applied) || g.Serves != nil && g.Serves(ctx) != nil {
		return applied, nil
	}
	if err := g.applyStates(ctx); err != nil {
		return applied, err
	}
	return wanted, nil
}

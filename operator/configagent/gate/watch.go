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

// Watch opens a gate that an agent has left closed, and gives partitions new states in slurm.conf that neither Close nor Open
// could give, or with which slurmctld has started, until the context ends.
func (g Gate) Watch(ctx context.Context) { g.openForgotten(ctx, watchInterval, forgottenAfter) }

func (g Gate) openForgotten(ctx context.Context, interval, forgotten time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var applied map[string]string
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := g.closed().RestoreLost(ctx); err != nil && ctx.Err() == nil {
			g.Log.Error("partitions may be DOWN as they were during a reconfigure", "err", err)
		}
		age, closed := g.closed().Age()
		if closed && age < forgotten {
			continue // a reconfigure is in progress, and a state could open a partition
		}
		applied = g.applyChanged(ctx, applied)
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

// applyChanged gives partitions the states in slurm.conf if these differ from the applied ones, nil for none, and returns those
// that are applied. Without a change, or beside a standby, it does nothing: of several agents the last one to get a revision would
// take the states of the first one back.
func (g Gate) applyChanged(ctx context.Context, applied map[string]string) map[string]string {
	wanted, err := g.Conf.Wanted()
	if err != nil || applied != nil && maps.Equal(wanted, applied) || g.Serves != nil && g.Serves(ctx) != nil || g.applyStates(ctx) != nil {
		return applied
	}
	return wanted
}

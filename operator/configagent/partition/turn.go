package partition

import "context"

// turn has a value while states of partitions are changed. The process has one: its Watches run while another goroutine gives
// slurmctld a revision. What is read from a record and from slurmctld must still hold when a state is set.
var turn = make(chan struct{}, 1)

// takeTurn waits until no other goroutine changes states of partitions, and keeps the turn until the returned function is called.
func takeTurn(ctx context.Context) (end func(), err error) {
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

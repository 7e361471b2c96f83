package partition

import "context"

// turn has a value while states of partitions are changed. It is one for the process, whose Watches run beside what gives slurmctld
// a revision: what one reads of a record and of slurmctld must still hold when it sets a state.
var turn = make(chan struct{}, 1)

// takeTurn waits until nobody else in this process changes states of partitions, until the returned function is called.
func takeTurn(ctx context.Context) (end func(), err error) {
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

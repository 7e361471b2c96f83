package slurmclient

import "runtime/debug"

// Guard calls f. If f panics, Guard returns an error with CodePanic from which PanicOf returns the
// stack. op names what f does, such as "computing the demand".
//
// Programs that serve several clusters guard what they compute from the data of each cluster, so
// that a defect exposed by one cluster affects only that cluster.
func Guard(op string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Code: CodePanic, Op: op, Err: &Panic{Value: v, Stack: debug.Stack()}}
		}
	}()
	f()
	return nil
}

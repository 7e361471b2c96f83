package slurmclient

import "runtime/debug"

// Guard calls f. When f panics, it returns an error with CodePanic in which PanicOf finds
// the stack. op says what f does, such as "computing the demand".
//
// Programs that serve several clusters guard what they compute of each cluster's data, so
// that a defect which one cluster brings to light is an error of that cluster.
func Guard(op string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Code: CodePanic, Op: op, Err: &Panic{Value: v, Stack: debug.Stack()}}
		}
	}()
	f()
	return nil
}

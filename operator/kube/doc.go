// Package kube has what every reconciler does with its own object: it patches the status, adds and
// removes the finalizer, comes back after a conflict, and names the object in its logs.
//
// Every write applies only to the version that was observed: others keep conditions and finalizers
// in the same lists, which a merge patch replaces as a whole. A write that finds another version
// fails with a conflict, after which the reconciler observes again.
package kube

// Package explain tells why a NodeSet has as many workers as it has, and why a job
// waits. It is pure: what was observed goes in, a report comes out.
//
// How many workers are needed is the metrics adapter's word. What that number is made of
// beyond its metrics is computed of what the view shows, by the same rules (package
// demand), and told as such only where it comes to the adapter's numbers. Who would go
// in a scale-in is asked of the operator's own rules (operator/nodeset/plan).
package explain

// Package explain explains the number of workers of a NodeSet and why a job waits. It is pure: it
// turns observations into a report.
//
// The number of required workers comes from the metrics adapter. The parts of that number without a
// metric are computed from the view by the same rules (package demand), and shown only if the
// result matches the adapter's numbers. The candidates of a scale-in come from the operator's own
// rules (operator/nodeset/plan).
package explain

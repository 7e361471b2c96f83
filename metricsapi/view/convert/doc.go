// Package convert converts Slurm's records to the objects of the view, and back. It is pure.
//
// A record that was converted there and back lacks the fields that the view does not carry; the
// test of the package lists them. Package demand uses some of them: tasks and CPUs per node, GRES
// per job, per task and per socket. Numbers that are computed from such records may differ from
// those of the metrics adapter.
//
// In objects, absent, unset and (apart from limits) infinite numbers are omitted, and so are unset
// times and Never.
package convert

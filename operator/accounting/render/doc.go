// Package render builds the Kubernetes objects of an Accounting: a ConfigMap with slurmdbd.conf without the
// password, the Service of slurmdbd and its StatefulSet. All functions are pure: no client, no clock, no
// randomness; the same input gives the same bytes.
//
// There is one slurmdbd. While it is away, slurmctld keeps the records and sends them afterwards. A backup could write
// into the database beside it (docs/development/slurm.md, "Two slurmdbds").
package render

// Package render builds the Kubernetes objects of an Accounting: a ConfigMap with slurmdbd.conf without the
// password, the Service of slurmdbd and its StatefulSet. All functions are pure: no client, no clock, no
// randomness; the same input gives the same bytes.
//
// The operator runs one slurmdbd. While it is down, slurmctld keeps the records and sends them afterwards. A backup
// could write to the database at the same time (docs/development/slurm.md, "Two slurmdbds").
package render

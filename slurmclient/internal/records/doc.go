// Package records works on lists of Slurm's records that are sorted by key: jobs by id, nodes by name.
// It is pure. A record is never modified, and one that did not change stays the same object from list
// to list, so that snapshots share it and comparing pointers finds the changes.
package records

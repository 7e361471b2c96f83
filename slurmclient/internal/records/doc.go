// Package records works on lists of Slurm's records that are sorted by key: jobs by id, nodes by name. It is pure.
// Records are never modified. An unchanged record stays the same object from list to list, so snapshots share it, and
// comparing pointers finds the changes.
package records

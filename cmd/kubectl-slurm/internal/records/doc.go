// Package records reads what the plugin needs from Slurm's records: the ids and tasks of jobs, and a
// snapshot for package demand. It is pure. Package convert makes records of the view's objects.
package records

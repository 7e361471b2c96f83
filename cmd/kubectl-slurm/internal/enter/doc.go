// Package enter chooses the pod and the command with which kubectl slurm logs and shell reach a job. It is pure.
//
// The commands run with the user ID of the job's user, whatever user the container has: a job may not make a reader of its
// output read files of root.
package enter

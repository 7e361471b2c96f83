// Package menagerie runs every program against many kinds of real Slurm clusters and
// compares what they tell with what Slurm's own commands tell.
package menagerie

// Package menagerie runs every program against many kinds of real Slurm clusters and compares their output with Slurm's
// own commands.
package menagerie

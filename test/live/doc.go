// Package live holds the operator's Slurm clients and the tokens that it issues to real
// Slurm. Its tests are tagged e2e.
package live

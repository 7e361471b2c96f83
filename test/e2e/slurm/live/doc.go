// Package live tests the operator's Slurm clients and the tokens that it issues against real Slurm.
// Its tests have build tag e2e.
package live

// Package rights compares what tokens of different users read on real Slurm, with and without PrivateData.
package rights

// Package delta reads the jobs of a cluster without requesting the list of all jobs in every poll,
// since the cost of that list to slurmrestd grows with the square of its length. See Reader for what a
// poll reads instead. What is read, and what the answers mean, is decided by poll and doubts, which do
// no I/O. A Reader serves one goroutine.
package delta

// Package delta reads the jobs of a cluster without requesting the list of all jobs in every poll. The cost of that
// list to slurmrestd grows with the square of its length. Reader describes the requests of a poll. poll and doubts,
// which do no I/O, choose the requests and interpret the answers. A Reader serves one goroutine.
package delta

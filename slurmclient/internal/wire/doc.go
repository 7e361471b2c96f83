// Package wire turns slurmrestd's answers into the nouns of package slurm.
//
// The lists of nodes and jobs, which are the whole cost of polling, are decoded
// as a stream (List): one record at a time, straight into the noun, and each
// record against the one before it (see record.go). All else goes through the
// generated bindings of slurmclient/api, one binding per API version.
package wire

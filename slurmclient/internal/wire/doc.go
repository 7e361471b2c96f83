// Package wire decodes slurmrestd's answers into the types of package slurm.
//
// The lists of nodes and jobs cause nearly the whole cost of polling. They are decoded as a stream
// (DecodeNodes, DecodeJobs), one record at a time and each record against the previous one (see
// recordDecoder). All other answers are decoded by the generated bindings in slurmclient/api, one
// binding per API version.
package wire

// Package slurmclients keeps one Slurm client and one cache for each Controller and Cluster. All
// reconcilers of the operator share them.
//
// Clusters follows the objects: it starts a Cluster when its object is created, stops it when the
// object is deleted, and reconnects when the server, the token or the certificates change. A
// Cluster has the last Reading, the error that prevents reading, and the writes. Decisions are
// based on a Reading, which is built once per snapshot.
//
// Unknown is never treated as none: a Reading is incomplete until nodes and jobs were read, and while the
// nodes of a job cannot be determined.
package slurmclients

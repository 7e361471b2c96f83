// Package live keeps one Slurm client and one cache for each Controller and Cluster,
// for all reconcilers of the operator to share.
//
// Clients follows the objects: a client comes and goes with its object and connects
// anew when server, token or certificates change. Slurm is one of them: what was
// last read of it, why it cannot be reached, and the writes. Reading is what a
// decision rests on; it is made once for each snapshot, however many ask for it.
//
// Nothing here takes what is unknown for nothing: before nodes and jobs were read,
// and while a job cannot be placed on its nodes, a reading is not complete.
package live

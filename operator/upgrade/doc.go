// Package upgrade keeps the image of a daemon from changing to a release of Slurm with which the other daemons of its
// cluster, or what it has stored, would not work. Package releases has the rules.
//
// A reconciler renders its objects and gives them to a Guard. Where the image is another one than that of the workload,
// the Guard looks up the releases that it does not know, and puts the image that the workload has in the place of the
// new one until the new one is allowed:
//
//	image changed ──► Unknown, LookupFailed ──► Allowed ──► all pods have it
//	                        │    ▲                 ▲
//	                        ▼    │                 │
//	                  WaitingForSlurmdbd, WaitingForSlurmctld, TooOld, Downgrade
//
// NodeSets have no workload: their reconciler passes what runs, and renders workers with the image of the decision.
//
// A release is looked up by a pod with the image, which writes what "slurmctld -V" prints, or "sinfo -V" in an image of
// login pods, as its termination message.
// The first image of an object is not looked up until somebody needs to know it: an object of the cluster with
// status.nextImage asks for the releases of all others.
//
// Invariants: a workload gets another image only if Judge allows it, and after the status says so; the pod of a lookup
// is deleted after it; nothing is looked up in a cluster of which no image changes.
package upgrade

// Package view serves the API group view.slinky.slurm.net from the snapshots of Slurm clusters:
// get, list, watch and tables of jobs, nodes and partitions. Serving them makes no request to Slurm.
// Objects are read-only, apart from actions, which are off by default.
//
// A timeline (timeline.go) creates a frame whenever the records of the clusters have changed,
// and keeps some older frames. Pages continue and watches begin at a kept frame. Frames share
// unchanged records, so a frame costs a slice of pointers. A frame's version is the
// resourceVersion: the time at which the frame was created, in microseconds. A version of
// another replica, or from before a restart, is therefore not mistaken for one of ours: it is
// expired, and the client lists again.
//
// criteria (criteria.go) are what a request selects, and a viewer (viewer.go) is who sent it.
// Pages of a frame (page.go) and changes between two frames (changes.go) are computed by pure
// functions. Only records that are shown are converted to Kubernetes objects.
//
// If records could not be read, or are too old, the response is 503 with the reason and never an
// empty list.
package view

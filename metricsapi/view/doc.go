// Package view serves the API group view.slinky.slurm.net from the snapshots of Slurm
// clusters: get, list, watch and tables of jobs, nodes and partitions. Nothing is
// written to, and a request makes none to Slurm.
//
// A timeline (timeline.go) makes a frame of what the clusters last read whenever that
// is something else, and keeps some frames back: they are what a page goes on from,
// and where a watch begins. Frames share the objects that did not change, so that one
// costs a slice of pointers. A frame's version is the resourceVersion; it is the time
// at which it was made, in microseconds, so that a version of another replica, or from
// before a restart, is never taken for one of ours: it is "expired", and the client
// lists anew.
//
// What a request selects is a selection (selection.go), who asks a viewer (viewer.go);
// a page of a frame (page.go) and the events between two frames (events.go) are pure.
// Kubernetes' objects are made of the records that are shown and of no others.
//
// What could not be read, or not lately enough, is 503 with the reason and never an
// empty list.
package view

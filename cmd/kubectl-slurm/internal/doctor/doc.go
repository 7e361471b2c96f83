// Package doctor finds the usual faults of Slurm on Kubernetes, and tells for each a
// cure in one line. It is pure: what was observed and the time go in, findings come
// out, in a steady order.
//
// What could not be read is no finding of its own kind, and never counts as well: it
// is listed as not checked, unless the user lacks a right that the plugin needs.
package doctor

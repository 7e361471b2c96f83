// Package doctor finds common faults of Slurm on Kubernetes and suggests a one-line cure for each.
// It is pure: it turns observations and the time into findings in a stable order.
//
// What could not be read produces no finding and does not count as healthy: it is reported as not
// checked. If the user lacks a permission that the plugin needs, that is a finding.
package doctor

// Package render builds the Kubernetes objects and the configuration files of a Controller: the
// ConfigMap with slurm.conf, the Services and the StatefulSet of slurmctld. All functions are pure:
// no client, no clock, no randomness; the same input gives the same bytes.
//
// The pod is built in layers, as package podspec merges them: our defaults, then spec.template, then
// spec.slurmctld and spec.logfile over their containers.
//
// The configuration is not part of the pod template: a change reaches slurmctld by a reconfiguration
// and never replaces the pod.
package render

// Package render makes Kubernetes objects and Slurm's texts from the spec of a
// NodeSet: pods of workers, their Service, disruption budget, claims and revisions,
// slurmd's configuration and the FUTURE records. All functions are pure: no client,
// no clock, no randomness; the same input gives the same bytes.
//
// # What wins
//
// A worker's pod is made in layers: our defaults, then spec.template, then
// spec.slurmd and spec.logfile over their containers. Layers are laid over one
// another by strategic merge on the JSON as the user wrote it, so false, 0 and ""
// win over our defaults and null takes one away. Beyond the strategic merge:
//
//   - Where Kubernetes allows one of several (a probe's or a hook's handler, the
//     source of a volume or of a variable) the user's replaces ours.
//   - Tolerations, required anti-affinity and DNS searches of ours stay beside the user's.
//   - spec.slurmd.args follow ours, unless spec.slurmd.command is given too.
//   - The name of the slurmd container and the labels by which workers are found are
//     ours alone.
//
// # When workers are replaced
//
// A revision is a hash of what the user wrote (template, slurmd, logfile, extraConf,
// ssh, ordinalPadding, oversubscribeNode, securityProfile), of how slurmctld is
// reached and of the hashes of what the pods are given. Our defaults and the default
// image are no part of it: a new version of the operator with other defaults makes
// new workers by them and leaves those that run alone. Neither are replicas, the
// update and drain policies and pinToNode, which say nothing of what runs in a pod.
// White space and the order of keys make no difference.
package render

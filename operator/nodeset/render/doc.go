// Package render builds Kubernetes objects and Slurm's texts from the spec of a NodeSet: the pods
// of workers, their Service, disruption budget, claims and revisions, slurmd's configuration and
// the FUTURE records. All functions are pure: no client, no clock, no randomness; the same input
// gives the same bytes.
//
// # Precedence
//
// The pod of a worker is rendered in layers: our defaults, then spec.template, then spec.slurmd and
// spec.logfile over their containers. The layers are combined by strategic merge of the user's original JSON,
// so false, 0 and "" override our defaults, and null removes one. In addition to the strategic merge:
//
//   - Where Kubernetes allows one of several alternatives (the handler of a probe or hook, the
//     source of a volume or variable), the user's replaces ours.
//   - Our tolerations, required anti-affinity and DNS searches stay beside the user's.
//   - spec.slurmd.args follow our arguments, unless spec.slurmd.command is set too.
//   - Users cannot change the name of the slurmd container and the labels by which workers are
//     selected.
//
// # When workers are replaced
//
// A revision is a hash of the user's fields (template, slurmd, logfile, extraConf, ssh, ordinalPadding,
// oversubscribeNode, securityProfile), of the address of slurmctld, and of the hashes of the data given to
// the pods. Our defaults and the default image are not part of it: a new operator version with other defaults
// uses them for new workers and does not change running ones. Neither are replicas, the update and drain
// policies and pinToNode, which do not affect what runs in a pod. White space and the order of keys make no
// difference.
package render

// Package controller reconciles Controllers: it runs slurmctld in a StatefulSet and writes slurm.conf.
//
// Package daemon has the order of the steps, and pass.go the steps of a Controller. observe reads everything that a
// Controller refers to: the ConfigMaps of its users, its NodeSets and their autoscalers, its Accounting. Package render
// builds the objects, and package status computes the status.
//
// Whoever changes a ConfigMap to which a Controller refers changes the configuration. So the
// operator copies all files into one ConfigMap of its own, which slurmctld's pods mount.
package controller

// Package observe reads what the plugin shows, through the Kubernetes API alone: the
// custom resources, custom metrics, the view of Slurm, and what scales NodeSets. It
// writes nothing, and decides nothing but what an error means for people.
package observe

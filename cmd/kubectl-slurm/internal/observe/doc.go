// Package observe reads everything that the plugin shows through the Kubernetes API: custom
// resources, custom metrics, the view of Slurm, and HPAs. It writes nothing. Its only decision is
// how to explain errors.
package observe

// Package partition lists partitions of a running slurmctld, and overrides their states for a while. It remembers the
// earlier states, and restores them unless they were changed meanwhile.
package partition

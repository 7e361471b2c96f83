// Package partition lists partitions of a running slurmctld, and sets their states for a while: it remembers the states that
// they had, and gives them back unless somebody has changed them meanwhile.
package partition

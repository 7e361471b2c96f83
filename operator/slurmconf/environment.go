package slurmconf

import (
	"slices"
	"strings"
)

// Variables of the environment that change the requests or the output of Slurm's commands (squeue(1), sinfo(1), scontrol(1)), by
// prefix and by name. With SQUEUE_PARTITION, for example, "squeue --all --states=all" prints no job of other partitions, and
// succeeds (measured on 26.05).
var (
	clientPrefixes  = []string{"SACCTMGR_", "SCONTROL_", "SDIAG_", "SINFO_", "SQUEUE_"}
	clientVariables = []string{"SLURM_BITSTR_LEN", "SLURM_CLUSTERS", "SLURM_TIME_FORMAT", "SLURM_TOPO_LEN"}
)

// CommandEnvironment returns an environment with variables such as SLURM_CONF=/etc/slurm/slurm.conf, without the variables that
// change the output of Slurm's commands.
func CommandEnvironment(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(clientVariables, name) ||
			slices.ContainsFunc(clientPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

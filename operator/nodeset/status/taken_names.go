package status

import (
	"fmt"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// formatTakenNames names the Slurm nodes that may still run without a pod, and the way out; empty for none.
func formatTakenNames(taken []string) string {
	if len(taken) == 0 {
		return ""
	}
	names := observed.CleanReason(hostlist.Compress(taken))
	return fmt.Sprintf("; Slurm nodes %s have no pod, but slurmd may still run there: no worker is created with their names until they are drained and have no job; if their machines are off, run: scontrol update nodename=%s state=down reason='%spowered off'",
		names, names, v1beta1.DrainReasonPrefix)
}

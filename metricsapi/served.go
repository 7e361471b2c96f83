package metricsapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// served returns, for each pool, the partitions that it serves, sorted: those that
// the pool names itself, those that have one of its nodes or of its FUTURE
// records, and those whose configuration names its nodes by their feature, as the
// operator's slurm.conf does, or takes all nodes.
func served(s *slurmclient.Snapshot, pools []demand.Pool) [][]string {
	of := map[string]map[string]bool{}
	for _, p := range pools {
		of[p.Feature] = map[string]bool{}
	}
	for _, n := range s.Nodes.Value {
		for _, features := range [...][]string{n.Features, n.ActiveFeatures} {
			for _, f := range features {
				if names, ours := of[f]; ours {
					for _, partition := range n.Partitions {
						names[partition] = true
					}
				}
			}
		}
	}
	for _, p := range s.Partitions.Value {
		for item := range strings.SplitSeq(p.NodeSets, ",") {
			if item == "ALL" {
				for _, names := range of {
					names[p.Name] = true
				}
			} else if names, ours := of[item]; ours {
				names[p.Name] = true
			}
		}
	}
	out := make([][]string, len(pools))
	for i, p := range pools {
		names := slices.AppendSeq(slices.Clone(p.Partitions), maps.Keys(of[p.Feature]))
		slices.Sort(names)
		out[i] = slices.Compact(names)
	}
	return out
}

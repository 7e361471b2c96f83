//go:build e2e

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
)

// TestNodeSetsWithNamesOfSlurmNodes: whichever of the NodeSets w and w-0 is older, slurmctld starts with the listed
// one, and a Slurm node can be created for each worker. With both, slurmctld would end.
func TestNodeSetsWithNamesOfSlurmNodes(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		base := string(text) + "ReconfigFlags=KeepPartState\n"
		first := a.want(base, "")
		a.start()
		a.awaitApplied(first)
		create := func(node string) {
			t.Helper()
			a.run("scontrol", "create", "NodeName="+node, "State=FUTURE", "CPUs=1", "Feature=w")
		}
		create("w-0")
		a.awaitHeld(a.want(base+"NodeSet=w Feature=w\nNodeSet=w-0 Feature=w-0\n", ""), "NameTaken", "w-0")

		for _, tc := range []struct {
			older   string
			listed  []string
			workers []string
		}{
			{"w", []string{"w"}, []string{"w-0", "w-1"}},
			{"w-0", []string{"w", "w-0"}, []string{"w-1"}},
		} {
			a.run("scontrol", "delete", "NodeName=w-0")
			var sets []names.NodeSetNames
			for _, name := range []string{"w", "w-0"} {
				n := names.NodeSetNames{Name: name, UID: name, Created: time.Unix(2, 0), Prefix: name + "-", Bound: 2}
				if name == tc.older {
					n.Created = time.Unix(1, 0)
				}
				sets = append(sets, n)
			}
			assigned, conf := names.Assign(sets, nil), base
			for _, n := range sets {
				if assigned.LeftOut[n.Name] == "" {
					conf += "NodeSet=" + n.Name + " Feature=" + n.Name + "\nPartitionName=" + n.Name + " Nodes=" + n.Name + "\n"
				}
			}
			a.awaitApplied(a.want(conf, ""))
			for _, name := range []string{"w-0", "w-1"} {
				if assigned.Reserved[name] == "" {
					create(name)
				}
			}
			a.awaitApplied(a.want(conf+"# reconfigured\n", ""))
			shown, partitions := a.run("scontrol", "--future", "--oneliner", "show", "nodes"), a.run("scontrol", "--oneliner", "show", "partitions")
			for _, name := range tc.workers {
				if !strings.Contains(shown, "NodeName="+name+" ") {
					t.Errorf("with the older NodeSet %s there is no Slurm node %s", tc.older, name)
				}
			}
			for _, name := range tc.listed {
				if !strings.Contains(partitions, "PartitionName="+name+" ") {
					t.Errorf("with the older NodeSet %s there is no partition %s", tc.older, name)
				}
			}
			if tc.older == "w" {
				a.run("scontrol", "delete", "NodeName=w-1")
			}
		}
	})
}

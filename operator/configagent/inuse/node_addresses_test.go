package inuse

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestMovedNodes: slurmctld looks for slurmd only at the new address.
func TestMovedNodes(t *testing.T) {
	const before = "NodeName=n[1-3] CPUs=4 NodeAddr=10.0.0.[1-3] Port=[7001-7003]"
	for _, tc := range []struct{ name, before, after, want string }{
		{"the same", before, before + " Weight=1", ""},
		{"written apart", before, "NodeName=n3 NodeAddr=10.0.0.3 Port=7003\nNodeName=DEFAULT Port=[7001-7002]\nnodename=n[1-2] nodeaddr=10.0.0.[1-2]", ""},
		{"another order of nodes", before, "NodeName=n[2-3],n1 NodeAddr=10.0.0.[1-3] Port=[7001-7003]", "n1 n2 n3"},
		{"another port", before, "NodeName=n[1-3] NodeAddr=10.0.0.[1-3] Port=[7001-7002],7009", "n3"},
		{"no addresses any more", before, "NodeName=n[1-3] Port=[7001-7003]", "n1 n2 n3"},
		{"a node that is removed", before, "NodeName=n[1-2] NodeAddr=10.0.0.[1-2] Port=[7001-7002]", ""},
		{"an address", "NodeName=n1", "NodeName=n1 NodeAddr=192.0.2.9", "n1"},
		{"a host", "NodeName=n1 NodeAddr=a", "NodeName=n1 NodeAddr=a NodeHostname=a", "n1"},
		{"its name as its address", "NodeName=n1", "NodeName=n1 NodeAddr=n1 NodeHostname=n1", ""},
		{"one host of several nodes", "NodeName=n[1-2] NodeHostname=a Port=[1-2]", "NodeName=n1 NodeHostname=a Port=1\nNodeName=n2 NodeHostname=a Port=2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := readConf(filesOf("slurm.conf", tc.before)).movedNodes(readConf(filesOf("slurm.conf", tc.after)))
			if strings.Join(got, " ") != tc.want {
				t.Errorf("the nodes are %v, want %s", got, tc.want)
			}
		})
	}
}

// TestAStaticNodeIsFoundElsewhere: its slurmd does not answer at the new place, and slurmctld requeues the jobs of a node that is DOWN.
func TestAStaticNodeIsFoundElsewhere(t *testing.T) {
	const before = inForce + "NodeName=n1 CPUs=4"
	for _, option := range []string{"NodeAddr=192.0.2.9", "Port=29999", "NodeHostname=other"} {
		hold := func(c *cluster) string {
			return c.holdFiles(filesOf("slurm.conf", before), filesOf("slurm.conf", before+" "+option, slurmconf.RevisionFile, "2"))
		}
		c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
		c.expect(hold(c), "NodeInUse: it changes NodeAddr, NodeHostname or Port of nodes with jobs, which slurmctld would set DOWN "+
			"when they do not answer there, and end these jobs: n1 (job 5)")
		c.write("down", "")
		c.expect(hold(c), "it changes NodeAddr, NodeHostname or Port of the nodes n1, and slurmctld does not say which jobs there are")
		c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
		c.expect(hold(c), "")
		c = newCluster(t, "5|PENDING|a|n1||N/A|N/A|N/A|N/A|\n") // it waits for the node, which may answer there
		c.expect(hold(c), "")
	}
}

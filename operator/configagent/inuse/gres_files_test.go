package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestFilesOfGRES: a slurmd that lacks a file of gres.conf ends at the reconfigure, and in a pod its jobs with it.
func TestFilesOfGRES(t *testing.T) {
	const nodes = "NodeName=cpu-0 Arch=x86_64 Gres=(null) NodeAddr=a\nNodeName=gpu-0 Arch=x86_64 Gres=gpu:h100:4(S:0-1),shard:8 NodeAddr=b\n"
	onCPU, onGPU := "5|RUNNING|a||cpu-0|N/A|N/A|N/A|N/A|\n", "6|COMPLETING|a||gpu-0|N/A|N/A|N/A|N/A|\n"
	const lacks = "GresInUse: gres.conf names files that nodes may lack, with which their slurmd would end and their jobs with it"
	for _, tc := range []struct{ name, jobs, before, after, want string }{
		{"for all nodes", onCPU + onGPU, "", "Name=gpu File=/dev/nvidia[0-3]", lacks + ": cpu-0 (job 5); give the lines a NodeName"},
		{"for all nodes, while nodes without GRES are idle", onGPU, "", "Name=gpu File=/dev/nvidia[0-3]", ""},
		{"while a job waits for the node", "7|PENDING|a|cpu-0||N/A|N/A|N/A|N/A|\n", "", "Name=gpu File=/dev/nvidia[0-3]", ""},
		{"for the nodes with GPUs", onCPU + onGPU, "", "NodeName=gpu-[0-7] Name=gpu File=/dev/nvidia[0-3]", ""},
		{"the name comes later", onCPU + onGPU, "", "name=gpu nodename=gpu-[0-7] file=/dev/nvidia[0-3]", ""},
		{"for a node without GPUs", onCPU, "", "NodeName=cpu-0 Name=gpu File=/dev/nvidia0", lacks},
		{"more than the node has", onGPU, "", "Name=gpu File=/dev/nvidia[0-7]", lacks + ": gpu-0 (job 6)"},
		{"more in two lines", onGPU, "Name=gpu File=/dev/nvidia[0-3]", "Name=gpu File=/dev/nvidia[0-3]\nName=gpu File=/dev/nvidia4", lacks},
		{"of another kind", onGPU, "", "Name=nic File=/dev/nic0", lacks},
		{"of another type", onGPU, "", "Name=gpu Type=a File=/dev/nvidia[0-1]\nName=gpu Type=b File=/dev/nvidia[2-3]", ""},
		{"of a shared kind", onGPU, "", "Name=shard Count=8 File=/dev/nvidia0", ""},
		{"several files for one", onGPU, "", "Name=gpu MultipleFiles=/dev/nvidia[0-7]", lacks},
		{"in continued lines", onCPU, "", "Name=gpu \\\n File=/dev/nvidia0", lacks},
		{"unchanged", onCPU, "Name=gpu File=/dev/nvidia0", "Name=gpu File=/dev/nvidia0", ""},
		{"another count", onCPU, "Name=gpu File=/dev/nvidia[0-3]", "Name=gpu File=/dev/nvidia[0-1]", ""},
		{"written apart", onCPU, "Name=gpu File=/dev/nvidia[0-1]", "Name=gpu File=/dev/nvidia0\nName=gpu File=/dev/nvidia1", ""},
		{"removed", onCPU + onGPU, "Name=gpu File=/dev/nvidia[0-3]", "", ""},
		{"without files", onCPU, "", "AutoDetect=nvidia\nName=gpu Count=2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			c.write("nodes", nodes)
			before, after := filesOf("slurm.conf", inForce, "gres.conf", tc.before), filesOf("slurm.conf", inForce, "gres.conf", tc.after, slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.holdFiles(before, after), "")
		})
	}
	c := newCluster(t, "")
	c.write("down", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", inForce), filesOf("slurm.conf", inForce, "gres.conf", "Name=gpu File=/dev/nvidia0")),
		"does not say which nodes and jobs there are")
}

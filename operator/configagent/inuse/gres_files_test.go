package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestFilesOfGRES: a slurmd that lacks a file of gres.conf ends at the reconfigure, and in a pod its jobs with it.
func TestFilesOfGRES(t *testing.T) {
	onCPU, onGPU := "5|RUNNING|a||cpu-0|N/A|N/A|N/A|N/A|\n", "6|COMPLETING|a||gpu-0|N/A|N/A|N/A|N/A|\n"
	const lacks = "GresInUse: gres.conf names files that nodes may lack, with which their slurmd would end and their jobs with it"
	const gpus = "NodeName=gpu-[0-3] Name=gpu File=/dev/nvidia[0-3]"
	for _, tc := range []struct{ name, jobs, before, after, want string }{
		{"for all nodes", onCPU + onGPU, "", "Name=gpu File=/dev/nvidia[0-3]", lacks + ": cpu-0 (job 5), gpu-0 (job 6); give the lines a NodeName"},
		{"for all nodes, while nodes without the files are idle", onGPU, gpus, "Name=gpu File=/dev/nvidia[0-3]", ""},
		{"while a job waits for the node", "7|PENDING|a|cpu-0||N/A|N/A|N/A|N/A|\n", "", "Name=gpu File=/dev/nvidia[0-3]", ""},
		{"for other nodes", onCPU, "", gpus, ""},
		{"for more nodes", onGPU, gpus, "NodeName=gpu-[0-7] Name=gpu File=/dev/nvidia[0-3]", ""},
		{"the node comes later", onCPU, "", "name=gpu nodename=gpu-[0-7] file=/dev/nvidia[0-3]", ""},
		{"for a busy node", onCPU, "", "NodeName=cpu-0 Name=gpu File=/dev/nvidia0", lacks},
		{"other ones, as many as before", onGPU, gpus, "NodeName=gpu-[0-3] Name=gpu File=/dev/nvidia[1-4]", lacks + ": gpu-0 (job 6)"},
		{"more in two lines", onGPU, gpus, gpus + "\nName=gpu File=/dev/nvidia4", lacks},
		{"of another kind", onGPU, gpus, gpus + "\nName=nic File=/dev/nic0", lacks},
		{"of another type", onGPU, gpus, "Name=gpu Type=a File=/dev/nvidia[0-1]\nName=gpu Type=b File=/dev/nvidia[2-3]", ""},
		{"of a shared kind", onGPU, gpus, gpus + "\nName=shard Count=8 File=/dev/nvidia0", ""},
		{"several files for one", onGPU, gpus, "Name=gpu MultipleFiles=/dev/nvidia[0-7]", lacks},
		{"another spelling of the option", onCPU, "", "Name=gpu Files=/dev/nvidia0", lacks},
		{"in continued lines", onCPU, "", "Name=gpu \\\n File=/dev/nvidia0", lacks},
		{"in an included file", onCPU, "", "Include gpus.conf", lacks},
		{"in a file of workers", onCPU, "", "Include /etc/workers/gres.conf", lacks},
		{"in a file of workers, beside new lines", onCPU, "Include /etc/workers/gres.conf", "Include /etc/workers/gres.conf\n" + gpus, ""},
		{"for nodes at which Slurm guesses", onCPU, "", "NodeName=cpu-[0-] Name=gpu File=/dev/nvidia0", lacks},
		{"for nodes at which Slurm guessed", onCPU, "NodeName=gpu-[0-] Name=gpu File=/dev/nvidia0", "Name=gpu File=/dev/nvidia0", lacks},
		{"unchanged", onCPU, "Name=gpu File=/dev/nvidia0", "Name=gpu File=/dev/nvidia0", ""},
		{"another count", onCPU, "Name=gpu File=/dev/nvidia[0-3]", "Name=gpu File=/dev/nvidia[0-1]", ""},
		{"written apart", onCPU, "Name=gpu File=/dev/nvidia[0-1]", "Name=gpu File=/dev/nvidia0\nName=gpu File=/dev/nvidia1", ""},
		{"removed", onCPU + onGPU, "Name=gpu File=/dev/nvidia[0-3]", "", ""},
		{"without files", onCPU, "", "AutoDetect=nvidia\nName=gpu Count=2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			before := filesOf("slurm.conf", inForce, "gres.conf", tc.before)
			after := filesOf("slurm.conf", inForce, "gres.conf", tc.after, "gpus.conf", "Name=gpu File=/dev/nvidia0\n", slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.holdFiles(before, after), "")
		})
	}
	c := newCluster(t, "")
	c.write("no-jobs-list", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", inForce), filesOf("slurm.conf", inForce, "gres.conf", "Name=gpu File=/dev/nvidia0")),
		"does not say which jobs there are")
}

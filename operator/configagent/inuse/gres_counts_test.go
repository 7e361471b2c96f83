package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestFewerGRES: a node that registers with fewer GRES than a job on it holds is INVAL, and slurmctld ends the job at the next
// reconfigure ("gres/gpu count mismatch on node d1 (2 != 1)").
func TestFewerGRES(t *testing.T) {
	const typed = "6|RUNNING|a||gpu-0|N/A|gres/gpu:h100:1|N/A|N/A|\n"
	const two, fewer = "Name=gpu Type=h100 File=/dev/nvidia[0-1]", "GresInUse: gres.conf counts fewer GRES of nodes, with which slurmctld would end the jobs that have them: gpu-0 (job 6); it is applied"
	for _, tc := range []struct{ name, jobs, before, after, want string }{
		{"fewer files", typed, two, "Name=gpu Type=h100 File=/dev/nvidia0", fewer},
		{"of a job without a type", "6|RUNNING|a||gpu-0|gres/gpu:1|N/A|N/A|N/A|\n", two, "Name=gpu Type=h100 File=/dev/nvidia0", fewer},
		{"of a job with shards of the device", "6|RUNNING|a||gpu-0|gres/shard:1|N/A|N/A|N/A|\n", two, "Name=gpu Type=h100 File=/dev/nvidia0", fewer},
		{"another type for one of the files", typed, two, "Name=gpu Type=h100 File=/dev/nvidia0\nName=gpu Type=a100 File=/dev/nvidia1", fewer},
		{"without one of two types", typed, two + "\nName=gpu Type=a100 File=/dev/nvidia[2-3]", two, fewer},
		{"another type, and fewer of them", typed, two, "Name=gpu Type=a100 File=/dev/nvidia0", fewer},
		{"some of the files, which another kind has had meanwhile", typed, "Name=nic File=/dev/nvidia[0-1]", "Name=gpu Type=h100 File=/dev/nvidia0\nName=nic File=/dev/nvidia1", fewer},
		{"some files, after a count", typed, "Name=gpu Type=h100 Count=2", "Name=gpu Type=h100 File=/dev/nvidia0", "GresInUse: gres.conf names files"},
		{"some files, after none", typed, "", "Name=gpu Type=h100 File=/dev/nvidia0", "GresInUse: gres.conf names files"},
		{"a count, after none of the kind", typed, "Name=nic Count=1", "Name=gpu Type=h100 Count=1", ""},
		{"a lower count, after a count", typed, "Name=gpu Type=h100 Count=2", "Name=gpu Type=h100 Count=1", ""},
		{"files of one device", typed, two, "Name=gpu Type=h100 MultipleFiles=/dev/nvidia[0-1]", fewer},
		{"a lower count instead of files", typed, two, "Name=gpu Type=h100 Count=1", fewer},
		{"a count that cannot be read instead of files", typed, two, "Name=gpu Type=h100 Count=2M", fewer},
		{"the default count", typed, two, "Name=gpu Type=h100", fewer},
		{"the default count, untyped", "6|RUNNING|a||gpu-0|gres/gpu:1|N/A|N/A|N/A|\n", "Name=gpu File=/dev/nvidia[0-1]", "Name=gpu", fewer},
		{"the default count instead of detection", typed, "AutoDetect=nvml", "Name=gpu", fewer},
		{"for other nodes alone, but one", typed, two, "NodeName=gpu-1 " + two + "\nNodeName=gpu-0 Name=gpu Type=h100 File=/dev/nvidia0", fewer},
		{"in a file of workers no more", typed, two + "\nInclude /etc/workers/gres.conf", two, fewer},
		{"not detected any more", typed, "AutoDetect=nvidia\n" + two, two, fewer},
		{"detected", typed, two, "AutoDetect=nvidia\n" + two, fewer},
		{"detected in another way", typed, "AutoDetect=nvml", "AutoDetect=nvidia", fewer},
		{"detected in another way, of another kind", "6|RUNNING|a||gpu-0|gres/fpga:1|N/A|N/A|N/A|\n", "AutoDetect=nvml", "AutoDetect=nvidia", ""},
		{"detected for another node", typed, "NodeName=gpu-[0-1] AutoDetect=nvml", "NodeName=gpu-[0-2] AutoDetect=nvml", ""},
		{"detected for another node, with a type", typed, "NodeName=gpu-[0-1] Name=gpu Type=h100 AutoDetect=nvml",
			"NodeName=gpu-[0-2] AutoDetect=nvml Type=h100 Name=gpu", ""},
		{"detected with a line for each node", typed, "NodeName=gpu-[0-1] AutoDetect=nvml",
			"NodeName=gpu-0 AutoDetect=nvml\nNodeName=gpu-1 AutoDetect=nvml", ""},
		{"detected, written in another way", typed, "AutoDetect=nvml # GPUs", "autodetect=nvml", ""},
		{"detected for other nodes alone", typed, "NodeName=gpu-[0-1] AutoDetect=nvml\n" + two, "NodeName=gpu-1 AutoDetect=nvml\n" + two, fewer},
		{"detected with another type", typed, "Name=gpu Type=h100 AutoDetect=nvml", "Name=gpu Type=a100 AutoDetect=nvml", fewer},
		{"in another file of workers", typed, two + "\nInclude /etc/workers/gres.conf", two + "\nInclude /etc/workers/gres2.conf", "GresInUse"},
		{"counted instead of in a file of workers", "6|RUNNING|a||gpu-0|gres/fpga:1|N/A|N/A|N/A|\n", "Include /etc/workers/gres.conf", "Name=FPGA Count=1", fewer},
		{"of another kind, counted instead of in a file of workers", typed, "Include /etc/workers/gres.conf", "Name=fpga Count=1", ""},
		{"for nodes at which Slurm guesses no more", typed, "NodeName=gpu-[0-] " + two, "NodeName=gpu-0 Name=gpu Type=h100 File=/dev/nvidia0", "GresInUse"},
		{"of a node without jobs", typed, "NodeName=gpu-[0-1] " + two, "NodeName=gpu-0 " + two + "\nNodeName=gpu-1 Name=gpu Type=h100 File=/dev/nvidia0", ""},
		{"of another kind", typed, two + "\nName=nic File=/dev/nic[0-1]", two + "\nName=nic File=/dev/nic0", ""},
		{"while a job waits", "6|PENDING|a|gpu-0||N/A|gres/gpu:1|N/A|N/A|\n", two, "Name=gpu Type=h100 File=/dev/nvidia0", ""},
		{"none", typed, two, "", ""},
		{"none of the kind", typed, two + "\nName=nic File=/dev/nic0", "Name=nic File=/dev/nic0", ""},
		{"a count of none", typed, two, "Name=gpu Type=h100 Count=0", ""},
		{"the default count as before", typed, "Name=gpu Type=h100 File=/dev/nvidia0", "Name=gpu Type=h100", ""},
		{"another type for all", typed, two, "Name=gpu Type=a100 File=/dev/nvidia[0-1]", ""},
		{"no type for all", typed, two, "Name=gpu File=/dev/nvidia[0-1]", ""},
		{"in another order", typed, two, "NAME=gpu File=/dev/nvidia[0-1] Type=h100", ""},
		{"fewer shards", "6|RUNNING|a||gpu-0|gres/shard:1|N/A|N/A|N/A|\n", two + "\nName=shard Count=8 File=/dev/nvidia0", two + "\nName=shard Count=4 File=/dev/nvidia0", ""},
		{"a lower count without files", "6|RUNNING|a||gpu-0|gres/nic:1|N/A|N/A|N/A|\n", "Name=nic Count=4", "Name=nic Count=2", ""},
		{"as many by count", typed, two, "Name=gpu Type=h100 Count=2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			before := filesOf("slurm.conf", inForce, "gres.conf", tc.before)
			after := filesOf("slurm.conf", inForce, "gres.conf", tc.after, slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.holdFiles(before, after), "")
		})
	}
	c := newCluster(t, "")
	c.write("no-jobs-list", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", inForce, "gres.conf", two+"\nName=gpu File=/dev/nvidia2"), filesOf("slurm.conf", inForce, "gres.conf", two)),
		"would end the jobs that have them, and slurmctld does not say which jobs there are")
}

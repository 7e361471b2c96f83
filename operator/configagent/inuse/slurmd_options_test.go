package inuse

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestSlurmdOptions: a slurmd that lacks a plugin or its cgroups ends at the reconfigure, and in a pod its jobs with it.
func TestSlurmdOptions(t *testing.T) {
	const running, waiting = "5|RUNNING|a||gpu-0|N/A|N/A|N/A|N/A|\n", "7|PENDING|a|gpu-0||N/A|N/A|N/A|N/A|\n"
	const base = inForce + "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
	for _, tc := range []struct{ name, jobs, file, before, after, want string }{
		{"a plugin that does not exist", running, "slurm.conf", base, base + "TaskPlugin=task/afinity\n",
			"NodeInUse: it changes TaskPlugin, and a slurmd that cannot use it, or does not find its steps with it, would end its jobs: gpu-0 (job 5)"},
		{"a default that needs cgroups", running, "slurm.conf", base, inForce + "TaskPlugin=task/none\n", "it changes ProctrackType, "},
		{"in another case", running, "slurm.conf", base, base + "jobacctgathertype = jobacct_gather/cgroup\n", "it changes JobAcctGatherType, "},
		{"a plugin that slurmctld may have and slurmd not", running, "slurm.conf", base, base + "AcctGatherProfileType=acct_gather_profile/influxdb\n",
			"it changes AcctGatherProfileType, "},
		{"a topology that every slurmd knows", running, "slurm.conf", base, base + "TopologyPlugin=topology/block\n", ""},
		{"no topology any more", running, "slurm.conf", base + "TopologyPlugin=topology/tree\n", base, ""},
		{"the default topology", running, "slurm.conf", base + "TopologyPlugin=topology/tree\n", base + "TopologyPlugin=topology/default\n", ""},
		{"no topology and no plugin of a switch any more", running, "slurm.conf", base + "TopologyPlugin=topology/tree\nSwitchType=switch/site\n", base,
			"it changes SwitchType, "},
		{"a topology of 26.05 alone", running, "slurm.conf", base, base + "TopologyPlugin=topology/flat\n", "it changes TopologyPlugin, "},
		{"a folder of plugins", running, "slurm.conf", base, base + "PluginDir=/usr/lib/slurm:/opt/site\n", "it changes PluginDir, "},
		{"a user", running, "slurm.conf", base, base + "SlurmdUser=site\n", "it changes SlurmdUser, "},
		{"a line of a plugin", running, "acct_gather.conf", "ProfileHDF5Dir=/a\n", "", "it changes acct_gather.conf, "},
		{"where slurmd keeps what runs", running, "slurm.conf", base, base + "SlurmdSpoolDir=/mnt/%n\n", "it changes SlurmdSpoolDir, "},
		{"a number of threads that 24.11 refuses", running, "slurm.conf", base, base + "SlurmdParameters=conmgr_threads=1\n", "it changes SlurmdParameters, "},
		{"no connections", running, "slurm.conf", base + "SlurmdParameters=config_overrides\n", base + "SlurmdParameters=config_overrides,conmgr_max_connections=0\n",
			"it changes SlurmdParameters, "},
		{"parameters of slurmd while jobs wait", waiting, "slurm.conf", base, base + "SlurmdParameters=conmgr_max_connections=0\n", ""},
		{"SPANK plugins of another file", running, "slurm.conf", base, base + "PlugStackConfig=/usr/share/site/plugstack.conf\n", "it changes PlugStackConfig, "},
		{"a feature with two programs", running, "helpers.conf", "NodeName=gpu-0 Feature=a Helper=/bin/true\n",
			"NodeName=gpu-0 Feature=a Helper=/bin/true\nNodeName=gpu-0 Feature=a Helper=/bin/false\n", "it changes helpers.conf, "},
		{"in an included file", running, "slurm.conf", base, base + "Include more.conf\n", "it changes NamespaceType, "},
		{"while jobs wait", waiting, "slurm.conf", base, base + "TaskPlugin=task/affinity\n", ""},
		{"the same value again", running, "slurm.conf", base, base + "taskplugin=\"task/none\"\n", ""},
		{"cgroups", running, "cgroup.conf", "CgroupPlugin=disabled\n", "CgroupPlugin=cgroup/v2\n", "it changes CgroupPlugin, "},
		{"no cgroup.conf", running, "cgroup.conf", "CgroupPlugin=disabled\n", "", "it changes CgroupPlugin, "},
		{"a limit of cgroups", running, "cgroup.conf", "CgroupPlugin=disabled\n", "CgroupPlugin=disabled\nAllowedRAMSpace=95\n", ""},
		{"the default of cgroups", running, "cgroup.conf", "ConstrainCores=yes\n", "IgnoreSystemd=no\nConstrainCores=TRUE\nConstrainDevices=no\n", ""},
		{"no systemd", running, "cgroup.conf", "IgnoreSystemd=no\n", "IgnoreSystemd=yes\n", "it changes IgnoreSystemd, "},
		{"a switch that is misspelt", running, "cgroup.conf", "IgnoreSystemd=no\n", "IgnoreSystemd=non\n", "it changes IgnoreSystemd, "},
		{"a required plugin", running, "plugstack.conf", "optional a.so\n", "required\ta.so x=1\n", "it changes required a.so x=1, "},
		{"an option of a required plugin", running, "plugstack.conf", "required a.so\n", "required a.so x=1\n", "it changes required a.so x=1, "},
		{"a folder of jobs", running, "job_container.conf", "BasePath=/a\n", "BasePath=/b\n", "it changes job_container.conf, "},
		{"an optional plugin", running, "plugstack.conf", "required a.so\n", "#required b.so\noptional b.so\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			before := filesOf("slurm.conf", base, tc.file, tc.before)
			after := filesOf("slurm.conf", base, tc.file, tc.after, "more.conf", "NamespaceType=namespace/tmpfs\n", slurmconf.RevisionFile, "2")
			c.expect(c.holdFiles(before, after), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.holdFiles(before, after), "")
		})
	}
	c := newCluster(t, running)
	const plugStack = base + "PlugStackConfig=/etc/slurm/site.conf\n"
	c.expect(c.holdFiles(filesOf("slurm.conf", plugStack, "site.conf", ""), filesOf("slurm.conf", plugStack, "site.conf", "required b.so\n")),
		"it changes required b.so, ")
	c = newCluster(t, "")
	c.write("no-jobs-list", "")
	c.expect(c.holdFiles(filesOf("slurm.conf", base), filesOf("slurm.conf", inForce)), "does not say which jobs there are")
}

// TestOptionsOfPluginsThatSlurmdLoads: slurmd -f of 26.05 ends without them.
func TestOptionsOfPluginsThatSlurmdLoads(t *testing.T) {
	for _, option := range []string{"AcctGatherEnergyType", "AcctGatherFilesystemType", "AcctGatherInfinibandType", "AcctGatherInterconnectType",
		"CertgenType", "CertmgrType", "HashPlugin", "NodeFeaturesPlugins", "PrEpPlugins", "SwitchType", "TLSType", "TopologyPlugin"} {
		got := changedSlurmdOptions(filesOf("slurm.conf", inForce), filesOf("slurm.conf", inForce+option+"=of/site\n"))
		if len(got) != 1 || got[0] != option {
			t.Errorf("%s=of/site changes %v", option, got)
		}
	}
}

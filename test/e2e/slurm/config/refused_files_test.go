//go:build e2e

package config

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// twoGPUs is a line of gres.conf for two nodes.
const twoGPUs = "NodeName=a[0-1] Name=gpu Type=a100 File=/dev/nvidia[0-1]"

// otherFiles are files beside slurm.conf. slurmctld itself continues with all of them.
var otherFiles = []struct {
	line, name, text string
	// refused is part of the refusal, empty if they are accepted.
	refused string
}{
	{"", "gres.conf", "AutoDetect=nvml\n", ""},
	{"", "gres.conf", "AutoDetect=nvidia\nName=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-500\n", ""},
	{"", "gres.conf", "NodeName=a[0-3] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-15 Links=-1,16,16,16\n", ""},
	{"", "gres.conf", "Name=gpu Count=4 Flags=CountOnly\nName=shard Count=16\n", ""},
	{"", "gres.conf", "Name=other Count=4\n", ""},
	{"MaxNodeCount=1\nNodeName=n17 NodeAddr=127.0.0.1\nTopologyPlugin=topology/tree", "topology.conf", "SwitchName=s Nodes=n17\n", ""},
	{"", "gres.conf", "Name=gpu\nNonsense=1\n", "(gres.conf, line 2: Nonsense=1)"},
	{"", "gres.conf", "huh\n", "huh"},
	{"", "gres.conf", "Name=gpu Count=many\n", "many"},
	{"", "gres.conf", "NodeName=a[0-3] Name=gpu Counts=4\n", "Counts"},
	{"", "gres.conf", "Name=gpu File=/dev/nvidia0 Count=7\n", "gpu"},
	{"", "gres.conf", twoGPUs + "\nNodeName=a[0-1] Name=shard Count=8\nNodeName=b Name=gpu Count=1\n", ""},
	{"", "gres.conf", twoGPUs + "\nNodeName=b AutoDetect=rsmi\nNodeName=c AutoDetect=nvml\nAutoDetect=off\n", ""},
	{"", "gres.conf", twoGPUs + " Count=4\n", "count does not match File value"},
	{"", "gres.conf", "NodeName=b Name=gpu Count=1\n" + twoGPUs + "\nNodeName=a1 Name=gpu Type=a100 Count=1\n", `some records have "File" specification while others do not`},
	{"", "gres.conf", twoGPUs + "\nNodeName=a0 Name=gpu Count=0\n", "while others do not"},
	{"", "gres.conf", twoGPUs + "\nNodeName=a0 Name=gpu File=/dev/nvidia2\n", `some records have "Type=" specification while others do not`},
	{"", "gres.conf", twoGPUs + " MultipleFiles=/dev/nvidia0\n", "File and MultipleFiles options are mutually exclusive"},
	{"", "gres.conf", "NodeName=a0 Name=gpu MultipleFiles=/dev/nvidia[0-1] Count=2\n", "count does not match File value"},
	{"", "gres.conf", "NodeName=a0 Name=gpu Count=abc\n", "invalid count abc"},
	{"", "gres.conf", "NodeName=a0 Name=gpu Count=-1\n", "invalid count value"},
	{"Prolog=p.sh", "p.sh", "#!/bin/sh\nexit 0\n", ""},
	{"Prolog=p.sh", "p.sh", "#!/bin/sh\r\nexit 0\r\n", "p.sh has the line ends of Windows"},
	{"Prolog=p.sh", "p.sh", "exit 0\n", "p.sh does not begin with #!"},
	{"Epilog=p.sh", "p.sh", "#!sh\n", "p.sh names no interpreter"},
}

// TestAgentRefusesFilesThatSlurmdDoesNotRead: at a reconfigure all slurmds would end, and in pods their jobs with them.
func TestAgentRefusesFilesThatSlurmdDoesNotRead(t *testing.T) {
	forEachRelease(t, func(t *testing.T, _ string, tr trial) {
		check := startAgent(t, tr)
		conf, err := tr.slurmConf(func(c *slurmconf.SlurmConf) { c.Extra = "GresTypes=gpu,shard" }).Render()
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range otherFiles {
			more := map[string]string{tc.name: tc.text}
			if strings.HasPrefix(tc.line, "MaxNodeCount") {
				more["gres.conf"] = "Name=gpu Count=1\n" // a node in addition to the nodes of the topology
			}
			out, err := check(t.Context(), conf+tc.line+"\n", more)
			t.Logf("%-14q %-14q %q: %s", tc.line, tc.name, tc.text, strings.TrimSpace(out))
			if (err != nil) != (tc.refused != "") || !strings.Contains(out, tc.refused) {
				t.Errorf("%q, %s %q: the error is %v, want %q", tc.line, tc.name, tc.text, err, tc.refused)
			}
		}
	})
}

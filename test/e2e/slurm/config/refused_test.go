//go:build e2e

package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// brokenLines are lines of slurm.conf with which slurmctld does not start, or not as intended, and a text that the
// refusal must contain. If the text is empty, the refusal must contain the number of the line.
var brokenLines = map[string]string{
	"Nonsense=1":                   "Nonsense",
	"MailDomain=":                  "",
	"MailDomain=a b":               "",
	"MailDomain='a b'":             "",
	"huh":                          "huh",
	"MaxJobCount=many":             "MaxJobCount",
	"MaxJobCount=-5":               "MaxJobCount",
	"MessageTimeout=soon":          "MessageTimeout",
	"TreeWidth=x":                  "TreeWidth",
	"TreeWidth=5 MessageTimeout=7": "",
	"PartitionName=main Nodes=ALL Default=maybe":                 "",
	"PartitionName=main Nodes=ALL MaxTime=soon":                  "soon",
	"PartitionName=main Nodes=ALL State=SIDEWAYS":                "SIDEWAYS",
	"PartitionName=main Nodes=nosuch":                            "main",
	"PartitionName=main Nodes=ALL Nonsense=1":                    "Nonsense",
	"PreemptMode=POLITELY":                                       "POLITELY",
	"PartitionName=main Nodes=ALL\nPartitionName=main Nodes=ALL": "duplicate",
	"NodeName=n17 CPUs=many":                                     "many",
	"NodeName=n17 Nonsense=1":                                    "Nonsense",
	"NodeName=n17 State=SIDEWAYS":                                "SIDEWAYS",
	"NodeName=n17\nNodeName=n17":                                 "n17",
	"NodeName=n17\nNodeSet=n17 Nodes=n17":                        "overlaps",
	"SelectType=select/none":                                     "cons_tres",
	"SelectTypeParameters=CR_Feet":                               "CR_Feet",
	"SchedulerType=sched/none":                                   "sched",
	"TopologyPlugin=topology/xyz":                                "opology",
	"JobSubmitPlugins=nothing":                                   "job_submit",
	"MCSPlugin=mcs/nothing":                                      "mcs", // slurmctld says before that it runs
	"PriorityType=priority/none":                                 "priority",
	"AuthAltTypes=auth/jwt,auth/nothing":                         "auth",
	"CredType=cred/nothing":                                      "cred",
	"PreemptType=preempt/nothing":                                "preempt",
	"SwitchType=switch/nothing":                                  "switch",
	"Prolog=missing.sh":                                          "there is no file missing.sh",
	"EpilogSlurmctld=/etc/slurm/missing.sh":                      "there is no file missing.sh",
	"SlurmUser=nobodyelse":                                       "nobodyelse",
	"Include /nonexistent":                                       "/nonexistent",
	"Include slurm.key":                                          "must not include slurm.key",
	"AccountingStorageEnforce=limits,qoss":                       "qoss",
	"AccountingStorageType=accounting_storage/mysql":             "accounting_storage/mysql",
	"AccountingStoragePort=many":                                 "AccountingStoragePort",
	"JobCompType=jobcomp/nothing":                                "jobcomp",
	"JobCompType=jobcomp/filetxt\nJobCompLoc=/nonexistent/x":     "/nonexistent/x",
	"SlurmdTimeout=abc":                                          "SlurmdTimeout",
	"HealthCheckInterval=1m":                                     "HealthCheckInterval",
	"SlurmctldDebug=huh":                                         "SlurmctldDebug",
}

// startAgent builds slurm-agent into the cluster's scratch folder and returns a function that checks a
// slurm.conf and more files with it, as the user slurm.
func startAgent(t *testing.T, tr trial) func(ctx context.Context, conf string, more map[string]string) (string, error) {
	t.Helper()
	dir := filepath.Join(tr.cluster.Dir, "scratch", "agent")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Build(t.Context(), dir, "slurm-agent"); err != nil {
		t.Fatal(err)
	}
	const script = `set -e
cd /inst/scratch/agent; rm -rf etc; mkdir -p etc tmp; cp -a /etc/slurm/*.key etc/; cp files/* etc/; chown -R slurm etc tmp
setpriv --reuid slurm --regid slurm --init-groups ./slurm-agent --check=etc --temp-dir=/inst/scratch/agent/tmp 2>&1`
	return func(ctx context.Context, conf string, more map[string]string) (string, error) {
		files := configagent.Files{"slurm.conf": {Content: []byte(conf), Mode: 0o644},
			"cgroup.conf": {Content: []byte("CgroupPlugin=disabled\n"), Mode: 0o644}}
		for name, text := range more {
			files[name] = configagent.File{Content: []byte(text), Mode: 0o755}
		}
		if err := configagent.WriteFiles(filepath.Join(dir, "files"), files); err != nil {
			return "", err
		}
		return tr.cluster.Run(ctx, "", "bash", "-c", script)
	}
}

// TestAgentRefusesWhatSlurmctldDoesNotStartWith checks configurations by trials of a real slurmctld. The cluster's
// slurmctld continues.
func TestAgentRefusesWhatSlurmctldDoesNotStartWith(t *testing.T) {
	forEachRelease(t, func(t *testing.T, _ string, tr trial) {
		check := startAgent(t, tr)
		before, err := tr.cluster.Run(t.Context(), "", "scontrol", "show", "config")
		if err != nil {
			t.Fatal(err)
		}
		good, err := tr.slurmConf(func(c *slurmconf.SlurmConf) { c.NodeSets = []slurmconf.NodeSet{{Name: "cpu"}} }).Render()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := check(t.Context(), good, nil); err != nil {
			t.Fatalf("a good configuration is refused: %v: %s", err, out)
		}
		named := 0
		for line, want := range brokenLines {
			out, err := check(t.Context(), good+line+"\n", nil)
			t.Logf("%-50q %s", line, strings.TrimSpace(out))
			number := fmt.Sprintf("line %d", strings.Count(good+line, "\n")+1)
			if want == "" {
				want = number
			}
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%q: the error is %v, and %q does not contain %q", line, err, out, want)
			}
			if strings.Contains(out, number) {
				named++
			} else if !strings.Contains(out, "ine ") {
				t.Errorf("%q: %q names no line", line, out)
			}
		}
		t.Logf("%d of %d refusals name the broken line", named, len(brokenLines))
		if named < len(brokenLines)*3/4 {
			t.Errorf("only %d of %d refusals name the broken line", named, len(brokenLines))
		}
		after, err := tr.cluster.Run(t.Context(), "", "scontrol", "show", "config")
		if cut(before) != cut(after) || err != nil {
			t.Errorf("the cluster's slurmctld has changed: %v\n%s\n%s", err, before, after)
		}
	})
}

// cut returns a configuration without the time of its request.
func cut(config string) string {
	_, rest, _ := strings.Cut(config, "\n")
	return rest
}

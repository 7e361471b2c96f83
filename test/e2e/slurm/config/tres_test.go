//go:build e2e

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// tresLines are lines of slurm.conf with TRES, and a text that the refusal must contain; it is empty if the line is accepted.
var tresLines = []struct {
	lines string
	// hasSlurmdbd adds a slurmdbd to slurm.conf.
	hasSlurmdbd bool
	want        string
}{
	{"AccountingStorageTRES=gres/gpu,GRES/gpu:h100,license/matlab,fs/lustre,node", true, ""},
	{"AccountingStorageTRES=gres/gpu\nPriorityType=priority/multifactor\nPriorityWeightTRES=CPU=1000,GRES/gpu=3000,GRES/gpuutil=1", true, ""},
	{"AccountingStorageTRES=gres/gpu:h100\n" + `PartitionName=main Nodes=ALL TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu:h100=2.0"`, true, ""},
	{"AccountingStorageTRES=gpu", true, "gpu"},
	{"AccountingStorageTRES=gres", true, "gres"},
	{"AccountingStorageTRES=gres/", true, ""}, // see below
	{"AccountingStorageTRES=gres/gpu,bogus/x", true, "bogus/x"},
	{"PriorityType=priority/multifactor\nPriorityWeightTRES=CPU=1000,GRES/gpu=3000", true, "GRES:gpu"},
	{`PartitionName=main Nodes=ALL TRESBillingWeights="CPU=1.0,GRES/gpu=2.0"`, true, "GRES:gpu"},
	{"AccountingStorageTRES=gres/gpu", false, "slurmdbd is required to run with TRES gres/gpu"},
	{"AccountingStorageTRES=cpu,mem", false, ""},
}

// TestTRESThatSlurmdbdMakes: the trial has no slurmdbd, and accepts exactly the lines with which a slurmctld with a slurmdbd starts.
func TestTRESThatSlurmdbdMakes(t *testing.T) {
	forEachRelease(t, func(t *testing.T, _ string, tr trial) {
		check := startAgent(t, tr)
		for _, tc := range tresLines {
			good, err := tr.slurmConf(func(c *slurmconf.SlurmConf) {
				c.NodeSets = []slurmconf.NodeSet{{Name: "cpu"}}
				if tc.hasSlurmdbd {
					c.Accounting, c.AccountingPort = "127.0.0.1", 6819
				}
			}).Render()
			if err != nil {
				t.Fatal(err)
			}
			out, err := check(t.Context(), good+tc.lines+"\n", nil)
			isRefused := tc.want != "" || strings.HasSuffix(tc.lines, "/")
			if (err != nil) != isRefused || !strings.Contains(out, tc.want) {
				t.Errorf("%q: the error is %v, and %q does not contain %q", tc.lines, err, out, tc.want)
			}
		}
	})
}

// TestARevisionWaitsForSlurmdbd: slurmctld ends at each start with a TRES that slurmdbd has not created. It also ends with accounting
// before it has received the associations.
func TestARevisionWaitsForSlurmdbd(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			tr, err := newTrial(t.Context(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			a := newAgentBeside(t, tr)
			text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
			if err != nil {
				t.Fatal(err)
			}
			with := string(text)
			without := strings.NewReplacer("AccountingStorageType=accounting_storage/slurmdbd\n", "").Replace(with)
			for _, line := range []string{"AccountingStorageTRES=", "PriorityWeightTRES=", "AccountingStorageEnforce="} {
				without = removeLines(without, line)
			}
			if without == with || !strings.Contains(with, "AccountingStorageTRES=") {
				t.Fatalf("slurm.conf has no accounting:\n%s", with)
			}
			first := a.want(with, "")
			a.start()
			a.awaitApplied(first)
			job := a.submit("--gres=gpu:1")
			a.awaitJob(job, "RUNNING")
			for _, daemon := range []string{"slurmdbd", "mariadbd"} {
				if err := cluster.Stop(t.Context(), daemon); err != nil {
					t.Fatal(err)
				}
				more := strings.Replace(with, "AccountingStorageTRES=", "AccountingStorageTRES=gres/"+daemon+",", 1)
				revision := a.want(more, "")
				a.awaitHeld(revision, "SlurmdbdDown", "it adds gres/"+daemon)
				a.run("scontrol", "show", "job", job)
				a.awaitApplied(a.want(with+"# without "+daemon+"\n", ""))
				startDatabase(t, cluster, daemon)
				a.awaitApplied(a.want(more, ""))
				a.awaitApplied(a.want(with+"# again with "+daemon+"\n", ""))
			}
			a.awaitApplied(a.want(without, ""))
			if err := cluster.Stop(t.Context(), "slurmdbd"); err != nil {
				t.Fatal(err)
			}
			revision := a.want(with, "")
			a.awaitHeld(revision, "SlurmdbdDown", "it turns accounting on")
			startDatabase(t, cluster, "slurmdbd")
			a.awaitApplied(revision)
			a.awaitJob(job, "RUNNING")
		})
	}
}

// startDatabase restarts a stopped daemon, and waits until slurmdbd answers.
func startDatabase(t *testing.T, cluster *realslurm.Cluster, daemon string) {
	t.Helper()
	if err := cluster.Instance.Start(t.Context(), daemon); err != nil {
		t.Fatal(err)
	}
	process.Await(t, func() error {
		_, err := cluster.Run(t.Context(), "", "sacctmgr", "--noheader", "show", "tres")
		return err
	})
}

// removeLines removes the lines of a text that begin with a word.
func removeLines(text, word string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, word) {
			out.WriteString(line)
		}
	}
	return out.String()
}

package realslurm

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

func TestFlags(t *testing.T) {
	config := Config{
		Version: "24.11", Name: "a", Nodes: 7, WithoutAccounting: true, Conf: []string{"X=1", "Y=2"},
		MaxJobs: 5, MinJobAge: time.Minute, RestdWithoutUsers: true, RestdEnv: []string{"K=V"}, RestdArgs: []string{"-t", "2"},
		ArenaMax: 1, WithoutJemalloc: true, NodeConfs: []string{"a1 CPUs=4"}, Gres: []string{"Name=gpu"},
		Files: map[string]string{"topology.conf": "A", "b": "B"}, AccountingOf: &Cluster{Instance: instance.Instance{Dir: "/other"}},
	}
	want := strings.Split("--slurm 24.11 --name a --nodes 7 --max-jobs 5 --min-job-age 60 --arena-max 1 "+
		"--no-accounting --restd-no-users --no-jemalloc --accounting-of /other --node a1_CPUs=4 --conf X=1 --conf Y=2 --gres Name=gpu "+
		"--etc-file b=B --etc-file topology.conf=A --restd-env K=V --restd-arg -t --restd-arg 2", " ")
	want[slices.Index(want, "a1_CPUs=4")] = "a1 CPUs=4"
	if diff := cmp.Diff(want, config.flags()); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// A script reports a wrong command line in one line, before it does anything.
func TestScriptsRefuse(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	instance.CheckRefusals(t, "slurm", []instance.Refusal{
		{Name: "an unknown version", Command: "up --slurm 20.02", Want: "up: no root for Slurm '20.02', known are 24.11 and 26.05"},
		{Name: "an unknown version of a root", Command: "root 20.02", Want: "root: no root for Slurm '20.02', known are 24.11 and 26.05"},
		{Name: "an unknown flag", Command: "up --noodles 4", Want: "up: unknown flag: --noodles (see up --help)"},
		{Name: "a flag without its value", Command: "up --nodes", Want: "up: unknown flag or no value: --nodes (see up --help)"},
		{Name: "no nodes", Command: "up --nodes 0", Want: "up: --nodes must be 1 to 180: 0"},
		{Name: "too many nodes", Command: "up --nodes 181", Want: "up: --nodes must be 1 to 180: 181"},
		{Name: "a name that Slurm would change", Command: "up --name Dev",
			Want: "up: --name must be lower case letters, digits, - and _: Dev"},
		{Name: "a cluster that is not there", Command: "run --dir " + nowhere + " squeue",
			Want: "run: no cluster in " + nowhere + ", start one with hack/slurm/up"},
		{Name: "a daemon of a cluster that is not there", Command: "daemon --dir " + nowhere + " list",
			Want: "daemon: no cluster in " + nowhere + ", start one with hack/slurm/up"},
	})
}

package realslurm

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFlags(t *testing.T) {
	config := Config{
		Version: "24.11", Name: "a", Nodes: 7, WithoutAccounting: true, Conf: []string{"X=1", "Y=2"},
		MaxJobs: 5, MinJobAge: time.Minute, RestdEnv: []string{"K=V"}, RestdArgs: []string{"-t", "2"},
		ArenaMax: 1, WithoutJemalloc: true, NodeConfs: []string{"a1 CPUs=4"}, Gres: []string{"Name=gpu"},
		Files: map[string]string{"topology.conf": "A", "b": "B"}, AccountingOf: &Cluster{Dir: "/other"},
	}
	want := strings.Split("--slurm 24.11 --name a --nodes 7 --max-jobs 5 --min-job-age 60 --arena-max 1 "+
		"--no-accounting --no-jemalloc --accounting-of /other --node a1_CPUs=4 --conf X=1 --conf Y=2 --gres Name=gpu "+
		"--etc-file b=B --etc-file topology.conf=A --restd-env K=V --restd-arg -t --restd-arg 2", " ")
	want[slices.Index(want, "a1_CPUs=4")] = "a1 CPUs=4"
	if diff := cmp.Diff(want, config.flags()); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// A script reports a wrong command line in one line, before it does anything.
func TestScriptsRefuse(t *testing.T) {
	scripts, err := scriptsDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	tests := []struct {
		name, command, want string
	}{
		{"an unknown version", "up --slurm 20.02", "up: no root for Slurm '20.02', known are 24.11 and 26.05"},
		{"an unknown version of a root", "root 20.02", "root: no root for Slurm '20.02', known are 24.11 and 26.05"},
		{"an unknown flag", "up --noodles 4", "up: unknown flag: --noodles (see up --help)"},
		{"a flag without its value", "up --nodes", "up: unknown flag or no value: --nodes (see up --help)"},
		{"no nodes", "up --nodes 0", "up: --nodes must be 1 to 180: 0"},
		{"too many nodes", "up --nodes 181", "up: --nodes must be 1 to 180: 181"},
		{"a name that Slurm would change", "up --name Dev",
			"up: --name must be lower case letters, digits, - and _: Dev"},
		{"a cluster that is not there", "run --dir " + nowhere + " squeue",
			"run: no cluster in " + nowhere + ", start one with hack/slurm/up"},
		{"a daemon of a cluster that is not there", "daemon --dir " + nowhere + " list",
			"daemon: no cluster in " + nowhere + ", start one with hack/slurm/up"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			words := strings.Fields(test.command)
			out, err := exec.Command(filepath.Join(scripts, words[0]), words[1:]...).CombinedOutput()
			if err == nil {
				t.Errorf("%s succeeded", test.command)
			}
			if diff := cmp.Diff(test.want+"\n", string(out)); diff != "" {
				t.Errorf("%s printed (-want +got):\n%s", test.command, diff)
			}
		})
	}
}

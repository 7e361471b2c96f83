//go:build e2e

package requests

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// submittedJob is a job that slurmctld accepted, and what Slurm's commands print about it.
type submittedJob struct {
	request
	id uint32
	// shown are the fields of scontrol show job of the first record, tasks is how many tasks squeue or scontrol shows.
	shown map[string]string
	tasks int
	// required and excluded nodes, from scontrol show hostnames, and the nodes on which sbatch accepts the constraint.
	requiredNodes, excludedNodes, meetingNodes []string
}

type testCluster struct {
	*realslurm.Cluster
	t     *testing.T
	shell *realslurm.Shell
	// met are the nodes that meet a constraint.
	met map[string][]string
}

func startCluster(t *testing.T, release string) *testCluster {
	config := realslurm.Config{Version: release,
		Conf: []string{"GresTypes=gpu,nic", "AccountingStorageTRES=gres/gpu,gres/gpu:h100,gres/gpu:2080ti,gres/gpu:3g.20gb,gres/gpu:a-100_x,gres/nic",
			"PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED"}}
	features := nodeFeatures()
	for _, name := range slices.Sorted(maps.Keys(features)) {
		conf := name + " CPUs=16 RealMemory=64000 Gres=gpu:h100:2,gpu:2080ti:2,gpu:3g.20gb:2,gpu:a-100_x:2,nic:mlx:8"
		if len(features[name]) > 0 {
			conf += " Features=" + strings.Join(features[name], ",")
		}
		config.NodeConfs = append(config.NodeConfs, conf)
	}
	for i, gpu := range []string{"h100", "2080ti", "3g.20gb", "a-100_x"} {
		config.Gres = append(config.Gres, fmt.Sprintf("Name=gpu Type=%s File=/inst/gpu/h100-[%d-%d]", gpu, 2*i, 2*i+1))
	}
	config.Gres = append(config.Gres, "Name=nic Type=mlx Count=8")
	cluster, err := realslurm.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	shell, err := cluster.OpenShell(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shell.Close() })
	return &testCluster{cluster, t, shell, map[string][]string{}}
}

// runCommand runs a command in the cluster and returns its output. ok is false if it fails.
func (c *testCluster) runCommand(argv ...string) (text string, ok bool) {
	for i, word := range argv {
		argv[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	text, err := c.shell.Run(strings.Join(argv, " "))
	return text, err == nil
}

// submitRequests submits random requests, held so that none starts, and returns those that slurmctld accepts.
func (c *testCluster) submitRequests(g generator, count int) []*submittedJob {
	var out []*submittedJob
	for range count {
		j := &submittedJob{request: g.newRequest()}
		text, ok := c.runCommand(append([]string{"sbatch", "--parsable", "--hold", "--wrap=sleep 1"}, j.args...)...)
		if !ok {
			continue
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		id, err := strconv.ParseUint(strings.TrimSpace(lines[len(lines)-1]), 10, 32)
		if err != nil {
			c.t.Fatalf("sbatch %v prints %q", j.args, text)
		}
		j.id = uint32(id)
		out = append(out, j)
	}
	return out
}

var field = regexp.MustCompile(`(?:^| )([A-Za-z/:]+)=(\S*)`)

// askSlurm fills in what Slurm's commands print.
func (c *testCluster) askSlurm(jobs []*submittedJob) {
	byID := map[string]*submittedJob{}
	for _, j := range jobs {
		byID[fmt.Sprint(j.id)] = j
		j.requiredNodes, j.excludedNodes = c.expandHostlist(j.required), c.expandHostlist(j.excluded)
		if j.constraint != "" && j.constrainsSingleNodes {
			j.meetingNodes = c.nodesThatMeet(j.constraint)
		}
	}
	text, ok := c.runCommand("scontrol", "-o", "show", "job")
	if !ok {
		c.t.Fatal(text)
	}
	for line := range strings.Lines(text) {
		shown := map[string]string{}
		for _, pair := range field.FindAllStringSubmatch(line, -1) {
			shown[pair[1]] = strings.TrimSpace(pair[2])
		}
		if j := byID[shown["JobId"]]; j != nil {
			j.shown = shown
		}
	}
	text, ok = c.runCommand("squeue", "-a", "-r", "-h", "-o", "%F")
	if !ok {
		c.t.Fatal(text)
	}
	for id := range strings.FieldsSeq(text) {
		if j := byID[id]; j != nil {
			j.tasks++
		}
	}
	for _, j := range jobs {
		if strings.Contains(j.array, ":") {
			j.tasks = c.countTasks(j.id)
		}
	}
}

// countTasks asks scontrol for each index, since squeue --array leaves out the last task where slurmctld prints a step (measured on
// 24.11 and 26.05).
func (c *testCluster) countTasks(id uint32) int {
	text, err := c.shell.Run(fmt.Sprintf("for i in {0..%d}; do scontrol -o show job %d_$i >/dev/null 2>&1 && echo $i; done; true", maxIndex, id))
	if err != nil {
		c.t.Fatal(err)
	}
	return len(strings.Fields(text))
}

// expandHostlist returns the names of a hostlist, sorted, each once.
func (c *testCluster) expandHostlist(list string) []string {
	if list == "" {
		return nil
	}
	text, ok := c.runCommand("scontrol", "show", "hostnames", list)
	if !ok {
		c.t.Fatal(text)
	}
	return slices.Compact(slices.Sorted(strings.FieldsSeq(text)))
}

// nodesThatMeet returns the nodes on which a job with the constraint starts.
func (c *testCluster) nodesThatMeet(constraint string) []string {
	if met, known := c.met[constraint]; known {
		return met
	}
	met := c.nodesOfTestOnly(constraint)
	if strings.Contains(constraint, "[") { // sbatch --test-only does not look into brackets
		met = c.nodesThatRun(constraint)
	}
	c.met[constraint] = met
	return met
}

// nodesThatRun returns the nodes on which srun runs a command at once.
func (c *testCluster) nodesThatRun(constraint string) []string {
	text, err := c.shell.Run(fmt.Sprintf("for n in %s; do (srun -Q -N1 -w $n -C '%s' --immediate=4 true 2>/dev/null && echo $n) & done; wait; true",
		strings.Join(slices.Sorted(maps.Keys(nodeFeatures())), " "), constraint))
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.Sorted(strings.FieldsSeq(text))
}

// nodesOfTestOnly returns the nodes on which sbatch would start a job.
func (c *testCluster) nodesOfTestOnly(constraint string) []string {
	var out []string
	for _, node := range slices.Sorted(maps.Keys(nodeFeatures())) {
		if _, ok := c.runCommand("sbatch", "--test-only", "--wrap=sleep 1", "--nodes=1", "--nodelist="+node, "--constraint="+constraint); ok {
			out = append(out, node)
		}
	}
	return out
}

//go:build e2e

package menagerie

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
)

// runPlugin runs kubectl-slurm and returns its output.
func (a *adapter) runPlugin(t *testing.T, args ...string) ([]byte, error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), pluginBinary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+a.kubeconfig)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl slurm %s: %w: %s", strings.Join(args, " "), err, complaints.Bytes())
	}
	return out.Bytes(), nil
}

// tableRows returns the rows of a table of the plugin.
func (c *comparison) tableRows(t *testing.T, a *adapter, args ...string) []map[string]any {
	out, err := a.runPlugin(t, append([]string{"top"}, append(args, "-o", "json")...)...)
	if err != nil {
		c.differences = append(c.differences, err.Error())
		return nil
	}
	var list struct{ Items []map[string]any }
	numbered := json.NewDecoder(bytes.NewReader(out))
	numbered.UseNumber()
	if err := numbered.Decode(&list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return list.Items
}

// comparePlugin compares the tables of the plugin, and runs explain for each pending job.
func comparePlugin(t *testing.T, s *observation) ([]string, int) {
	c := &comparison{}
	c.comparePluginJobs(c.tableRows(t, s.adapter, "jobs", "--all"), s)
	c.comparePluginNodes(c.tableRows(t, s.adapter, "nodes"), s)
	c.comparePluginPartitions(c.tableRows(t, s.adapter, "partitions"), s)
	c.comparePluginUsers(c.tableRows(t, s.adapter, "users"), s)
	for _, of := range []string{"jobs", "nodes", "partitions", "users"} {
		c.checkPrints(t, s.adapter, "top", of, "-o", "wide")
	}
	for _, j := range s.slurm.jobs {
		if j["state"] == "PENDING" {
			c.checkPrints(t, s.adapter, "explain", "job", j["id"])
		}
	}
	return c.differences, c.compared
}

// checkPrints reports a difference if a command of the plugin fails or prints nothing.
func (c *comparison) checkPrints(t *testing.T, a *adapter, args ...string) {
	out, err := a.runPlugin(t, args...)
	c.compared++
	if err != nil || len(out) == 0 {
		c.differences = append(c.differences, fmt.Sprintf("%q prints %q, %v", args, out, err))
	}
}

func formatValue(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func (c *comparison) comparePluginJobs(rows []map[string]any, s *observation) {
	seen := map[string]commandRecord{}
	for _, r := range rows {
		object := formatValue(r["object"])
		id := object[strings.LastIndex(object, ".")+1:]
		want, what := s.slurm.jobs[id], "job "+id
		seen[id] = nil
		for column, field := range map[string]string{
			"name": "name", "user": "user", "account": "account", "qos": "qos", "nodes": "nodeCount", "cpus": "cpus",
			"nodeList": "nodes", "priority": "priority",
		} {
			c.compare(what, column, withoutNull(want[field]), withoutNull(formatValue(r[column])))
		}
	}
	c.compare("all jobs", "the number of rows", fmt.Sprint(len(s.slurm.jobs)), fmt.Sprint(len(seen)))
}

func (c *comparison) comparePluginNodes(rows []map[string]any, s *observation) {
	for _, r := range rows {
		name := formatValue(r["name"])
		want := s.slurm.nodes[name]
		for column, field := range map[string]string{"cpus": "CPUEfctv", "allocatedCPUs": "CPUAlloc",
			"memoryMiB": "RealMemory", "allocatedMemoryMiB": "AllocMem"} {
			c.compare("node "+name, column, want[field], formatValue(r[column]))
		}
		c.compare("node "+name, "gpus", fmt.Sprint(s.sumOfNode("slurm_node_gpus", name)), formatValue(r["gpus"]))
		c.compare("node "+name, "allocatedGPUs", fmt.Sprint(s.sumOfNode("slurm_node_gpus_allocated", name)),
			formatValue(r["allocatedGPUs"]))
	}
	c.compare("all nodes", "the number of rows", fmt.Sprint(len(s.slurm.nodes)), fmt.Sprint(len(rows)))
}

// sumOfNode adds up the commands' series of a family for one node.
func (s *observation) sumOfNode(family, node string) (sum float64) {
	for k, v := range s.commands.Series {
		if strings.HasPrefix(k, fmt.Sprintf("%s{node=%q", family, node)) {
			sum += v
		}
	}
	return sum
}

func (c *comparison) comparePluginPartitions(rows []map[string]any, s *observation) {
	for _, r := range rows {
		name := formatValue(r["name"])
		want := s.slurm.partitions[name]
		c.compare("partition "+name, "nodes", want["TotalNodes"], formatValue(r["nodes"]))
		c.compare("partition "+name, "cpus", want["TotalCPUs"], formatValue(r["cpus"]))
		for column, metric := range map[string]string{"running": "slurm_partition_running_jobs",
			"pending": "slurm_partition_pending_jobs", "idle": "slurm_partition_idle_nodes"} {
			n, _ := s.partitionMetric(metric, name)
			c.compare("partition "+name, column, fmt.Sprint(n), formatValue(r[column]))
		}
	}
	c.compare("all partitions", "the number of rows", fmt.Sprint(len(s.slurm.partitions)), fmt.Sprint(len(rows)))
}

func (c *comparison) comparePluginUsers(rows []map[string]any, s *observation) {
	for _, r := range rows {
		name := formatValue(r["name"])
		for _, state := range []string{"running", "pending"} {
			want := s.commands.Series[numbers.FormatSeries("slurm_user_jobs", "user", name, "state", state)]
			c.compare("user "+name, state, fmt.Sprint(want), formatValue(r[state]))
		}
	}
}

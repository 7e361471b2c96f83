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

	"github.com/slurmtide/slurmtide/test/numbers"
)

// runPlugin runs kubectl-slurm and returns its output.
func (a *adapter) plugin(t *testing.T, args ...string) ([]byte, error) {
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
func (c *comparison) rows(t *testing.T, a *adapter, args ...string) []map[string]any {
	out, err := a.plugin(t, append([]string{"top"}, append(args, "-o", "json")...)...)
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
func comparePlugin(t *testing.T, s *sight) ([]string, int) {
	c := &comparison{}
	c.pluginJobs(c.rows(t, s.adapter, "jobs", "--all"), s)
	c.pluginNodes(c.rows(t, s.adapter, "nodes"), s)
	c.pluginPartitions(c.rows(t, s.adapter, "partitions"), s)
	c.pluginUsers(c.rows(t, s.adapter, "users"), s)
	for _, of := range []string{"jobs", "nodes", "partitions", "users"} {
		c.prints(t, s.adapter, "top", of, "-o", "wide")
	}
	for _, j := range s.slurm.jobs {
		if j["state"] == "PENDING" {
			c.prints(t, s.adapter, "explain", "job", j["id"])
		}
	}
	return c.differences, c.compared
}

// checkPrints reports a difference if a command of the plugin fails or prints nothing.
func (c *comparison) prints(t *testing.T, a *adapter, args ...string) {
	out, err := a.plugin(t, args...)
	c.compared++
	if err != nil || len(out) == 0 {
		c.differences = append(c.differences, fmt.Sprintf("%q prints %q, %v", args, out, err))
	}
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func (c *comparison) pluginJobs(rows []map[string]any, s *sight) {
	seen := map[string]record{}
	for _, r := range rows {
		object := text(r["object"])
		id := object[strings.LastIndex(object, ".")+1:]
		want, what := s.slurm.jobs[id], "job "+id
		seen[id] = nil
		for column, field := range map[string]string{
			"name": "name", "user": "user", "account": "account", "qos": "qos", "nodes": "nodeCount", "cpus": "cpus",
			"nodeList": "nodes", "priority": "priority",
		} {
			c.same(what, column, told(want[field]), told(text(r[column])))
		}
	}
	c.same("all jobs", "the number of rows", fmt.Sprint(len(s.slurm.jobs)), fmt.Sprint(len(seen)))
}

func (c *comparison) pluginNodes(rows []map[string]any, s *sight) {
	for _, r := range rows {
		name := text(r["name"])
		want := s.slurm.nodes[name]
		for column, field := range map[string]string{"cpus": "CPUEfctv", "allocatedCPUs": "CPUAlloc",
			"memoryMiB": "RealMemory", "allocatedMemoryMiB": "AllocMem"} {
			c.same("node "+name, column, want[field], text(r[column]))
		}
		c.same("node "+name, "gpus", fmt.Sprint(s.ofNode("slurm_node_gpus", name)), text(r["gpus"]))
		c.same("node "+name, "allocatedGPUs", fmt.Sprint(s.ofNode("slurm_node_gpus_allocated", name)),
			text(r["allocatedGPUs"]))
	}
	c.same("all nodes", "the number of rows", fmt.Sprint(len(s.slurm.nodes)), fmt.Sprint(len(rows)))
}

// sumOfNode adds up the commands' series of a family for one node.
func (s *sight) ofNode(family, node string) (sum float64) {
	for k, v := range s.commands.Series {
		if strings.HasPrefix(k, fmt.Sprintf("%s{node=%q", family, node)) {
			sum += v
		}
	}
	return sum
}

func (c *comparison) pluginPartitions(rows []map[string]any, s *sight) {
	for _, r := range rows {
		name := text(r["name"])
		want := s.slurm.partitions[name]
		c.same("partition "+name, "nodes", want["TotalNodes"], text(r["nodes"]))
		c.same("partition "+name, "cpus", want["TotalCPUs"], text(r["cpus"]))
		for column, metric := range map[string]string{"running": "slurm_partition_running_jobs",
			"pending": "slurm_partition_pending_jobs", "idle": "slurm_partition_idle_nodes"} {
			n, _ := s.toldOfPartition(metric, name)
			c.same("partition "+name, column, fmt.Sprint(n), text(r[column]))
		}
	}
	c.same("all partitions", "the number of rows", fmt.Sprint(len(s.slurm.partitions)), fmt.Sprint(len(rows)))
}

func (c *comparison) pluginUsers(rows []map[string]any, s *sight) {
	for _, r := range rows {
		name := text(r["name"])
		for _, state := range []string{"running", "pending"} {
			want := s.commands.Series[numbers.Key("slurm_user_jobs", "user", name, "state", state)]
			c.same("user "+name, state, fmt.Sprint(want), text(r[state]))
		}
	}
}

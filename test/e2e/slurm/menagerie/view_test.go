//go:build e2e

package menagerie

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// listObjects reads a resource of the view.
func listObjects[T any](t *testing.T, a *adapter, resource string) T {
	t.Helper()
	var out T
	resp, err := http.Get(a.url + "/apis/view.slinky.slurm.net/v1alpha1/namespaces/" + a.namespace + "/" + resource)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("listing %s: %s, %v: %s", resource, resp.Status, err, text)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// comparison collects the differences between Slurm's commands and a program.
type comparison struct {
	differences []string
	compared    int
}

func (c *comparison) compare(what, field, want, got string) {
	c.compared++
	if want != got {
		c.differences = append(c.differences,
			fmt.Sprintf("%s: %s is %q, but Slurm's commands say %q", what, field, got, want))
	}
}

// compareKeys compares which records exist.
func (c *comparison) compareKeys(what string, want map[string]commandRecord, got []string) {
	slices.Sort(got)
	c.compare("all "+what, "the list", strings.Join(slices.Sorted(maps.Keys(want)), " "), strings.Join(got, " "))
}

// compareView compares the objects of the view with Slurm's records, field by field.
func compareView(t *testing.T, s *observation) ([]string, int) {
	c := &comparison{}
	c.compareJobs(listObjects[v1alpha1.SlurmJobList](t, s.adapter, "slurmjobs").Items, s.slurm)
	c.compareNodes(listObjects[v1alpha1.SlurmNodeList](t, s.adapter, "slurmnodes").Items, s.slurm)
	c.comparePartitions(listObjects[v1alpha1.SlurmPartitionList](t, s.adapter, "slurmpartitions").Items, s.slurm)
	return c.differences, c.compared
}

// formatNumber formats a number of the view, "" for none.
func formatNumber(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func (c *comparison) compareJobs(jobs []v1alpha1.SlurmJob, slurm *clusterRecords) {
	var ids []string
	for _, j := range jobs {
		id := fmt.Sprint(j.Spec.JobID)
		ids = append(ids, id)
		want, what := slurm.jobs[id], "job "+id+" ("+j.Spec.Name+")"
		state := j.Status.State
		if slices.Contains(j.Status.Flags, want["state"]) {
			state = want["state"] // squeue shows only the flag, if there is one
		}
		for field, got := range map[string]string{
			"name": j.Spec.Name, "user": j.Spec.User, "userID": fmt.Sprint(j.Spec.UserID), "group": j.Spec.Group,
			"account": j.Spec.Account, "qos": j.Spec.QOS, "partitions": strings.Join(j.Spec.Partitions, ","),
			"state":    state,
			"priority": formatNumber(j.Status.Priority), "nodeCount": formatNumber(j.Status.NodeCount),
			"cpus":  formatNumber(j.Status.CPUs),
			"nodes": j.Status.Nodes, "reservation": j.Spec.Reservation, "licenses": j.Spec.Licenses,
			"features": j.Spec.Features,
			"nice":     fmt.Sprint(j.Spec.Nice),
		} {
			c.compare(what, field, withoutNull(want[field]), withoutNull(got))
		}
		if p, ok := slurm.priorities[id]; ok && len(j.Spec.Partitions) == 1 {
			c.compare(what, "priority by sprio", p["priority"], formatNumber(j.Status.Priority))
		}
	}
	c.compareKeys("jobs", slurm.jobs, ids)
}

// joinSorted joins the sorted words of a state.
func joinSorted(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(words, "+")
}

func (c *comparison) compareNodes(nodes []v1alpha1.SlurmNode, slurm *clusterRecords) {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Spec.Name)
		want := slurm.nodes[n.Spec.Name]
		want["State"] = joinSorted(strings.Split(want["State"], "+"))
		for field, got := range map[string]string{
			"NodeAddr": n.Spec.Address, "NodeHostName": n.Spec.Hostname,
			"Partitions":        strings.Join(n.Spec.Partitions, ","),
			"AvailableFeatures": strings.Join(n.Spec.Features, ","),
			"ActiveFeatures":    strings.Join(n.Status.ActiveFeatures, ","),
			"CPUTot":            fmt.Sprint(n.Spec.CPUs), "CPUEfctv": fmt.Sprint(n.Status.EffectiveCPUs),
			"CPUAlloc":   fmt.Sprint(n.Status.AllocatedCPUs),
			"RealMemory": fmt.Sprint(n.Spec.MemoryMiB), "AllocMem": fmt.Sprint(n.Status.AllocatedMemoryMiB),
			"Weight": fmt.Sprint(n.Spec.Weight),
			"Gres":   n.Spec.GRES, "GresUsed": n.Status.GRESUsed, "State": joinSorted(n.Status.States),
			"Version": n.Status.Version,
			"CfgTRES": n.Spec.TRES, "AllocTRES": n.Status.TRESUsed,
		} {
			c.compare("node "+n.Spec.Name, field, withoutNull(want[field]), withoutNull(got))
		}
	}
	c.compareKeys("nodes", slurm.nodes, names)
}

func (c *comparison) comparePartitions(partitions []v1alpha1.SlurmPartition, slurm *clusterRecords) {
	var names []string
	for _, p := range partitions {
		names = append(names, p.Spec.Name)
		want := slurm.partitions[p.Spec.Name]
		for field, got := range map[string]string{
			"State": p.Status.State, "Nodes": p.Spec.Nodes, "TotalNodes": fmt.Sprint(p.Status.TotalNodes),
			"TotalCPUs":    fmt.Sprint(p.Status.TotalCPUs),
			"PriorityTier": fmt.Sprint(p.Spec.PriorityTier), "QoS": p.Spec.QOS, "TRES": p.Status.TRES,
			"MinNodes": fmt.Sprint(p.Spec.MinNodes),
		} {
			c.compare("partition "+p.Spec.Name, field, withoutNull(want[field]), withoutNull(got))
		}
	}
	c.compareKeys("partitions", slurm.partitions, names)
}

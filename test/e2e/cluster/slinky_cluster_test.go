//go:build e2e

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// slinkyCluster is a cluster that the stand-in has made.
type slinkyCluster struct {
	*env
	operator *slinkyOperator
	// jobs are the ids of all jobs, and queued is the id of the job that waits for another one.
	jobs   []string
	queued string
	// workers and running are the results of runWorkers and runJobs when the jobs had started, without those that have ended since.
	workers, running []string
}

// startSlinkyCluster makes a cluster of Slinky's operator, and returns when its workers are idle.
func startSlinkyCluster(t *testing.T, kube *realkube.Cluster, version string) *slinkyCluster {
	t.Helper()
	e := &env{T: t, kube: kube, namespace: namespaceOf("cluster.yaml", version), ctld: "slurm-controller-0"}
	e.applyFiles(version, "cluster.yaml", "slinky.yaml")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs())
		}
	})
	e.extraConf = e.kubectl("get", "controller", "slurm", "-o", "jsonpath={.spec.extraConf}")
	e.kubectl("wait", "pod/prepare", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s")
	c := &slinkyCluster{env: e, operator: newSlinkyOperator(e, version)}
	begin := time.Now()
	c.operator.start()
	c.await("4", "sinfo", "-h", "-t", "idle", "-o", "%D")
	c.Logf("%s: the stand-in has made a cluster of four workers in %.1f s", version, time.Since(begin).Seconds())
	for _, worker := range []string{"w-0", "pool-1", "pool-2"} { // pool-0 has none, as if it were new
		nodeSet, _, _ := strings.Cut(worker, "-")
		c.slurm("scontrol", "update", "nodename="+worker, fmt.Sprintf(
			`comment={"namespace":%q,"podName":%q,"node":"node","nodeSetName":%q,"nodeSetUID":%q}`, c.namespace, worker, nodeSet,
			c.kubectl("get", "nodeset", nodeSet, "-o", "jsonpath={.metadata.uid}")))
	}
	return c
}

// startJobs starts jobs on all workers, among them an array, and a job that waits for the job on w-0. They end when endJobs is called for
// their worker.
func (c *slinkyCluster) startJobs() {
	c.Helper()
	submit := func(worker string, args ...string) string {
		return c.submit(append(args, "-n", "1", "-w", worker, "--wrap", "while [ ! -e /tmp/end ]; do sleep 0.2; done")...)
	}
	first, array := submit("w-0"), submit("pool-1", "--array=0-1")
	c.queued = c.submit("-n", "1", "--dependency=afterok:"+first, "--wrap", "hostname")
	c.jobs = []string{first, array + "_0", array + "_1", submit("pool-0"), submit("pool-2"), c.queued}
	process.Await(c.T, func() error {
		if got := c.runJobs(); len(got) != len(c.jobs)-1 {
			return fmt.Errorf("the running jobs are %q", got)
		}
		return nil
	})
	c.running, c.workers = c.runJobs(), c.runWorkers()
}

// endJobs ends the jobs on a worker.
func (c *slinkyCluster) endJobs(worker string) {
	c.Helper()
	c.running = slices.DeleteFunc(c.running, func(job string) bool { return strings.HasPrefix(job, worker+" ") })
	c.kubectl("exec", worker, "-c", "slurmd", "--", "touch", "/tmp/end")
}

// runJobs returns worker, id, start and number of restarts of each running job.
func (c *slinkyCluster) runJobs() []string {
	c.Helper()
	return sortLines(c.slurm("squeue", "-h", "-r", "-t", "RUNNING", "-O", "NodeList: ,JobArrayID: ,StartTime: ,RestartCnt:"))
}

// runWorkers returns name, UID and number of restarts of each worker's pod.
func (c *slinkyCluster) runWorkers() []string {
	c.Helper()
	return sortLines(c.kubectl("get", "pods", "-l", v1beta1.LabelAppName+"="+v1beta1.AppSlurmd, "-o", "jsonpath="+
		`{range .items[*]}{.metadata.name} {.metadata.uid} {.status.containerStatuses[*].restartCount}{"\n"}{end}`))
}

func sortLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimSpace(line))
	}
	slices.Sort(out)
	return out
}

// checkIntact checks that all workers and jobs are unchanged, and that no Slurm node is drained or down.
func (c *slinkyCluster) checkIntact(after string) {
	c.Helper()
	if got := c.runJobs(); !slices.Equal(got, c.running) {
		c.Fatalf("after %s the jobs are\n%q, not\n%q", after, got, c.running)
	}
	if got := c.runWorkers(); !slices.Equal(got, c.workers) {
		c.Fatalf("after %s the workers are\n%q, not\n%q", after, got, c.workers)
	}
	if got := c.slurm("squeue", "-h", "-t", "PENDING", "-o", "%i"); got != c.queued {
		c.Fatalf("after %s the waiting job is %q, not %q", after, got, c.queued)
	}
	if got := c.slurm("sinfo", "-h", "-R", "-o", "%n %E"); got != "" {
		c.Errorf("after %s nodes are drained or down: %s", after, got)
	}
}

// claims returns names and UIDs of all claims.
func (c *slinkyCluster) claims() string {
	c.Helper()
	return c.kubectl("get", "persistentvolumeclaims", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {end}")
}

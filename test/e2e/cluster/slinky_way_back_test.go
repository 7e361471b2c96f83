//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testScaleIn removes one of the workers that our operator has adopted. It is drained, and deleted after its jobs.
func (c *slinkyCluster) testScaleIn() {
	c.Helper()
	c.kubectl("scale", "nodeset/pool", "--replicas=2")
	worker := c.awaitDraining()
	c.endJobs(worker)
	begin := time.Now()
	c.kubectl("wait", "pod/"+worker, "--for=delete", "--timeout=60s")
	c.Logf("worker %s is deleted %.1f s after its jobs", worker, time.Since(begin).Seconds())
	c.workers = slices.DeleteFunc(c.workers, func(w string) bool { return strings.HasPrefix(w, worker+" ") })
	process.Await(c.T, func() error {
		if got := c.slurm("sinfo", "-h", "-N", "-o", "%N"); strings.Contains(got, worker) {
			return fmt.Errorf("there are the Slurm nodes %q", got)
		}
		return nil
	})
	c.checkIntact("the scale-in")
}

// awaitDraining waits until a worker of NodeSet pool is drained, and returns it. Its pod and its jobs stay for now.
func (c *slinkyCluster) awaitDraining() string {
	c.Helper()
	var worker string
	process.Await(c.T, func() error {
		worker = c.slurm("sinfo", "-h", "-N", "-t", "draining", "-o", "%N")
		if !strings.HasPrefix(worker, "pool-") || strings.Contains(worker, "\n") {
			return fmt.Errorf("the draining nodes are %q", worker)
		}
		return nil
	})
	time.Sleep(5 * time.Second) // several rounds of the operator
	if jobs, workers := c.runJobs(), c.runWorkers(); !slices.Equal(jobs, c.running) || !slices.Equal(workers, c.workers) {
		c.Fatalf("while %s is drained the jobs are %q and the workers %q", worker, jobs, workers)
	}
	c.Logf("drained: %s", c.slurm("sinfo", "-h", "-R", "-o", "%n %E"))
	return worker
}

// testWayBack gives the cluster back to the stand-in, after our operator has been uninstalled.
func (c *slinkyCluster) testWayBack() {
	c.Helper()
	begin := time.Now()
	for object := range strings.FieldsSeq(c.kubectl("get", "nodesets,controllers", "-o", "name")) {
		c.kubectl("patch", object, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
	for _, workload := range []string{"statefulset/slurm-controller", "deployment/slurm-restapi"} { // slurmdbd's is changed in place
		c.kubectl("delete", workload, "--cascade=orphan")
	}
	claims := c.claims()
	c.operator.start()
	for _, kind := range kindsOfDaemons {
		c.awaitDaemon(kind, "initconf")
	}
	c.await(c.jobs[0], "squeue", "-h", "-o", "%i")
	c.Logf("the cluster is the stand-in's again after %.1f s", time.Since(begin).Seconds())
	c.operator.awaitRounds(5)
	job := c.submit("-n", "1", "-w", "w-0", "--wrap", "hostname")
	c.awaitState(job, "COMPLETED")
	c.awaitRecord(job)
	c.checkIntact("the way back")
	if now := c.claims(); now != claims {
		c.Errorf("the claims are %s, and were %s", now, claims)
	}
}

// awaitPod waits until fields of a pod, given by a JSON path, have a value.
func (c *slinkyCluster) awaitPod(pod, want, path string) {
	c.Helper()
	process.AwaitValue(c.T, path+" of "+pod, want, func(ctx context.Context) (string, error) {
		return c.kube.Kubectl(ctx, "--namespace", c.namespace, "get", "pod", pod, "-o", "jsonpath="+path)
	})
}

// testUpdate changes the spec of a NodeSet. Its workers, which the stand-in has made, are replaced after their jobs.
func (c *slinkyCluster) testUpdate() {
	c.Helper()
	c.kubectl("patch", "nodeset", "pool", "--type=merge", "-p", `{"spec":{"template":{"metadata":{"annotations":{"changed":"1"}}}}}`)
	for range 2 {
		worker := c.awaitDraining()
		c.endJobs(worker)
		begin := time.Now()
		fresh := c.awaitReplacement(worker)
		c.await("idle", "sinfo", "-h", "-n", fresh, "-o", "%t")
		c.Logf("worker %s has taken the place of %s %.1f s after its job", fresh, worker, time.Since(begin).Seconds())
	}
	c.kubectl("wait", "nodeset/pool", "--for=condition=Updated", "--timeout=60s")
	c.checkIntact("the update")
}

// awaitReplacement waits until a new worker, perhaps of another ordinal, has replaced a worker, and returns the new name.
func (c *slinkyCluster) awaitReplacement(worker string) string {
	c.Helper()
	others := slices.DeleteFunc(slices.Clone(c.workers), func(w string) bool { return strings.HasPrefix(w, worker+" ") })
	isOther := func(w string) bool { return slices.Contains(others, w) }
	var fresh []string
	process.Await(c.T, func() error {
		now := c.runWorkers()
		fresh = slices.DeleteFunc(slices.Clone(now), isOther)
		if len(now) != len(others)+1 || len(fresh) != 1 || slices.Contains(c.workers, fresh[0]) {
			return fmt.Errorf("the workers are %q, and were %q", now, c.workers)
		}
		return nil
	})
	name, _, _ := strings.Cut(fresh[0], " ")
	c.kubectl("wait", "pod/"+name, "--for=condition=Ready", "--timeout=120s")
	c.workers = slices.Concat(others, slices.DeleteFunc(c.runWorkers(), isOther))
	slices.Sort(c.workers)
	return name
}

// testJobs ends the last job and checks that all have completed at their first start, also in the accounting.
func (c *slinkyCluster) testJobs() {
	c.Helper()
	c.endJobs("w-0")
	for _, job := range c.jobs {
		c.awaitState(job, "COMPLETED")
		if got := c.slurm("scontrol", "show", "job", job); !strings.Contains(got, "Restarts=0") {
			c.Errorf("job %s was started again:\n%s", job, got)
		}
		c.awaitRecord(job)
	}
	c.Logf("all %d jobs have completed at their first start", len(c.jobs))
}

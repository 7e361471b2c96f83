//go:build e2e

package nodeset_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// nodeSetEnv is one NodeSet without an HPA, and its workers.
type nodeSetEnv struct {
	t *testing.T
	*nodeset.Env
	spec nodeset.NodeSet
	// timeout is how long anything may take.
	timeout time.Duration
}

// startNodeSet creates a NodeSet and waits until its workers accept jobs.
func startNodeSet(t *testing.T, s *nodeset.Env, spec nodeset.NodeSet) nodeSetEnv {
	t.Helper()
	spec.ExtraConf = cmp.Or(spec.ExtraConf, "CPUs=2 RealMemory=500")
	c := nodeSetEnv{t, s, spec, process.Patience}
	must(t, s.Apply(t.Context(), spec))
	for i := range spec.Replicas {
		c.awaitSlurmState(c.worker(i), "IDLE", "")
	}
	return c
}

func (c nodeSetEnv) worker(i int) string { return fmt.Sprintf("%s-%d", c.spec.Name, i) }

func (c nodeSetEnv) await(what string, isTrue func(context.Context) (bool, string)) {
	c.t.Helper()
	await(c.t, c.Env, c.spec.Name+": "+what, c.timeout, isTrue)
}

// awaitSlurmState waits for the state of a Slurm node, without its transient flags, and for
// its reason.
func (c nodeSetEnv) awaitSlurmState(slurmNode, state, reason string) {
	c.t.Helper()
	c.await(slurmNode+" is "+state, func(ctx context.Context) (bool, string) {
		have, why, err := c.SlurmNode(ctx, slurmNode)
		return err == nil && stableState(have) == state && why == reason, fmt.Sprint(have, " ", why, err)
	})
}

// stableState returns a state without its transient flags. It drops NOT_RESPONDING from FUTURE
// records too: on 24.11 a record whose slurmd was killed while it ran a job may have it.
func stableState(state string) string {
	state = strings.Replace(state, "+DYNAMIC_NORM", "", 1)
	if strings.HasPrefix(state, "FUTURE") {
		state = strings.Replace(state, "+NOT_RESPONDING", "", 1)
	}
	return state
}

// awaitStatus waits until a number of the NodeSet's status has a value.
func (c nodeSetEnv) awaitStatus(field, want string) {
	c.t.Helper()
	c.await(field+" is "+want, func(ctx context.Context) (bool, string) {
		have, err := c.Kube.Kubectl(ctx, "--namespace", c.Values.Namespace, "get", "nodeset", c.spec.Name,
			"--output", "jsonpath={.status."+field+"}")
		return err == nil && have == want, fmt.Sprint(have, err)
	})
}

// awaitWorkers waits until exactly these workers exist and none of them is being deleted.
func (c nodeSetEnv) awaitWorkers(want ...string) map[string]nodeset.Worker {
	c.t.Helper()
	var workers map[string]nodeset.Worker
	c.await(fmt.Sprint("workers are ", want), func(ctx context.Context) (bool, string) {
		var err error
		workers, err = c.Workers(ctx, c.spec.Name)
		for _, w := range workers {
			if w.Deleting {
				return false, fmt.Sprint(workers)
			}
		}
		return err == nil && slices.Equal(slices.Sorted(maps.Keys(workers)), want), fmt.Sprint(workers, err)
	})
	return workers
}

// startJob starts a job on a worker and waits until Kubernetes shows it, with the latest time of its end.
func (c nodeSetEnv) startJob(slurmNode string, limit int) string {
	c.t.Helper()
	id, err := c.SubmitJob(c.t.Context(), slurmNode, limit)
	must(c.t, err)
	c.await("job "+id+" runs on "+slurmNode, func(ctx context.Context) (bool, string) {
		job, err := c.Job(ctx, id)
		return job.State == "RUNNING", fmt.Sprint(job, err)
	})
	c.await(slurmNode+" is protected", func(ctx context.Context) (bool, string) {
		for _, w := range c.mustWorkers() {
			if w.Protected && w.Deadline != "" && c.slurmName(w) == slurmNode {
				return true, ""
			}
		}
		return false, fmt.Sprint(c.mustWorkers())
	})
	return id
}

// slurmName is the Slurm node of a worker; in these tests there is one Kubernetes node.
func (c nodeSetEnv) slurmName(w nodeset.Worker) string {
	if strings.Contains(c.spec.Spec, "DaemonSet") {
		return "node"
	}
	return w.Name
}

func (c nodeSetEnv) mustWorkers() map[string]nodeset.Worker {
	c.t.Helper()
	workers, err := c.Workers(c.t.Context(), c.spec.Name)
	must(c.t, err)
	return workers
}

// finishJob ends a job and expects it to run until then and to succeed.
func (c nodeSetEnv) finishJob(id string) {
	c.t.Helper()
	job, err := c.Job(c.t.Context(), id)
	must(c.t, err)
	if job.State != "RUNNING" || job.Restarts != "0" {
		c.t.Fatalf("job %s is %v", id, job)
	}
	must(c.t, c.FinishJob(c.t.Context(), id))
	c.await("job "+id+" has ended well", func(ctx context.Context) (bool, string) {
		job, err := c.Job(ctx, id)
		return job.CompletedOnce(), fmt.Sprint(job, err)
	})
}

// awaitCondition waits until a condition is true and its message contains the words.
func (c nodeSetEnv) awaitCondition(kind string, words ...string) {
	c.t.Helper()
	c.await(fmt.Sprint(kind, " mentions ", words), func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, c.Env, c.spec.Name, kind, "True")
		for _, word := range words {
			ok = ok && strings.Contains(text, word)
		}
		return ok, text
	})
}

// expectSteady expects something to stay true long enough for the operator to reconcile three times.
func (c nodeSetEnv) expectSteady(what string, isTrue func() (bool, string)) {
	c.t.Helper()
	c.expectSteadyFor(3*time.Second, what, isTrue)
}

// expectSteadyFor expects something to stay true for as long.
func (c nodeSetEnv) expectSteadyFor(duration time.Duration, what string, isTrue func() (bool, string)) {
	c.t.Helper()
	for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if ok, text := isTrue(); !ok {
			c.t.Fatalf("%s: %s does not stay so: %s", c.spec.Name, what, text)
		}
	}
}

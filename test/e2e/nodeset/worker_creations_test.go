//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// recordCreations returns a function that returns the workers of the NodeSet that have existed since then, including deleted ones, in the
// order of their creation.
func (c nodeSetEnv) recordCreations() func() []string {
	c.t.Helper()
	config, err := c.Kube.RESTConfig()
	must(c.t, err)
	clients, err := kubernetes.NewForConfig(config)
	must(c.t, err)
	pods, err := clients.CoreV1().Pods(c.Values.Namespace).Watch(c.t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=slurmd,app.kubernetes.io/instance=" + c.spec.Name})
	must(c.t, err)
	var mu sync.Mutex
	var names []string
	var done sync.WaitGroup
	done.Go(func() {
		for e := range pods.ResultChan() {
			if pod, isPod := e.Object.(metav1.Object); isPod && e.Type == watch.Added {
				mu.Lock()
				names = append(names, pod.GetName())
				mu.Unlock()
			}
		}
	})
	c.t.Cleanup(func() {
		pods.Stop()
		done.Wait()
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}
}

// runScript runs a script in slurmctld's pod.
func runScript(t *testing.T, s *nodeset.Env, script string) {
	t.Helper()
	if out, err := s.Slurm(t.Context(), "sh", "-ec", script); err != nil {
		t.Fatal(out, err)
	}
}

// awaitDrained waits until a Slurm node has DRAIN with the reason.
func (c nodeSetEnv) awaitDrained(slurmNode, reason string) {
	c.t.Helper()
	c.await(slurmNode+" is drained", func(ctx context.Context) (bool, string) {
		state, why, err := c.SlurmNode(ctx, slurmNode)
		return err == nil && strings.Contains(state, "DRAIN") && why == reason, fmt.Sprint(state, " ", why, err)
	})
}

// awaitRunning waits until a job runs.
func (c nodeSetEnv) awaitRunning(job string) {
	c.t.Helper()
	c.await("job "+job+" runs", func(ctx context.Context) (bool, string) {
		have, err := c.Job(ctx, job)
		return have.State == "RUNNING", fmt.Sprint(have, err)
	})
}

// awaitCompleted waits until a job has succeeded at its first start.
func (c nodeSetEnv) awaitCompleted(job string) {
	c.t.Helper()
	c.await("job "+job+" has ended well", func(ctx context.Context) (bool, string) {
		have, err := c.Job(ctx, job)
		return have.CompletedOnce(), fmt.Sprint(have, err)
	})
}

//go:build e2e

package nodeset_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/faultproxy"
)

var faultReleases = flag.String("faults", "",
	"the releases of Slurm on which TestNothingIsLostWhenThingsFail runs, separated by commas")

// TestNothingIsLostWhenThingsFail injects faults into its own clusters.
func TestNothingIsLostWhenThingsFail(t *testing.T) {
	for _, of := range releases {
		if slices.Contains(strings.Split(*faultReleases, ","), of.version) {
			t.Run(of.version, func(t *testing.T) { testFaults(t, startEnv(t, of)) })
		}
	}
}

// testFaults removes workers while components fail. With -whole, they first fail at random. Then the operator is killed after each write,
// and slurmrestd fails at each write, during scale-in, update and deletion. From then on the operator in pods does not run.
func testFaults(t *testing.T, s *nodeset.Env) {
	if *whole {
		t.Run("at random", func(t *testing.T) { testRandomFaults(t, s) })
	}
	o, err := s.RunOperatorLocally(t.Context())
	must(t, err)
	t.Cleanup(func() {
		must(t, o.Close())
		if t.Failed() {
			t.Log(o.Log())
		}
	})
	t.Run("the operator is killed after each write", func(t *testing.T) { testOperatorKilled(t, s, o) })
	t.Run("slurmrestd fails at each write and at some readings", func(t *testing.T) { testSlurmrestdFails(t, s, o) })
}

// testOperatorKilled kills each process of the operator at its first write, to Kubernetes or to
// Slurm, before the answer reaches it.
func testOperatorKilled(t *testing.T, s *nodeset.Env, o *nodeset.LocalOperator) {
	var life sync.Mutex
	var writes []string // one for each that was killed
	t.Cleanup(func() {
		o.Kube.InjectFaults(nil)
		o.Slurm.InjectFaults(nil)
		life.Lock()
		defer life.Unlock()
		o.Kill()
		if t.Failed() {
			t.Log("the last writes: ", writes[max(0, len(writes)-20):])
		}
	})
	dies := func(r *http.Request) faultproxy.Fault {
		if !faultproxy.IsWrite(r) {
			return faultproxy.Fault{}
		}
		life.Lock()
		if r.Context().Err() != nil {
			life.Unlock()
			return faultproxy.Fault{Refused: true} // the request is from a killed operator
		}
		return faultproxy.Fault{AnswerLost: true, After: func() {
			defer life.Unlock()
			o.Kill()
			writes = append(writes, r.Method+" "+r.URL.Path)
			if err := o.Start(); err != nil {
				t.Error(err)
			}
		}}
	}
	o.Kube.InjectFaults(dies)
	o.Slurm.InjectFaults(dies)
	must(t, o.Start())
	scaleUpdateAndDelete(t, s, "dies")
	life.Lock()
	defer life.Unlock()
	t.Logf("the operator was killed %d times: %v", len(writes), countWrites(writes))
	if len(writes) < 30 {
		t.Error("that is too few for this test to mean anything")
	}
}

// countWrites counts writes by method and resource.
func countWrites(writes []string) map[string]int {
	out := map[string]int{}
	for _, w := range writes {
		method, path, _ := strings.Cut(w, " ")
		words := strings.Split(path, "/")
		switch {
		case words[1] == "slurm":
			out[method+" slurm "+words[3]]++
		case method == "POST":
			out[method+" "+words[len(words)-1]]++
		case words[len(words)-1] == "status":
			out[method+" status of "+words[len(words)-3]]++
		default:
			out[method+" "+words[len(words)-2]]++
		}
	}
	return out
}

// testSlurmrestdFails refuses each write to Slurm at first, then performs it and loses the answer.
// It also fails every fifth reading.
func testSlurmrestdFails(t *testing.T, s *nodeset.Env, o *nodeset.LocalOperator) {
	var mu sync.Mutex
	tries, reads, refused, lost := map[string]int{}, 0, 0, 0
	o.Slurm.InjectFaults(func(r *http.Request) faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		if !faultproxy.IsWrite(r) {
			reads++
			return faultproxy.Fault{Refused: reads%5 == 0}
		}
		tries[r.URL.Path]++
		switch tries[r.URL.Path] % 3 {
		case 1:
			refused++
			return faultproxy.Fault{Refused: true}
		case 2:
			lost++
			return faultproxy.Fault{AnswerLost: true}
		}
		return faultproxy.Fault{}
	})
	must(t, o.Start())
	t.Cleanup(func() {
		o.Slurm.InjectFaults(nil)
		o.Kill()
	})
	scaleUpdateAndDelete(t, s, "fails")
	mu.Lock()
	defer mu.Unlock()
	t.Logf("%d writes were refused and %d answers lost, and %d of %d readings failed", refused, lost, reads/5, reads)
	if refused < 5 || lost < 5 {
		t.Error("that is too few for this test to mean anything")
	}
}

// scaleUpdateAndDelete scales in, updates and deletes a NodeSet. The worker that each of them
// chooses runs a job, which succeeds.
func scaleUpdateAndDelete(t *testing.T, s *nodeset.Env, name string) {
	t.Helper()
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: name, Cluster: "gate", Replicas: 3, ExtraConf: "CPUs=2 RealMemory=500"},
		3 * time.Minute}
	must(t, s.Apply(t.Context(), c.spec))
	for i := range 3 {
		c.awaitSlurmState(c.worker(i), "IDLE", "")
	}
	stays := c.startJob(c.worker(0), 60)
	goes := c.startJob(c.worker(1), 30)
	must(t, c.Scale(t.Context(), name, 1))
	c.awaitWorkers(c.worker(0), c.worker(1))
	c.awaitSlurmState(c.worker(1), "MIXED+DRAIN", "slurm-operator: scale-in")
	c.finishJob(goes)
	c.awaitWorkers(c.worker(0))

	c.spec.Replicas, c.spec.Round = 1, 2
	must(t, s.Apply(t.Context(), c.spec))
	c.awaitSlurmState(c.worker(0), "MIXED+DRAIN", "slurm-operator: update")
	c.finishJob(stays)
	c.await("the worker has changed", func(context.Context) (bool, string) {
		w := c.mustWorkers()
		return w[c.worker(0)].Round == "2" && !w[c.worker(0)].Deleting, fmt.Sprint(w)
	})
	c.awaitSlurmState(c.worker(0), "IDLE", "")

	last := c.startJob(c.worker(0), 60)
	c.delete()
	c.awaitSlurmState(c.worker(0), "MIXED+DRAIN", "slurm-operator: deletion of the NodeSet")
	c.finishJob(last)
	c.awaitGone()
}

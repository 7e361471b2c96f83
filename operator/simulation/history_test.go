package simulation

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

var (
	histories = flag.Int("histories", 300, "number of random histories to play")
	first     = flag.Uint64("first", 0, "number of the first history")
)

// TestNoHistoryBreaksThePromise plays random histories. Users change specs and images, also to invalid ones, lose
// Secrets, rotate keys and delete the operator's objects. Pods end, agents do not answer or refuse configurations, and
// the kubelet is late. The operator is killed at writes, meets conflicts and errors, and sees objects late. Foreign
// objects have the same names. No history breaks a promise, and each comes to rest with everything ready.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	count := uint64(*histories) //nolint:gosec // not negative
	counts, failed := playHistories(*first, *first+count, breakage{})
	if failed != nil {
		t.Fatalf("history %d: %s\n%s", failed.seed, failed.failure, strings.Join(failed.log, "\n"))
	}
	t.Logf("%d histories: %v", count, counts)
	if count < 100 {
		return // too few for every event
	}
	for _, event := range []string{"a daemon gets another image", "the operator is killed at a write",
		"the operator sees objects late", "a rotation ends", "a Controller is gone", "a pod ends",
		"a revision is held", "a held revision is in force", "a revision is forced", "a cluster gets the copies of its states"} {
		if counts[event] == 0 {
			t.Errorf("in no history there is this: %s", event)
		}
	}
}

// playHistories plays histories on all processors, until one breaks a promise. It returns the earliest of those that
// do, or nil.
func playHistories(from, to uint64, broken breakage) (eventCounts, *simulation) {
	counts, next := eventCounts{}, from
	var failed *simulation
	var mu sync.Mutex
	var wg sync.WaitGroup
	take := func(w *simulation) (seed uint64, goesOn bool) {
		mu.Lock()
		defer mu.Unlock()
		if w != nil {
			counts.add(w.counts)
			if w.failure != "" && (failed == nil || w.seed < failed.seed) {
				failed = w
			}
		}
		next++
		return next - 1, next <= to && failed == nil
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed, goesOn := take(nil); goesOn; {
				seed, goesOn = take(playHistory(seed, broken))
			}
		})
	}
	wg.Wait()
	return counts, failed
}

// TestHistoriesAreDeterministic: a history can be played again.
func TestHistoriesAreDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		one, other := playHistory(seed, breakage{}), playHistory(seed, breakage{})
		if !slices.Equal(one.log, other.log) {
			t.Fatalf("history %d differs when it is played again", seed)
		}
	}
}

// eventCounts count the events of histories.
type eventCounts map[string]int

func (c eventCounts) add(more eventCounts) {
	for event, count := range more {
		c[event] += count
	}
}

// playHistory plays one history, and each third one to its rest, which takes longer than the rest of it.
func playHistory(seed uint64, broken breakage) *simulation {
	w := newSimulation(seed, broken)
	for range 10 + w.rand.IntN(40) {
		w.event()
		if w.failure != "" {
			return w
		}
	}
	if broken.settles || seed%3 == 0 && !broken.isBroken() {
		w.settle()
	}
	return w
}

// event plays one event; time passes with each.
func (w *simulation) event() {
	w.now = w.now.Add(time.Duration(w.rand.IntN(8)) * time.Second)
	switch n := w.rand.IntN(100); {
	case n < 35:
		w.operatorEvent()
	case n < 65:
		w.environmentEvent()
	case n < 90:
		w.userEvent()
	default:
		w.accident()
	}
	w.slurmEvent()
	w.checkKeys()
}

// accident plays an unwanted event.
func (w *simulation) accident() {
	running := slices.Sorted(maps.Keys(w.pods))
	switch w.rand.IntN(6) {
	case 0:
		w.now = w.now.Add(time.Duration(w.rand.IntN(400)) * time.Second)
	case 1:
		w.restricted = !w.restricted
		w.logf("the operator may not run daemons: %t", w.restricted)
		w.startOperator()
	case 2:
		w.faults.forbidden = pick(w, "", "Secret", "ConfigMap")
		w.logf("the operator may not read objects of the kind %q", w.faults.forbidden)
	case 3:
		w.setWorkers(w.rand.IntN(3))
	default:
		if len(running) > 0 {
			w.disturbPod(running[w.rand.IntN(len(running))])
		}
	}
}

// disturbPod ends a pod, or changes the behavior of its agent.
func (w *simulation) disturbPod(name string) {
	p := w.pods[name]
	switch w.rand.IntN(4) {
	case 0:
		w.logf("pod %s ends", name)
		w.counts["a pod ends"]++
		w.deletePod(name)
	case 1:
		p.silent = !p.silent
		w.logf("the agent of %s is silent: %t", name, p.silent)
	case 2:
		p.refuses = !p.refuses
		w.logf("the agent of %s refuses: %t", name, p.refuses)
	case 3:
		p.sessions = w.rand.IntN(3)
		w.logf("pod %s has %d sessions", name, p.sessions)
	}
}

// setWorkers sets the number of the NodeSet's workers.
func (w *simulation) setWorkers(count int) {
	w.logf("there are %d workers", count)
	for i := range 3 {
		name := fmt.Sprintf("%s-%d", nodeSet, i)
		switch exists := w.pods[name] != nil; {
		case i < count && !exists:
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name,
				Labels: names.NodeSetSelector(nodeSet, ctldName)}}
			w.api.put(pod)
			w.pods[name] = &simPod{daemon: "slurmd"}
		case i >= count && exists:
			w.deletePod(name)
		}
	}
	change(w.api, nodeSet, func(n *v1beta1.NodeSet) { n.Status.Replicas = int32(count) }) //nolint:gosec // at most 3
}

package wakeup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/scaling"
)

// world is a NodeSet, its HPA and the operator, in a random history. Each step takes a minute.
type world struct {
	observation
	now      time.Time
	log      []string
	up, lead bool // the process runs, and leads
	hpas     int  // created so far
	demand   int64
	// byHand: a person set the present zero.
	byHand bool
	// unseenZero and unseenDeletion: the zero, and the deletion of an HPA, that no process saw which led later.
	unseenZero, unseenDeletion bool
	// deleted: an HPA was deleted since the last leader.
	deleted bool
	// wasAutoscaled: the leader that was killed last saw an HPA and no pause.
	wasAutoscaled bool
}

func newWorld() *world {
	w := &world{observation: newObservation(withReplicas(2), withoutOwner), now: now, up: true, lead: true}
	w.observation.hpas = nil
	w.createHPA()
	w.look()
	return w
}

func (w *world) hpa() *autoscalingv2.HorizontalPodAutoscaler {
	if len(w.observation.hpas) == 0 {
		return nil
	}
	return &w.observation.hpas[0]
}

// setHPA sets the conditions of the HPA, as a sync of it does.
func (w *world) setHPA(zero, active corev1.ConditionStatus) {
	hpa := w.hpa()
	hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
		{Type: autoscalingv2.ScaledToZero, Status: zero},
		{Type: autoscalingv2.ScalingActive, Status: active, Reason: "ScalingDisabled"}}
	w.seen(func() { w.history = w.history.withHPA(hpa) })
}

// syncHPA makes the HPA notice others' changes of the replicas.
func (w *world) syncHPA() {
	switch {
	case w.hpa() == nil:
	case scaling.SpecReplicas(w.nodeSet) != 0:
		w.setHPA("False", "True")
	case !scaling.HasScaledToZero(w.hpa()):
		w.setHPA("False", "False")
	}
}

// seen records what a running process sees. A stopped process sees nothing.
func (w *world) seen(record func()) {
	if w.up {
		record()
	}
}

// scale writes replicas through the scale subresource, which leaves no owner of a zero.
func (w *world) scale(n int32, byHand bool) {
	if n == 0 && scaling.SpecReplicas(w.nodeSet) != 0 {
		w.byHand, w.unseenZero = byHand, !w.up
	}
	if n != scaling.SpecReplicas(w.nodeSet) {
		withReplicas(n)(&w.observation)
		w.nodeSet.Generation++
		w.disown()
		w.seen(func() { w.history = w.history.withNodeSet(w.nodeSet) })
	}
}

// disown removes all owners of replicas and keeps when the condition was written.
func (w *world) disown() {
	written := lastConditionWrite(w.nodeSet.ManagedFields)
	withoutOwner(&w.observation)
	withConditionWrite(now.Sub(written))(&w.observation)
}

func (w *world) createHPA() {
	if w.hpa() == nil {
		w.hpas++
		hpa := newHPA("gpu")
		hpa.UID, hpa.CreationTimestamp = types.UID(fmt.Sprint(w.hpas)), metav1.NewTime(w.now)
		w.observation.hpas = []autoscalingv2.HorizontalPodAutoscaler{*hpa}
		w.seen(func() { w.history = w.history.withHPA(hpa) })
	}
}

func (w *world) deleteHPA() {
	if w.hpa() != nil {
		w.observation.hpas = nil
		w.deleted, w.unseenDeletion = true, w.unseenDeletion || !w.up
	}
}

func (w *world) kill() {
	if w.up && !w.lead {
		w.unseenZero, w.unseenDeletion = true, w.unseenDeletion || w.deleted
	}
	if w.lead {
		w.wasAutoscaled = slices.ContainsFunc(w.nodeSet.Status.Conditions, func(c metav1.Condition) bool {
			return c.Reason != "Paused" && (c.Reason != "NoAutoscaler" || c.Status == "Unknown")
		})
	}
	w.up, w.lead = false, false
}

func (w *world) start() {
	if w.up {
		return
	}
	w.up, w.history = true, scalingHistory{}.withNodeSet(w.nodeSet)
	if hpa := w.hpa(); hpa != nil {
		w.history = w.history.withHPA(hpa)
	}
}

// look lets the leader reconcile until it changes nothing.
func (w *world) look() {
	for range 4 {
		if !w.lead {
			return
		}
		if w.deleted = false; scaling.SpecReplicas(w.nodeSet) != 0 {
			w.unseenDeletion = false
		}
		s := w.observation
		s.demand = &demandReading{required: w.demand, at: w.now}
		a := DefaultConfig().plan(w.now, s)
		if a.claimZero {
			withClaim(&w.observation)
		}
		w.nodeSet.Status.Conditions = nil
		if a.condition != nil {
			withWakeUpCondition(a.condition.status, a.condition.reason, a.condition.message)(&w.observation)
			w.nodeSet.Status.Conditions[0].ObservedGeneration = w.nodeSet.Generation
			withConditionWrite(now.Sub(w.now))(&w.observation)
		}
		if a.replicas != nil {
			w.scale(*a.replicas, false)
		}
	}
}

var steps = []struct {
	name string
	do   func(*world)
}{
	{"a person scales to zero", func(w *world) { w.scale(0, true) }},
	{"a person scales up", func(w *world) { w.scale(2, true); w.syncHPA() }}, // otherwise the HPA counts a new zero as its own
	{"the HPA scales to zero", func(w *world) {
		if w.hpa() != nil && scaling.SpecReplicas(w.nodeSet) != 0 {
			w.scale(0, false)
			w.hpa().Status.LastScaleTime = new(metav1.NewTime(w.now))
			w.setHPA("True", "True")
		}
	}},
	{"the HPA syncs", (*world).syncHPA},
	{"the HPA is deleted", (*world).deleteHPA},
	{"the HPA is created", (*world).createHPA},
	{"the operator is killed", (*world).kill},
	{"the operator starts", (*world).start},
	{"the operator leads", func(w *world) { w.start(); w.lead = true }},
}

// TestZerosOfHPAsWakeAndPausesStay: an HPA's zero wakes and a pause stays, whatever happens while no operator leads.
// While no operator runs at all, there are two exceptions. A NodeSet that was paused or without an HPA before counts as
// paused. A pause counts as the HPA's zero if the HPA was deleted, too.
func TestZerosOfHPAsWakeAndPausesStay(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(8_000) {
		r, w := rand.New(rand.NewPCG(seed, 5)), newWorld()
		for range 4 + r.IntN(12) {
			step := steps[r.IntN(len(steps))]
			w.now = w.now.Add(time.Minute)
			w.log = append(w.log, step.name)
			step.do(w)
			w.look()
		}
		if scaling.SpecReplicas(w.nodeSet) != 0 {
			continue
		}
		excused := w.unseenZero && (w.byHand && w.unseenDeletion || !w.byHand && !w.wasAutoscaled)
		for _, finish := range []func(){w.start, func() { w.lead = true }, w.look, w.createHPA, w.syncHPA, func() { w.demand = 3 },
			w.look} {
			w.now = w.now.Add(time.Minute)
			finish()
		}
		wakes := scaling.SpecReplicas(w.nodeSet) != 0 || scaling.HasScaledToZero(w.hpa())
		c := w.nodeSet.Status.Conditions[0]
		switch {
		case !w.byHand && !wakes && !excused:
			t.Fatalf("seed %d: the zero of an HPA counts as a pause (%s):\n%s", seed, c.Message, strings.Join(w.log, "\n"))
		case w.byHand && wakes && !excused:
			t.Fatalf("seed %d: a pause was woken (%s):\n%s", seed, c.Message, strings.Join(w.log, "\n"))
		}
		counts[fmt.Sprintf("by hand %v, wakes %v", w.byHand, wakes)]++
	}
	for _, what := range []string{"by hand true, wakes false", "by hand false, wakes true"} {
		if counts[what] < 300 {
			t.Errorf("%s: only %d histories of %v", what, counts[what], counts)
		}
	}
}

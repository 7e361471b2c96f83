package mirror

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func stateCondition(state, message string, at time.Time) corev1.PodCondition {
	return corev1.PodCondition{
		Type: corev1.PodConditionType(v1beta1.PodConditionPrefix + state), Status: corev1.ConditionTrue,
		Reason: stateReason, Message: message, LastTransitionTime: metav1.NewTime(at),
	}
}

func TestARegistrationIsRecordedOnceForEachSlurmd(t *testing.T) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	registered := func(at time.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: v1beta1.PodConditionRegistered, Status: corev1.ConditionTrue, Reason: stateReason,
			Message: "slurmd was registered with Slurm", LastTransitionTime: metav1.NewTime(at)}
	}
	before := nodesettest.Noon.Add(-time.Hour)
	type list = []corev1.PodCondition
	for _, tc := range []struct {
		name      string
		have      list
		startedAt time.Time
		future    bool
		want      list
		changed   bool
	}{
		{"the first one", list{ready}, before, false, list{ready, registered(nodesettest.Noon)}, true},
		{"the same slurmd", list{ready, registered(before)}, before, false, list{ready, registered(before)}, false},
		{"another slurmd in the pod", list{registered(before), ready}, before.Add(time.Minute), false,
			list{ready, registered(nodesettest.Noon)}, true},
		{"Slurm lost the record", list{ready, registered(before)}, before, true, list{ready, registered(before)}, false},
		{"it has not registered", list{ready}, before, true, list{ready}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := plan.Worker{Pod: "gpu-0", SlurmName: "gpu-0", Running: true, RunningSince: tc.startedAt, Ready: true}
			for _, c := range tc.have {
				if c.Type == v1beta1.PodConditionRegistered {
					w.Registered = c.LastTransitionTime.Time
				}
			}
			s := plan.SlurmReading{Fresh: true, NodesReadAt: nodesettest.Noon,
				Records: map[string]plan.Record{"gpu-0": {Name: "gpu-0", Future: tc.future}}}
			got, changed := Registration(tc.have, &s, &w, metav1.NewTime(nodesettest.Noon))
			if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.changed {
				t.Errorf("changed = %t, conditions (-want +got):\n%s", changed, diff)
			}
		})
	}
}

func TestWhatAPodShowsOfItsSlurmNode(t *testing.T) {
	before := nodesettest.Noon.Add(-time.Hour)
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(before)}
	node := func(reason string, state ...string) *slurm.Node {
		n := nodesettest.NewSlurmNode("gpu-0", state...)
		n.Reason = reason
		return n
	}
	type list = []corev1.PodCondition
	falsely := stateCondition("Idle", "", before)
	falsely.Status = corev1.ConditionFalse
	for _, tc := range []struct {
		name    string
		have    list
		node    *slurm.Node
		want    list
		changed bool
	}{
		{"the first state is added", list{ready}, node("", "IDLE"),
			list{ready, stateCondition("Idle", "", nodesettest.Noon)},
			true},
		{"flags are added by name", list{ready}, node("disk", "MIXED", "DRAIN", "COMPLETING"),
			list{ready, stateCondition("Completing", "disk", nodesettest.Noon),
				stateCondition("Drain", "disk", nodesettest.Noon),
				stateCondition("Mixed", "disk", nodesettest.Noon)}, true},
		{"a state that stays keeps its time", list{stateCondition("Idle", "", before), ready}, node("", "IDLE"),
			list{stateCondition("Idle", "", before), ready}, false},
		{"a state that is left goes", list{ready, stateCondition("Idle", "", before)}, node("", "ALLOCATED"),
			list{ready, stateCondition("Allocated", "", nodesettest.Noon)}, true},
		{"another reason changes the message alone", list{stateCondition("Down", "a", before)}, node("b", "DOWN"),
			list{stateCondition("Down", "b", before)}, true},
		{"a state that somebody denied is shown again", list{falsely}, node("", "IDLE"),
			list{stateCondition("Idle", "", before)}, true},
		{"one that Slurm does not know shows nothing",
			list{stateCondition("Idle", "", before), ready, stateCondition("Drain", "", before)}, nil, list{ready},
			true},
		{"one that Slurm never knew changes nothing", list{ready}, nil, list{ready}, false},
		{"no conditions at all are no trouble", nil, nil, nil, false},
		{"a base state of a later Slurm is unknown", nil, node("", "HIBERNATING"),
			list{stateCondition("Unknown", "", nodesettest.Noon)}, true},
		{"a state that has no condition shows none", list{stateCondition("Idle", "", before)},
			&slurm.Node{State: slurm.NodeState{Base: slurm.NodeExternal}}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, changed := Conditions(tc.have, tc.node, metav1.NewTime(nodesettest.Noon))
			if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.changed {
				t.Errorf("changed is %t: %s", changed, diff)
			}
			again, changed := Conditions(got, tc.node, metav1.NewTime(nodesettest.Noon.Add(time.Hour)))
			if diff := cmp.Diff(got, again); diff != "" || changed {
				t.Errorf("once more, changed is %t: %s", changed, diff)
			}
		})
	}
}

func TestEveryBaseStateAndFlagHasOneCondition(t *testing.T) {
	seen := map[corev1.PodConditionType]bool{}
	for base, c := range baseConditions() {
		if seen[c] {
			t.Errorf("%s of %s is there twice", c, base)
		}
		seen[c] = true
	}
	for _, f := range flagConditions() {
		if seen[f.condition] {
			t.Errorf("%s is there twice", f.condition)
		}
		seen[f.condition] = true
		got, _ := Conditions(nil, &slurm.Node{State: slurm.NodeState{Base: slurm.NodeIdle, Flags: f.flag}},
			metav1.NewTime(nodesettest.Noon))
		if len(got) != 2 {
			t.Errorf("with %s the conditions are %v", f.condition, got)
		}
	}
}

func TestMirroringLeavesWhatItWasGivenAsItWas(t *testing.T) {
	have := []corev1.PodCondition{stateCondition("Down", "a", nodesettest.Noon),
		stateCondition("Drain", "a", nodesettest.Noon)}
	want := []corev1.PodCondition{stateCondition("Down", "a", nodesettest.Noon),
		stateCondition("Drain", "a", nodesettest.Noon)}
	n := nodesettest.NewSlurmNode("gpu-0", "DOWN")
	n.Reason = "b"
	Conditions(have, n, metav1.NewTime(nodesettest.Noon))
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

func TestARecordFromBeforeTheWorkerIsNotShown(t *testing.T) {
	future := &slurm.Node{State: slurm.NodeState{Base: slurm.NodeFuture}}
	for _, tc := range []struct {
		name   string
		node   *slurm.Node
		readAt time.Duration // after noon, when the worker became Ready
		want   bool
	}{
		{"one of a node that has registered is", &slurm.Node{State: slurm.NodeState{Base: slurm.NodeIdle}}, 0, false},
		{"nothing at all is no record", nil, 0, false},
		{"a FUTURE one that was read before is not", future, -time.Second, true},
		{"a FUTURE one of the same second is not", future, 999 * time.Millisecond, true},
		{"a FUTURE one that was read later is", future, time.Second, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &plan.Worker{Created: nodesettest.Noon.Add(-time.Minute), ReadySince: nodesettest.Noon}
			if got := IsOlderThanWorker(nodesettest.Noon.Add(tc.readAt), w, tc.node); got != tc.want {
				t.Errorf("it is older: %t", got)
			}
		})
	}
}

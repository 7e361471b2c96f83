package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
)

// conditionSince is a condition of a NodeSet of generation 1.
func conditionSince(kind string, status metav1.ConditionStatus, reason, message string,
	since time.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(since)}
}

func TestTheStatusOfWorkersThatServe(t *testing.T) {
	s := newObservation(3)
	actions := &plan.Actions{Available: 3}
	want := v1beta1.NodeSetStatus{
		ObservedGeneration: 1, NodeSetHash: "new",
		Selector: "app.kubernetes.io/instance=gpu,app.kubernetes.io/name=slurmd,slinky.slurm.net/cluster=slurm",
		Desired:  3, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, SlurmIdle: 3,
		Conditions: []metav1.Condition{
			conditionSince("Ready", "True", "Available", "3 of 3 workers are in service", nodesettest.Noon),
			conditionSince("Draining", "False", "NotDraining", "no worker is to be removed", nodesettest.Noon),
			conditionSince("Updated", "True", "UpToDate", "every worker has revision new", nodesettest.Noon),
			conditionSince("Submittable", "True", "RecordsReady", "Slurm accepts jobs for 3 workers", nodesettest.Noon),
		},
	}
	got := Of(nodesettest.Noon, s, actions)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	s.NodeSet.Status = got
	if diff := cmp.Diff(want, Of(nodesettest.Noon.Add(time.Hour), s, actions)); diff != "" {
		t.Errorf("an hour later: %s", diff)
	}
}

func TestReadyNamesReplicasThatSlurmDoesNotSupport(t *testing.T) {
	s := newObservation(2, func(s *Observation) { s.NodeSet.Spec.Replicas = new(int32(70_000)) })
	want := "1 of 2 workers are in service; spec.replicas is 70000, but a Slurm cluster has at most 65536 nodes"
	if got := Of(nodesettest.Noon, s, &plan.Actions{Available: 1}).Conditions[0].Message; got != want {
		t.Errorf("Ready says %q, not %q", got, want)
	}
}

func TestTimesOfConditionsChangeWithTheirStatus(t *testing.T) {
	other := conditionSince("WakeUp", "False", "NotNeeded", "", nodesettest.Noon)
	s := newObservation(2, func(s *Observation) {
		s.NodeSet.Status = Of(nodesettest.Noon, s, &plan.Actions{Available: 1})
		s.NodeSet.Status.Conditions = append(s.NodeSet.Status.Conditions, other)
		s.Slurm.Records["gpu-1"] = plan.Record{Name: "gpu-1"}
	})
	later := nodesettest.Noon.Add(time.Hour)
	for _, tc := range []struct {
		name    string
		actions plan.Actions
		ready   metav1.Condition
	}{
		{"another message keeps the time", plan.Actions{Available: 0},
			conditionSince("Ready", "False", "Progressing", "0 of 2 workers are in service", nodesettest.Noon)},
		{"another status is of now", plan.Actions{Available: 2},
			conditionSince("Ready", "True", "Available", "2 of 2 workers are in service", later)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Of(later, s, &tc.actions).Conditions
			if diff := cmp.Diff(tc.ready, got[0]); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(other, got[len(got)-1]); diff != "" {
				t.Errorf("a condition of others: %s", diff)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	type counts struct{ Replicas, Updated, Ready, Available, Unavailable, Idle, Allocated, Down, Drain, Draining int32 }
	record := func(i string, r plan.Record) func(*Observation) {
		return func(s *Observation) { s.Slurm.Records["gpu-"+i] = r }
	}
	for _, tc := range []struct {
		name    string
		change  func(*Observation)
		actions plan.Actions
		want    counts
	}{
		{"workers that go or have ended do not count",
			func(s *Observation) { s.Workers[0].DeletedAt, s.Workers[1].Finished = nodesettest.Noon, true },
			plan.Actions{},
			counts{1, 1, 1, 1, 2, 1, 0, 0, 0, 0}},
		{"workers of an old revision are not updated", func(s *Observation) { s.Workers[0].Revision = "old" },
			plan.Actions{}, counts{3, 2, 3, 3, 0, 3, 0, 0, 0, 0}},
		{"workers that are not Ready are not available", func(s *Observation) { s.Workers[0].Ready = false },
			plan.Actions{}, counts{3, 3, 2, 2, 1, 3, 0, 0, 0, 0}},
		{"workers are available after minReadySeconds", func(s *Observation) {
			s.Desired.MinReady = time.Minute
			s.Workers[0].ReadySince, s.Workers[1].ReadySince = nodesettest.Noon.Add(-time.Minute),
				nodesettest.Noon.Add(-time.Minute+1)
		}, plan.Actions{}, counts{3, 3, 3, 2, 1, 3, 0, 0, 0, 0}},
		{"busy and drained counts as both", record("0", plan.Record{Busy: true, Drain: true}), plan.Actions{},
			counts{3, 3, 3, 3, 0, 2, 1, 0, 1, 0}},
		{"drained without work is not idle", record("0", plan.Record{Drain: true}), plan.Actions{},
			counts{3, 3, 3, 3, 0, 2, 0, 0, 1, 0}},
		{"down goes before busy", record("0", plan.Record{Down: true, Busy: true}), plan.Actions{},
			counts{3, 3, 3, 3, 0, 2, 0, 1, 0, 0}},
		{"a FUTURE record is none of these", record("0", plan.Record{Future: true, Down: true, Drain: true}),
			plan.Actions{}, counts{3, 3, 3, 3, 0, 2, 0, 0, 0, 0}},
		{"one that Slurm does not know is none of these", func(s *Observation) { delete(s.Slurm.Records, "gpu-0") },
			plan.Actions{}, counts{3, 3, 3, 3, 0, 2, 0, 0, 0, 0}},
		{"more workers than wanted are none too few", func(s *Observation) { s.Desired.Replicas = 1 },
			plan.Actions{Waits: make([]plan.Wait, 2)}, counts{3, 3, 3, 3, 0, 3, 0, 0, 0, 2}},
		{"of what was not read the last counts stay", func(s *Observation) {
			s.Slurm = plan.SlurmReading{Connected: true}
			s.NodeSet.Status = v1beta1.NodeSetStatus{SlurmIdle: 1, SlurmAllocated: 2, SlurmDown: 3, SlurmDrain: 4}
		}, plan.Actions{}, counts{3, 3, 3, 3, 0, 1, 2, 3, 4, 0}},
		{"counts go back to zero", func(s *Observation) {
			s.Workers = nil
			s.NodeSet.Status = v1beta1.NodeSetStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1,
				AvailableReplicas: 1, SlurmIdle: 1, SlurmAllocated: 2, SlurmDown: 3, SlurmDrain: 4, DrainingReplicas: 5}
		}, plan.Actions{}, counts{Unavailable: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Of(nodesettest.Noon, newObservation(3, tc.change), &tc.actions)
			if diff := cmp.Diff(tc.want, counts{got.Replicas, got.UpdatedReplicas, got.ReadyReplicas,
				got.AvailableReplicas, got.UnavailableReplicas,
				got.SlurmIdle, got.SlurmAllocated, got.SlurmDown, got.SlurmDrain, got.DrainingReplicas}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	wait := func(pod string, jobs int, until time.Time) plan.Wait {
		w := plan.Wait{Pod: pod, Cause: v1beta1.DrainCauseScaleIn, Message: "its Slurm node is not drained yet"}
		if jobs > 0 {
			w.Message, w.Job, w.Jobs, w.Until = "job 7 is running on it", 7, jobs, until
		}
		return w
	}
	stale := func(s *Observation) { s.Slurm.Fresh, s.Slurm.Problem = false, "slurmrestd does not answer" }
	deleting := func(s *Observation) { s.Desired.Deleting = true }
	trouble := func(s *Observation) {
		s.Problem = Problem{v1beta1.ReasonReferenceNotFound, "there is no Controller slurm"}
	}
	strategy := func(u v1beta1.NodeSetUpdateStrategy) func(*Observation) {
		return func(s *Observation) { s.NodeSet.Spec.UpdateStrategy = u }
	}
	none := func(s *Observation) { clear(s.Slurm.Records) }
	fewer := func(s *Observation) { delete(s.Slurm.Records, "gpu-1") }
	future := func(s *Observation) { s.Slurm.Records["gpu-1"] = plan.Record{Name: "gpu-1", Future: true} }
	reserved := func(name string) func(*Observation) {
		return func(s *Observation) { s.Desired.ReservedNames = map[string]string{name: "NodeSet " + name} }
	}
	owned := func(names ...string) func(*Observation) {
		return func(s *Observation) {
			s.Slurm.OwnedByOthers = map[string]string{}
			for _, name := range names {
				s.Slurm.OwnedByOthers[name] = plan.OwnerSlurmConf
			}
		}
	}
	failed := func(s *Observation) { s.RecordsProblem = "creating records of gpu-1: no" }
	both := func(a, b func(*Observation)) func(*Observation) { return func(s *Observation) { a(s); b(s) } }
	serves := plan.Actions{Available: 2}
	for _, tc := range []struct {
		name            string
		change          func(*Observation)
		actions         plan.Actions
		kind            string
		status          metav1.ConditionStatus
		reason, message string
	}{
		{"workers are missing", func(*Observation) {}, plan.Actions{Available: 1}, "Ready", "False", "Progressing",
			"1 of 2 workers are in service"},
		{"there are too many", func(s *Observation) { s.Desired.Replicas = 1 }, plan.Actions{Available: 1}, "Ready",
			"False", "Progressing", "1 worker is to be removed"},
		{"there are none and none should be", func(s *Observation) { s.Desired.Replicas, s.Workers = 0, nil },
			plan.Actions{}, "Ready", "True", "Available", "0 of 0 workers are in service"},
		{"what is not fresh is not Ready", stale, serves, "Ready", "Unknown", "NotObserved",
			"slurmrestd does not answer"},
		{"a problem goes before that", both(stale, trouble), serves, "Ready", "False", "ReferenceNotFound",
			"there is no Controller slurm"},
		{"a deletion that waits for a worker which somebody must ask to register", deleting,
			plan.Actions{LostBySlurm: []string{"gpu-1"}, AskedByHand: []string{"gpu-1"}}, "Ready", "False", "Progressing",
			"2 workers are to be removed; Slurm lost the records of workers gpu-1, as after a restore of slurmctld's state: they " +
				"stay, since they may have jobs that slurmctld lost, and register again when these have ended; gpu-1 have no " +
				"slurm-agent, so run for each of them when its jobs have ended: kubectl exec gpu-1 -c slurmd -- sh -c 'kill -HUP " +
				"$(pidof slurmd)'"},
		{"a deletion that waits for a slurmd without a pod", deleting, plan.Actions{Taken: []string{"gpu-2"}}, "Ready", "False",
			"Progressing", "2 workers are to be removed; Slurm nodes gpu-2 have no pod, but slurmd may still run there: no worker " +
				"is created with their names until they are drained and have no job; if their machines are off, run: scontrol " +
				"update nodename=gpu-2 state=down reason='slurm-operator: powered off'"},
		{"a deletion that waits", deleting, plan.Actions{}, "Ready", "False", "Progressing",
			"2 workers are to be removed"},

		{"a wait for Slurm", func(*Observation) {}, plan.Actions{Waits: []plan.Wait{wait("gpu-1", 0, time.Time{})}},
			"Draining", "True", "WaitingForSlurm",
			"worker gpu-1 is to be removed (ScaleIn) and waits: its Slurm node is not drained yet"},
		{"a wait for a job goes first", func(*Observation) {},
			plan.Actions{Waits: []plan.Wait{wait("gpu-1", 0, time.Time{}), wait("gpu-0", 1, nodesettest.Noon)}},
			"Draining", "True",
			"WaitingForJobs",
			"worker gpu-0 is to be removed (ScaleIn) and waits: job 7 is running on it, until 2026-11-21T12:00:00Z at the latest; 1 more wait"},
		{"a wait for a job without a limit", func(*Observation) {},
			plan.Actions{Waits: []plan.Wait{wait("gpu-0", 1, time.Time{})}}, "Draining", "True", "WaitingForJobs",
			"worker gpu-0 is to be removed (ScaleIn) and waits: job 7 is running on it, without a time limit"},

		{"an update", func(*Observation) {}, plan.Actions{Outdated: 2}, "Updated", "False", "Updating",
			"2 workers are of an old revision"},
		{"an update that is paused",
			strategy(v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateScheduled, Paused: true}),
			plan.Actions{Outdated: 1}, "Updated", "False", "UpdatePaused", "1 worker is of an old revision"},
		{"an update of deleted workers alone",
			strategy(v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateOnDelete, Paused: true}),
			plan.Actions{Outdated: 1}, "Updated", "False", "OnDelete", "1 worker is of an old revision"},
		{"an update at its time", strategy(v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateScheduled}),
			plan.Actions{Outdated: 1}, "Updated", "False", "Scheduled", "1 worker is of an old revision"},
		{"a NodeSet in trouble does not report the revision of its workers", trouble, plan.Actions{Outdated: 2},
			"Updated", "", "", ""},

		{"no maximum", func(s *Observation) { s.Desired.MaxWorkers = nil }, serves, "Submittable", "False", "NoMaximum",
			"neither spec.maxReplicas nor a HorizontalPodAutoscaler sets the maximum number of workers"},
		{"no names", func(s *Observation) { s.Desired.SlurmName = func(int) string { return "" } }, serves,
			"Submittable", "False", "NamesUnknown", "with hostNetwork workers are named after Kubernetes nodes"},
		{"no shape", func(s *Observation) { s.Desired.CanCreateRecords = false }, serves, "Submittable", "False",
			"ShapeUnknown", "neither limits of spec.slurmd nor CPUs in spec.extraConf give the resources of a worker"},
		{"no fresh reading", both(stale, failed), serves, "Submittable", "Unknown", "NotObserved",
			"slurmrestd does not answer"},
		{"records that are missing", fewer, serves, "Submittable", "False", "RecordsMissing",
			"1 of 2 records do not exist yet"},
		{"records that cannot be made", both(fewer, failed), serves, "Submittable", "False", "RecordsMissing",
			"creating records of gpu-1: no"},
		{"no record, and none can be made", both(both(none, failed), func(s *Observation) { s.RecordsUnsupported = true }), serves, "Submittable", "False",
			"RecordsUnsupported", "creating records of gpu-1: no; until a worker has registered, Slurm accepts no job"},
		{"records that cannot be made beside another", both(both(fewer, failed), func(s *Observation) { s.RecordsUnsupported = true }), serves,
			"Submittable", "False", "RecordsMissing", "creating records of gpu-1: no"},
		{"records that are there though they could not be made", failed, serves, "Submittable", "True", "RecordsReady",
			"Slurm accepts jobs for 2 workers"},
		{"a name that NodeSet gpu-1 has", both(fewer, reserved("gpu-1")), serves, "Submittable", "True", "RecordsReady",
			"Slurm accepts jobs for 1 worker; no worker gpu-1 is created, because NodeSet gpu-1 has that name"},
		{"a FUTURE record with a name that NodeSet gpu-1 has", both(future, reserved("gpu-1")), serves, "Submittable", "True", "RecordsReady",
			"Slurm accepts jobs for 1 worker; no worker gpu-1 is created, because NodeSet gpu-1 has that name"},
		{"a worker with a name that NodeSet gpu-1 has", reserved("gpu-1"), serves, "Submittable", "True", "RecordsReady",
			"Slurm accepts jobs for 2 workers"},
		{"a record that is missing beside a name of others", both(fewer, reserved("gpu-2")), serves, "Submittable", "False", "RecordsMissing",
			"1 of 2 records do not exist yet"},
		{"a name that slurm.conf has", both(fewer, owned("gpu-1")), serves, "Submittable", "True", "RecordsReady",
			"Slurm accepts jobs for 1 worker; no worker gpu-1 is created, because slurm.conf has that name"},
		{"names that slurm.conf has", both(func(s *Observation) { s.Slurm.Records = nil }, owned("gpu-0", "gpu-1")), serves, "Submittable",
			"False", "RecordsMissing",
			"Slurm accepts jobs for no worker; no worker gpu-0 is created, because slurm.conf has that name, and 1 more names belong to others"},
		{"a NodeSet that is being deleted takes no jobs", deleting, serves, "Submittable", "", "", ""},
		{"one worker per Kubernetes node has no maximum", func(s *Observation) { s.Desired.PerKubeNode = true }, serves,
			"Submittable", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got metav1.Condition
			for _, c := range Of(nodesettest.Noon, newObservation(2, tc.change), &tc.actions).Conditions {
				if c.Type == tc.kind {
					got = c
				}
			}
			if got.Status != tc.status || got.Reason != tc.reason || got.Message != tc.message {
				t.Errorf("%s is %s, %s, %q", tc.kind, got.Status, got.Reason, got.Message)
			}
		})
	}
}

func TestConditionsThatMakeNoSenseAnyMoreGo(t *testing.T) {
	s := newObservation(1)
	s.NodeSet.Status = Of(nodesettest.Noon, s, &plan.Actions{})
	s.Desired.Deleting = true
	for _, c := range Of(nodesettest.Noon, s, &plan.Actions{}).Conditions {
		if c.Type == v1beta1.ConditionSubmittable {
			t.Errorf("there still is %+v", c)
		}
	}
}

func TestFieldsThatNothingFollowsAreTold(t *testing.T) {
	s := newObservation(1)
	s.NodeSet.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true}
	s.NodeSet.Status = Of(nodesettest.Noon, s, &plan.Actions{})
	c := meta.FindStatusCondition(s.NodeSet.Status.Conditions, v1beta1.ConditionFieldsIgnored)
	if c == nil || c.Status != metav1.ConditionTrue ||
		!strings.Contains(c.Message, "spec.partition is in slurm.conf only") {
		t.Fatalf("the condition is %+v", c)
	}
	s.NodeSet.Spec.Partition = nil
	if c := meta.FindStatusCondition(Of(nodesettest.Noon, s, &plan.Actions{}).Conditions,
		v1beta1.ConditionFieldsIgnored); c != nil {
		t.Errorf("there still is %+v", c)
	}
}

// TestSSHWhereTheOperatorWritesNoSlurmConf: users can log in only if slurm.conf was prepared for it.
func TestSSHWhereTheOperatorWritesNoSlurmConf(t *testing.T) {
	for _, tc := range []struct {
		name               string
		external, ssh, has bool
	}{
		{"ssh and an external Controller", true, true, true},
		{"ssh and a Controller", false, true, false},
		{"an external Controller", true, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newObservation(1)
			s.ExternalController, s.NodeSet.Spec.SSH = tc.external, &v1beta1.NodeSetSSH{Enabled: tc.ssh}
			c := meta.FindStatusCondition(Of(nodesettest.Noon, s, &plan.Actions{}).Conditions, v1beta1.ConditionFieldsIgnored)
			if has := c != nil && strings.Contains(c.Message, "PrologFlags=Contain"); has != tc.has {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

func TestNoWorkerIsUpdatedWhereNoneMayBeUnavailable(t *testing.T) {
	for _, limit := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("0%")} {
		u := v1beta1.NodeSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdate{MaxUnavailable: &limit}}
		s := newObservation(1)
		s.NodeSet.Spec.UpdateStrategy = u
		c := meta.FindStatusCondition(Of(nodesettest.Noon, s, &plan.Actions{Outdated: 1}).Conditions,
			v1beta1.ConditionUpdated)
		if c == nil || c.Reason != v1beta1.ReasonUpdatePaused || !strings.Contains(c.Message, "maxUnavailable is 0") {
			t.Errorf("with %s the condition is %+v", limit.String(), c)
		}
	}
}

func TestABrokenNodeSetKeepsWhatWasToldOfItsRevision(t *testing.T) {
	s := newObservation(2)
	s.NodeSet.Status = Of(nodesettest.Noon, s, &plan.Actions{})
	s.Problem, s.Revision = Problem{v1beta1.ReasonInvalidSpec, "spec.slurmd: no"}, ""
	got := Of(nodesettest.Noon, s, &plan.Actions{Outdated: 2})
	if got.NodeSetHash != "new" || got.UpdatedReplicas != 2 {
		t.Errorf("the revision is %q, with %d workers", got.NodeSetHash, got.UpdatedReplicas)
	}
	if c := got.Conditions[2]; c.Type != "Updated" || c.Status != "True" {
		t.Errorf("the condition is %+v", c)
	}
}

func TestOnlyProgressIsWhatCanWait(t *testing.T) {
	onTheWay := func() v1beta1.NodeSetStatus {
		return v1beta1.NodeSetStatus{
			Desired: 100, Replicas: 60, ReadyReplicas: 20, SlurmIdle: 10, SlurmAllocated: 1, Selector: "s",
			Conditions: []metav1.Condition{conditionSince("Ready", "False", "Progressing",
				"10 of 100 workers are in service", nodesettest.Noon)},
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.NodeSetStatus)
		want   bool
	}{
		{"more of them are ready", func(s *v1beta1.NodeSetStatus) { s.ReadyReplicas = 30 }, true},
		{"the words of a condition change with them",
			func(s *v1beta1.NodeSetStatus) { s.Conditions[0].Message = "30 of 100" }, true},
		{"all that are wanted are ready", func(s *v1beta1.NodeSetStatus) { s.ReadyReplicas = 100 }, false},
		{"all that are wanted are there", func(s *v1beta1.NodeSetStatus) { s.Replicas = 100 }, false},
		{"the last one has no job any more", func(s *v1beta1.NodeSetStatus) { s.SlurmAllocated = 0 }, false},
		{"another number is wanted", func(s *v1beta1.NodeSetStatus) { s.Desired = 50 }, false},
		{"a condition has another status", func(s *v1beta1.NodeSetStatus) { s.Conditions[0].Status = "True" }, false},
		{"a condition has another reason", func(s *v1beta1.NodeSetStatus) { s.Conditions[0].Reason = "Available" },
			false},
		{"a condition is of another generation",
			func(s *v1beta1.NodeSetStatus) { s.Conditions[0].ObservedGeneration++ }, false},
		{"a condition is gone", func(s *v1beta1.NodeSetStatus) { s.Conditions = nil }, false},
		{"the selector is another", func(s *v1beta1.NodeSetStatus) { s.Selector = "t" }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			from, to := onTheWay(), onTheWay()
			tc.change(&to)
			if got := IsOnlyProgress(&from, &to); got != tc.want {
				t.Errorf("onlyProgress = %v", got)
			}
		})
	}
}

func TestTheFirstStatusHasWhatNoStatusIsValidWithout(t *testing.T) {
	from, to := nodesettest.NewNodeSet(1), nodesettest.NewNodeSet(1)
	from.ResourceVersion, to.ResourceVersion = "7", "7"
	from.Status = v1beta1.NodeSetStatus{ReadyReplicas: 2, OrdinalToNode: map[string]string{"0": "a", "1": "b"}}
	to.Status = v1beta1.NodeSetStatus{Replicas: 1, OrdinalToNode: map[string]string{"1": "b"}}
	data, err := kube.StatusPatch(from, to, RequiredFields(to))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"resourceVersion": "7"},
		"status": map[string]any{"selector": "", "nodeSetHash": "", "ordinalToNode": map[string]any{"0": nil},
			// At zero users see 0, not nothing.
			"desired": 0., "replicas": 1., "updatedReplicas": 0., "readyReplicas": 0.},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// newObservation returns an observation of NodeSet gpu: idle workers of the newest revision, and a fresh
// reading.
func newObservation(workers int, change ...func(*Observation)) *Observation {
	s := &Observation{
		NodeSet: nodesettest.NewNodeSet(int32(workers)), ClusterRef: "slurm", Revision: "new",
		Slurm: plan.SlurmReading{Connected: true, Known: true, Fresh: true, TotalNodes: workers,
			Records: map[string]plan.Record{}, Work: map[string]occupancy.Work{}},
	}
	for i := range workers {
		pod := nodesettest.NewWorkerPod(i)
		s.Workers = append(s.Workers, observed.Worker(pod, nil, nil))
		s.Slurm.Records[pod.Name] = plan.Record{Name: pod.Name, Dynamic: true, OwnerUID: nodesettest.NodeSetUID}
	}
	s.Desired = plan.Desired{UID: nodesettest.NodeSetUID, Replicas: workers, MaxWorkers: &workers,
		CanCreateRecords: true, Revision: "new", SlurmName: func(i int) string { return fmt.Sprintf("gpu-%d", i) }}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestTheReasonWhyRecordsCannotBeCreatedIsInTheCondition(t *testing.T) {
	n := &v1beta1.NodeSet{}
	for reason, want := range map[string]string{v1beta1.ReasonRecordsUnsupported: "no such operation", v1beta1.ReasonRecordsMissing: ""} {
		n.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSubmittable, Status: metav1.ConditionFalse, Reason: reason,
			Message: "no such operation" + untilRegistered}}
		if got := RecordsUnsupportedBecause(n); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

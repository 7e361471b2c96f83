package behaviour

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func withSchedule(start time.Time) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy = v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateScheduled,
			ScheduledUpdate: &v1beta1.ScheduledUpdate{
				StartTime: new(metav1.NewTime(start)), Duration: &metav1.Duration{Duration: time.Hour},
				Flags: []string{"MAGNETIC"}}}
	}
}

func TestAScheduledUpdateReservesItsTime(t *testing.T) {
	start := nodesettest.Noon.Add(10 * time.Minute)
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withSchedule(start)))
	r.startWorkers()
	if len(r.slurm.Reservations) != 0 {
		t.Error("there is a reservation without anything to update")
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	result := r.pollAndReconcile()
	got := r.slurm.Reservations["SlurmOperatorMaint-gpu"]
	expectStrings(t, "the slurmNodes", got.Nodes, "gpu-0", "gpu-1")
	expectStrings(t, "the flags", got.Flags, "MAINT", "IGNORE_JOBS", "MAGNETIC")
	if !got.StartTime.Time().Equal(start) || !got.EndTime.Time().Equal(start.Add(time.Hour)) ||
		result.RequeueAfter > start.Sub(r.now) || result.RequeueAfter == 0 {
		t.Errorf("it is %+v, looked at again after %s", got, result.RequeueAfter)
	}
	r.expectCondition("Updated", "False", "Scheduled")
	before := r.nodeSet().Status.UpdatedReplicas
	r.now = start
	for range 6 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if status := r.nodeSet().Status; before != 0 || status.UpdatedReplicas != 2 || len(r.slurm.Reservations) != 0 {
		t.Errorf("the status is %+v, the reservations %v", status, r.slurm.Reservations)
	}
}

func TestAScheduledUpdateThatIsMovedAndGivenUp(t *testing.T) {
	start := nodesettest.Noon.Add(10 * time.Minute)
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSchedule(start)))
	r.startWorkers()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	r.pollAndReconcile()
	r.clearWrites()
	r.reconcile()
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls) // it is right
	r.change(withSchedule(start.Add(time.Hour)))
	r.pollAndReconcile()
	r.reconcile() // no reading has it yet
	expectStrings(t, "the calls", r.slurm.Calls, "reserve gpu-0")
	if got := r.slurm.Reservations["SlurmOperatorMaint-gpu"]; !got.StartTime.Time().Equal(start.Add(time.Hour)) {
		t.Errorf("it begins %s", got.StartTime.Time())
	}
	r.clearWrites()
	r.change(func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy = v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateOnDelete}
	})
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "unreserve SlurmOperatorMaint-gpu")
}

func TestReservationsOfNodeSetsOfOneNameDoNotCollide(t *testing.T) {
	start := nodesettest.Noon.Add(10 * time.Minute)
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSchedule(start)))
	r.startWorkers()
	other := slurm.ReservationRequest{Name: "SlurmOperatorMaint-gpu", StartTime: slurm.At(start),
		EndTime: slurm.At(start.Add(time.Minute)), Nodes: []string{"other-0"}}
	r.slurm.Reservations[other.Name] = other
	r.pollAndReconcile()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	r.pollAndReconcile()
	expectStrings(t, "the nodes of the other's", r.slurm.Reservations[other.Name].Nodes, "other-0")
	expectStrings(t, "the nodes of ours", r.slurm.Reservations["SlurmOperatorMaint-slurm_gpu"].Nodes, "gpu-0")
	delete(r.slurm.Reservations, other.Name)
	r.pollAndReconcile()
	if len(r.slurm.Reservations) != 1 {
		t.Errorf("without the other's there are %v", r.slurm.Reservations)
	}
	r.change(func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy = v1beta1.NodeSetUpdateStrategy{Type: v1beta1.UpdateOnDelete}
	})
	r.pollAndReconcile()
	if len(r.slurm.Reservations) != 0 {
		t.Errorf("given up there are %v", r.slurm.Reservations)
	}
}

func TestAReservationThatSlurmCannotMakeKeepsNothing(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, withSchedule(nodesettest.Noon.Add(10*time.Minute))))
	r.startWorkers()
	r.slurm.Fail["reserve"] = &slurmclient.Error{Code: slurmclient.CodeUnsupported}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	r.pollAndReconcile()
	r.slurm.Fail["reserve"] = errors.New("no")
	r.now = r.now.Add(10 * time.Second)
	r.slurm.Poll()
	if _, err := r.Reconcile(t.Context(), request); err == nil {
		t.Error("another failure is no error")
	}
}

// TestANodeSetWithAProblemReservesNothing: all workers are of the newest revision.
func TestANodeSetWithAProblemReservesNothing(t *testing.T) {
	start := nodesettest.Noon.Add(10 * time.Minute)
	r := newTestEnv(t, nodesettest.NewNodeSet(2, withSchedule(start)))
	r.startWorkers()
	if len(r.slurm.Reservations) != 0 {
		t.Fatal("there is a reservation without anything to update")
	}
	r.must(r.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth", Namespace: "slurm"}}))
	r.now = r.now.Add(2 * time.Minute)
	r.pollAndReconcile()
	r.expectReady("ReferenceNotFound")
	if got, reserved := r.slurm.Reservations["SlurmOperatorMaint-gpu"]; reserved {
		t.Errorf("nodes %v are reserved from %s to %s, with nothing to update", got.Nodes, got.StartTime.Time(), got.EndTime.Time())
	}
}

// TestAScheduledUpdateChangesTheShape: the update's reservation names the nodes of the workers, as slurmclients reports. It must
// not keep the records of the old shape that the update should replace.
func TestAScheduledUpdateChangesTheShape(t *testing.T) {
	for _, extra := range []string{"CPUs=8", "CPUs=2"} {
		for _, busy := range []bool{false, true} {
			start := nodesettest.Noon.Add(10 * time.Minute)
			r := newTestEnv(t, nodesettest.NewNodeSet(3, nodesettest.WithMaxReplicas(3), withSchedule(start)))
			poll := func() {
				r.slurm.References = map[string]string{}
				for name, have := range r.slurm.Reservations { // as references.ByNode in slurmclients
					for _, n := range have.Nodes {
						r.slurm.References[n] = "reservation " + name
					}
				}
				r.pollAndReconcile()
				r.kubelet()
			}
			for range 6 {
				poll()
			}
			for _, n := range r.slurm.Nodes {
				n.CPUs = 4
			}
			if busy {
				r.slurm.Start(7, "gpu-2")
			}
			r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = extra })
			poll()
			if len(r.slurm.Reservations) != 1 {
				t.Fatalf("%s: reservations %v", extra, r.slurm.Reservations)
			}
			r.now = start
			for range 60 { // 10 minutes
				poll()
			}
			if busy {
				r.slurm.End(7)
				for range 60 {
					poll()
				}
			}
			want := uint32(8)
			if extra == "CPUs=2" {
				want = 2
			}
			status := r.nodeSet().Status
			for name, n := range r.slurm.Nodes {
				if n.CPUs != want || n.State.Base == slurm.NodeFuture {
					t.Errorf("%s busy %v: after the update record %s has %d CPUs in state %s; updated %d of %d; pods %q", extra, busy, name, n.CPUs, n.State, status.UpdatedReplicas, status.Replicas, r.podNames())
				}
			}
		}
	}
}

package behaviour

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// startUnready has a pod run on a Kubernetes node, where its slurmd registers, and never be Ready, as with a sidecar that fails.
func (r *testEnv) startUnready(pod, kubeNode string) {
	r.t.Helper()
	r.countReadings()
	r.startOn(pod, kubeNode)
	p := r.pod(pod)
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	r.must(r.Status().Update(r.t.Context(), p))
	r.slurm.Nodes[pod].SlurmdStartTime = slurm.At(r.now)
}

// countReadings numbers the readings of Slurm's nodes, so that a test's changes in them are noticed.
func (r *testEnv) countReadings() {
	sequence := uint64(0)
	r.slurm.Cluster = func(r *slurmclients.Reading) { sequence++; r.Snapshot.Nodes.Sequence = sequence }
}

// passTime lets time pass with regular readings.
func (r *testEnv) passTime(times int, step time.Duration) {
	r.t.Helper()
	for range times {
		r.now = r.now.Add(step)
		r.pollAndReconcile()
	}
}

// TestAJobThatSlurmctldForgotKeepsItsUnreadyWorker: slurmctld returns with an older state, in which the record is FUTURE, while the
// processes of the job still run.
func TestAJobThatSlurmctldForgotKeepsItsUnreadyWorker(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(2)))
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.startUnready("gpu-0", "kube-0")
	r.pollAndReconcile()
	r.slurm.Start(7, "gpu-0")
	r.passTime(30, time.Minute)
	r.clearWrites()
	r.slurm.End(7)
	r.slurm.Nodes["gpu-0"].State = slurm.ParseNodeState("FUTURE", "DYNAMIC_NORM")
	r.passTime(60, 10*time.Second)
	for _, w := range r.writes {
		if strings.HasPrefix(w, "delete Pod") {
			t.Errorf("%s: %v", w, r.takeEvents())
		}
	}
}

// TestANamesakeOfAnUnreadyWorkerLeaves: zzz-0 waits for a Kubernetes node since before gpu-0 has started and got a job. A Kubernetes node
// gpu-0 joins, and the scheduler is quicker than the operator.
func TestANamesakeOfAnUnreadyWorkerLeaves(t *testing.T) {
	for name, isAway := range map[string]bool{"it is not Ready": false, "it is Ready since slurmrestd went away": true} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1))
			other := nodesettest.NewNodeSet(1, withPodTemplate(`{"hostNetwork": true}`))
			other.Name, other.UID = "zzz", "zzz-uid"
			r.createObject(other)
			r.reconcileOther("zzz")
			r.reconcileOther("zzz")
			r.passTime(1, time.Minute)
			r.startUnready("gpu-0", "kube-0")
			r.pollAndReconcile()
			r.slurm.Start(7, "gpu-0")
			look := r.pollAndReconcile
			if isAway {
				p := r.pod("gpu-0")
				nodesettest.SetRunning(p, r.now)
				r.must(r.Status().Update(t.Context(), p))
				look = r.reconcile
			}
			for range 30 {
				r.now = r.now.Add(time.Minute)
				look()
				r.reconcileOther("zzz")
			}
			r.createObject(nodesettest.NewKubeNode("gpu-0"))
			r.scheduleTo("zzz-0", "gpu-0")
			p := r.pod("zzz-0")
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(r.now)}}
			r.must(r.Status().Update(t.Context(), p))
			for range 12 {
				r.now = r.now.Add(10 * time.Second)
				look()
				r.reconcileOther("zzz")
			}
			for _, have := range r.pods() {
				if have.UID == p.UID {
					t.Errorf("pod zzz-0 is still about to start slurmd as gpu-0, on which a job runs: %v", r.takeEvents())
				}
			}
		})
	}
}

// TestTheRecordOfAnUnreadyWorkerIsItsOwn: another NodeSet has the hostname gpu-, and the record has a reason of the operator.
func TestTheRecordOfAnUnreadyWorkerIsItsOwn(t *testing.T) {
	for name, isBusy := range map[string]bool{"the worker is cordoned": false, "an earlier drain has left its reason": true} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2))
			r.pollAndReconcile()
			r.startOn("gpu-0", "kube-0")
			r.startUnready("gpu-1", "kube-1")
			r.slurm.Nodes["gpu-1"].SlurmdStartTime = 0 // it does not show whose slurmd that is, so that no owner is written
			r.passTime(3, 10*time.Second)
			other := nodesettest.NewNodeSet(0, withHostname("gpu-"), nodesettest.WithMaxReplicas(4))
			other.Name, other.UID = "zzz", "zzz-uid"
			r.createObject(other)
			r.reconcileOther("zzz")
			if isBusy {
				r.slurm.Start(7, "gpu-1")
				r.slurm.Nodes["gpu-1"].Reason, r.slurm.Nodes["gpu-1"].ReasonAt = "slurm-operator: its pod is gone", slurm.At(r.now)
				r.slurm.Poll()
			} else {
				p := r.pod("gpu-1")
				p.Annotations[v1beta1.AnnotationPodCordon] = "true"
				r.must(r.Update(t.Context(), p))
				r.pollAndReconcile()
			}
			r.slurm.Calls = nil
			for range 3 {
				r.now = r.now.Add(5 * time.Second)
				r.slurm.Poll()
				r.reconcileOther("zzz")
			}
			for _, call := range r.slurm.Calls {
				if strings.Contains(call, "gpu-1") {
					t.Errorf("NodeSet zzz changes the Slurm node of pod gpu-1 of NodeSet gpu, whose slurmd runs: %s", call)
				}
			}
		})
	}
}

// TestTheOwnerOfAnUnreadyWorkerIsWritten: others know by it whose the Slurm node is.
func TestTheOwnerOfAnUnreadyWorkerIsWritten(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.pollAndReconcile()
	r.startUnready("gpu-0", "kube-0")
	r.passTime(3, 10*time.Second)
	if comment := r.slurm.Nodes["gpu-0"].Comment; !strings.Contains(comment, "gpu-0") {
		t.Errorf("the comment is %q", comment)
	}
}

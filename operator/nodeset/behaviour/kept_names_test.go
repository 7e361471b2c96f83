package behaviour

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestAWorkerBelowThePartitionDoesNotTakeOverItsOldNode: the ordinal keeps its revision, and with it its old name. Its pod is
// deleted by force while the kubelet is away, so that slurmd runs on with a job.
func TestAWorkerBelowThePartitionDoesNotTakeOverItsOldNode(t *testing.T) {
	for name, change := range map[string]func(*v1beta1.NodeSet){
		"other padding":  func(n *v1beta1.NodeSet) { n.Spec.OrdinalPadding = 3 },
		"other hostname": func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostname": "x-"}`) },
		"the same names": func(n *v1beta1.NodeSet) {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2), func(n *v1beta1.NodeSet) {
				n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling
				n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(2))}
			}))
			r.startWorkers()
			r.change(change)
			for range 3 {
				r.pollAndReconcile()
			}
			if r.podNames() != "gpu-0 gpu-1" || len(r.slurm.Nodes) != 2 {
				t.Fatalf("pods = %q, %d Slurm nodes", r.podNames(), len(r.slurm.Nodes))
			}
			r.slurm.Start(7, "gpu-1")
			r.pollAndReconcile()
			r.losePod("gpu-1")
			for range 30 {
				r.pollAndReconcile()
			}
			if got := r.podNames(); got != "gpu-0" {
				t.Fatalf("pods = %q while job 7 runs under the name gpu-1", got)
			}
			r.expectCondition("Submittable", "True", "RecordsReady")
			r.slurm.End(7)
			for range 10 {
				r.pollAndReconcile()
				r.kubelet()
			}
			if got := r.podNames(); got != "gpu-0 gpu-1" {
				t.Fatalf("pods = %q once the job has ended", got)
			}
			if got := r.pod("gpu-1").Labels[v1beta1.LabelPodHostname]; got != "gpu-1" {
				t.Errorf("the worker is called %s", got)
			}
		})
	}
}

// TestAWorkerBelowThePartitionGetsTheRecordOfItsShape: the newest revision has fewer CPUs, and Slurm would refuse its workers on
// that record.
func TestAWorkerBelowThePartitionGetsTheRecordOfItsShape(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2), func(n *v1beta1.NodeSet) {
		n.Spec.ExtraConf = "CPUs=8"
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(2))}
	}))
	r.startWorkers()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "CPUs=4" })
	r.pollAndReconcile()
	r.pollAndReconcile()
	n := r.slurm.Nodes["gpu-1"] // preStop
	n.State.Base, n.Reason, n.CPUs = slurm.NodeDown, v1beta1.DrainReasonPrefix+"the pod is being stopped", 8
	r.losePod("gpu-1")
	for range 3 {
		r.pollAndReconcile()
	}
	if got := r.podNames(); got != "gpu-0 gpu-1" {
		t.Fatalf("pods = %q", got)
	}
	if got := confOf(r.pod("gpu-1")); got != "CPUs=8" {
		t.Errorf("the worker has %s", got)
	}
}

// TestTheWorkerThatKeepsTheNameOfAnotherIsNamed: ordinal 0 keeps its old name n10 below the partition, and ordinal 10 would get it.
func TestTheWorkerThatKeepsTheNameOfAnotherIsNamed(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(11, nodesettest.WithMaxReplicas(11), withHostname("n1"), func(n *v1beta1.NodeSet) {
		n.Spec.UpdateStrategy.Type = v1beta1.UpdateRolling
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(1))}
	}), nodesettest.NewKubeNode("kube-10"))
	r.startWorkers()
	r.change(withHostname("n"))
	settle := func() {
		for range 60 {
			r.now = r.now.Add(30 * time.Second)
			r.pollAndReconcile()
			r.startOnKubeNodes()
		}
	}
	settle()
	if c := meta.FindStatusCondition(r.nodeSet().Status.Conditions, v1beta1.ConditionUpdated); c == nil ||
		!strings.Contains(c.Message, "because worker gpu-0 keeps the name n10") {
		t.Errorf("Updated = %+v", c)
	}
	r.loseWorker("gpu-10", observed.SlurmName(r.pod("gpu-10")))
	settle()
	r.expectReady("ordinal 10 gets no worker, because worker gpu-0 keeps the name n10")
}

package behaviour

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// losePod removes a pod from Kubernetes that runs on.
func (r *testEnv) losePod(name string) {
	r.t.Helper()
	pod := r.pod(name)
	r.must(r.Client.Delete(r.t.Context(), pod, client.GracePeriodSeconds(0),
		client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}))
}

func TestPodThatIsDeletedByForceKeepsItsName(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(3)))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.losePod("gpu-0")
	for range 4 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if got := r.podNames(); got != "gpu-1 gpu-2" {
		t.Fatalf("pods = %q while a job runs under the name gpu-0", got)
	}
	c := r.expectCondition("Ready", "True", "Available")
	for _, part := range []string{"Slurm nodes gpu-0 have no pod", "scontrol update nodename=gpu-0 state=down"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("Ready says %q, without %q", c.Message, part)
		}
	}
	if n := r.slurm.Nodes["gpu-0"]; !n.State.Has(slurm.NodeDrain) {
		t.Errorf("the node gets further jobs: %s", n.State)
	}
	r.slurm.End(7)
	r.slurm.Nodes["gpu-0"].State.Flags |= slurm.NodeDrain
	for range 4 {
		r.pollAndReconcile()
	}
	if n := r.slurm.Nodes["gpu-0"]; n.State.Base != slurm.NodeFuture {
		t.Errorf("afterwards the record is %s", n.State)
	}
	if c := r.expectCondition("Ready", "True", "Available"); strings.Contains(c.Message, "gpu-0") {
		t.Errorf("afterwards Ready says %q", c.Message)
	}
}

func TestLastLookAtANameBeforeAWorkerIsCreated(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)))
	r.startWorkers()
	r.slurm.Nodes["gpu-0"].State.Base = slurm.NodeDown
	r.losePod("gpu-0")
	r.reconcile() // misses the pod
	r.now = r.now.Add(10 * time.Second)
	r.slurm.Poll()
	r.slurm.Start(8, "gpu-0") // after the reading
	r.reconcile()
	if got := r.podNames(); got != "" {
		t.Errorf("pods = %q", got)
	}
}

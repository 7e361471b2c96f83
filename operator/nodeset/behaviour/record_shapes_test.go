package behaviour

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const oldShape, newShape = "CPUs=4 Gres=gpu:a100:4", "CPUs=4 Gres=gpu:h100:8"

// newShapeEnv has a NodeSet without workers and four FUTURE records of its shape.
func newShapeEnv(t *testing.T) *testEnv {
	r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(4),
		func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = oldShape }))
	r.settle()
	return r
}

// shapes returns the GRES and the hash of the shape of each record.
func (r *testEnv) shapes() map[string]string {
	out := map[string]string{}
	for name, n := range r.slurm.Nodes {
		note, _ := comment.Parse(n.Comment)
		out[name] = n.GRES + " " + note.Shape
	}
	return out
}

func TestRecordsFollowTheShapeOfTheirNodeSet(t *testing.T) {
	r := newShapeEnv(t)
	before := r.shapes()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = newShape })
	r.settle()
	after := r.shapes()
	if len(after) != 4 {
		t.Fatalf("the records are %v", after)
	}
	for name, shape := range after {
		if !strings.HasPrefix(shape, "gpu:h100:8 ") || shape[len("gpu:h100:8 "):] == before[name][len("gpu:a100:4 "):] {
			t.Errorf("the record %s is %s, before %s", name, shape, before[name])
		}
	}
	if events := strings.Join(r.takeEvents(), "\n"); !strings.Contains(events, "the shape of the workers has changed") {
		t.Errorf("the events are %s", events)
	}
	r.clearWrites()
	r.settle()
	if len(r.slurm.Calls) != 0 {
		t.Errorf("afterwards there are writes: %v", r.slurm.Calls)
	}
}

func TestARecordThatAJobNamesKeepsItsShape(t *testing.T) {
	r := newShapeEnv(t)
	r.slurm.References = map[string]string{"gpu-1": "job 5"}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf, n.Spec.Replicas = newShape, new(int32(2)) })
	r.settle()
	if got := r.shapes(); !strings.HasPrefix(got["gpu-1"], "gpu:a100:4 ") || !strings.HasPrefix(got["gpu-0"], "gpu:h100:8 ") {
		t.Errorf("the records are %v", got)
	}
	if got := r.podNames(); got != "gpu-0 gpu-2" {
		t.Errorf("the workers are %s", got)
	}
	if c := r.expectCondition("Draining", "True", "RecordsLeft"); !strings.Contains(c.Message, "gpu-1") ||
		!strings.Contains(c.Message, "job 5") {
		t.Errorf("the message is %s", c.Message)
	}
}

func TestRecordsOfAnEarlierVersionGetAHash(t *testing.T) {
	r := newShapeEnv(t)
	for name, n := range r.slurm.Nodes {
		n.Comment = comment.OfFuture(r.nodeSet(), "uid-namespace", "")
		if name == "gpu-3" {
			n.GRES = "gpu:a100:2"
		}
	}
	r.clearWrites()
	r.settle()
	for name, shape := range r.shapes() {
		if len(shape) != len("gpu:a100:4 01234567") || !strings.HasPrefix(shape, "gpu:a100:4 ") {
			t.Errorf("the record %s is %q", name, shape)
		}
	}
	deleted := 0
	for _, call := range r.slurm.Calls {
		if strings.HasPrefix(call, "delete ") {
			deleted++
		}
	}
	if deleted != 1 {
		t.Errorf("the writes are %v", r.slurm.Calls)
	}
}

func TestFeaturesOfFutureRecordsAreUpdated(t *testing.T) {
	r := newShapeEnv(t)
	r.clearWrites()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = oldShape + " Features=fast" })
	r.settle()
	if got := strings.Join(r.slurm.Calls, "\n"); strings.Contains(got, "delete") {
		t.Errorf("the writes are %s", got)
	}
	for name, n := range r.slurm.Nodes {
		if n.State.Base == slurm.NodeFuture && strings.Join(n.Features, ",") != "gpu,fast" {
			t.Errorf("the features of %s are %v", name, n.Features)
		}
	}
}

// TestNewRecordsKeepTheTypesOfGRES: slurmctld removes types that were not written after the creation.
func TestNewRecordsKeepTheTypesOfGRES(t *testing.T) {
	r := newShapeEnv(t)
	r.slurm.Reconfigure()
	r.clearWrites()
	r.settle()
	r.expectGRES("gpu:a100:4")
	if len(r.slurm.Calls) != 0 {
		t.Errorf("the writes are %s", r.slurm.Calls)
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = newShape })
	r.settle()
	r.slurm.Reconfigure()
	r.expectGRES("gpu:h100:8")
}

// expectGRES checks the GRES of all records.
func (r *testEnv) expectGRES(want string) {
	r.t.Helper()
	for name, n := range r.slurm.Nodes {
		if n.GRES != want {
			r.t.Errorf("the GRES of %s are %s, want %s", name, n.GRES, want)
		}
	}
}

// TestLostTypesOfGRESAreRestored: an earlier version did not write the types after the creation. slurmctld refuses them after
// a reconfigure, so the records are recreated, except one that a job names.
func TestLostTypesOfGRESAreRestored(t *testing.T) {
	r := newShapeEnv(t)
	for name, n := range r.slurm.Nodes {
		shape := ""
		if name == "gpu-1" || name == "gpu-2" {
			note, _ := comment.Parse(n.Comment)
			shape = note.Shape
		}
		if err := r.slurm.CreateNodes(t.Context(), name, oldShape+" Feature=gpu"); err != nil {
			t.Fatal(err)
		}
		r.slurm.Nodes[name].Comment = comment.OfFuture(r.nodeSet(), "uid-namespace", shape)
	}
	r.slurm.References = map[string]string{"gpu-1": "job 5"}
	r.slurm.Reconfigure()
	r.clearWrites()
	r.settle()
	writes := strings.Join(r.slurm.Calls, "\n")
	for name, want := range map[string]string{"gpu-0": "gpu:a100:4", "gpu-1": "gpu:4", "gpu-2": "gpu:a100:4", "gpu-3": "gpu:a100:4"} {
		if n := r.slurm.Nodes[name]; n.GRES != want || strings.Contains(writes, "delete "+name) != (name != "gpu-1") {
			t.Errorf("the GRES of %s are %s, the writes are %s", name, n.GRES, writes)
		}
	}
	r.slurm.Reconfigure()
	r.now = r.now.Add(time.Minute)
	r.clearWrites()
	r.settle()
	r.expectGRES("gpu:a100:4")
	if got := strings.Join(r.slurm.Calls, "\n"); strings.Contains(got, "delete") {
		t.Errorf("the writes are %s", got)
	}
}

// TestRecordsOfKeptRevisionsHaveTheirShape: slurmctld comes back without any record. Slurm would refuse the smaller workers of
// the old revision on records of the new shape.
func TestRecordsOfKeptRevisionsHaveTheirShape(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(3, nodesettest.WithMaxReplicas(4), func(n *v1beta1.NodeSet) {
		n.Spec.ExtraConf = oldShape
		n.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: new(int32(2))}
	}))
	r.startWorkers()
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = newShape })
	for range 8 {
		r.pollAndReconcile()
		r.kubelet()
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.Replicas = new(int32(0)) })
	for range 8 {
		r.pollAndReconcile()
		r.kubelet()
	}
	if pods := r.pods(); len(pods) != 0 {
		t.Fatalf("%d workers are left", len(pods))
	}
	clear(r.slurm.Nodes)
	r.restart()
	r.settle()
	for name, want := range map[string]string{"gpu-0": "gpu:a100:4", "gpu-1": "gpu:a100:4", "gpu-2": "gpu:h100:8", "gpu-3": "gpu:h100:8"} {
		if n := r.slurm.Nodes[name]; n == nil || n.GRES != want {
			t.Errorf("the record %s is %+v, want %s", name, n, want)
		}
	}
	r.clearWrites()
	r.settle()
	if len(r.slurm.Calls) != 0 {
		t.Errorf("afterwards there are writes: %v", r.slurm.Calls)
	}
}

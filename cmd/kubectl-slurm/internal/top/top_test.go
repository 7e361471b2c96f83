package top

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func newJob(id int64, user, state string, change ...func(j *view.SlurmJob)) view.SlurmJob {
	j := view.SlurmJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "alpha.1",
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	j.Spec = view.SlurmJobSpec{Cluster: view.ClusterReference{Name: "alpha"}, JobID: id, User: user,
		Partitions: []string{"gpu"}}
	j.Status = view.SlurmJobStatus{State: state, CPUs: ptr(int64(4)), NodeCount: ptr(int64(1)),
		TRES: "cpu=4,mem=2G,gres/gpu=2"}
	for _, c := range change {
		c(&j)
	}
	return j
}

func printTable[R any](t *testing.T, of *table.Table[R]) string {
	t.Helper()
	var out strings.Builder
	if err := of.Print(&out, table.Plain, table.WithHeadings); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestFinishedJobsAreShownOnlyOnRequest(t *testing.T) {
	jobs := []view.SlurmJob{
		newJob(1, "alice", "RUNNING", func(j *view.SlurmJob) {
			j.Status.StartTime, j.Status.Nodes = &metav1.Time{Time: now.Add(-time.Minute)}, "gpu-0"
		}),
		newJob(2, "bob", "PENDING", func(j *view.SlurmJob) {
			j.Status.Reason, j.Status.TRES, j.Status.CPUs = "Priority", "", nil
		}),
		newJob(3, "bob", "COMPLETED"),
		newJob(4, "bob", "COMPLETED", func(j *view.SlurmJob) { j.Status.Flags = []string{"COMPLETING"} }),
	}
	want := `CLUSTER JOBID NAME USER PARTITION STATE TIME NODES CPUS MEMORY GPUS WHERE/WHY
alpha 1 <none> alice gpu RUNNING 60s 1 4 2048Mi 2 gpu-0
alpha 2 <none> bob gpu PENDING 60m 1 <unknown> <unknown> <unknown> Priority
alpha 4 <none> bob gpu COMPLETED+COMPLETING 60m 1 4 2048Mi 2 None`
	if diff := cmp.Diff(want, printTable(t, Jobs(now, OneNamespace, Present, jobs))); diff != "" {
		t.Error(diff)
	}
	if all := Jobs(now, ManyNamespaces, All, jobs); len(all.Rows) != 4 || all.Columns[0].Name != "NAMESPACE" {
		t.Errorf("all are %d, by %s", len(all.Rows), all.Columns[0].Name)
	}
}

func TestUsersAreTheSumsOfTheirJobs(t *testing.T) {
	got := Users(OneNamespace, []view.SlurmJob{
		newJob(1, "alice", "RUNNING"), newJob(2, "alice", "RUNNING"), newJob(3, "bob", "COMPLETED"),
		newJob(4, "bob", "PENDING", func(j *view.SlurmJob) { j.Spec.ArrayJobID, j.Spec.ArrayTasks = 4, "0-9%2" }),
		newJob(5, "bob", "RUNNING", func(j *view.SlurmJob) { j.Spec.Cluster.Name = "beta" }),
		newJob(6, "carol", "SUSPENDED"),
	})
	want := `CLUSTER USER RUNNING PENDING NODES CPUS MEMORY GPUS
alpha alice 2 0 2 8 4096Mi 4
alpha carol 0 0 1 4 2048Mi 2
alpha bob 0 10 0 0 0Mi 0
beta bob 1 0 1 4 2048Mi 2`
	if diff := cmp.Diff(want, printTable(t, got)); diff != "" {
		t.Error(diff)
	}
}

func TestNodesShowAllocatedResources(t *testing.T) {
	n := view.SlurmNode{Spec: view.SlurmNodeSpec{Cluster: view.ClusterReference{Name: "alpha"}, Name: "n1", CPUs: 8,
		MemoryMiB: 20480, GRES: "gpu:h100:4"}}
	n.Status = view.SlurmNodeStatus{States: []string{"MIXED", "DRAIN"}, EffectiveCPUs: 8, AllocatedCPUs: 2,
		AllocatedMemoryMiB: 1024, GRESUsed: "gpu:h100:1(IDX:0)", Reason: "broken"}
	future := *n.DeepCopy()
	future.Spec.Name, future.Status.States = "n2", []string{"FUTURE"}
	want := `CLUSTER NODE STATE CPUS CPU% MEMORY MEMORY% GPUS REASON
alpha n1 draining 2/8 25% 1024Mi/20Gi 5% 1/4 broken`
	if diff := cmp.Diff(want,
		printTable(t, Nodes(now, OneNamespace, Present, []view.SlurmNode{n, future}))); diff != "" {
		t.Error(diff)
	}
	if all := Nodes(now, OneNamespace, All, []view.SlurmNode{n, future}); len(all.Rows) != 2 {
		t.Errorf("all are %d", len(all.Rows))
	}
}

func TestWorkersShowOnlyStates(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gpu-0",
		Labels: map[string]string{v1beta1.LabelCluster: "alpha", v1beta1.LabelPodHostname: "gpu-0"}}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: v1beta1.PodConditionIdle, Status: "True"},
		{Type: v1beta1.PodConditionDrain, Status: "True", Message: "broken"}}
	want := "CLUSTER NODE STATE CPUS CPU% MEMORY MEMORY% GPUS REASON\nalpha gpu-0 drain+idle" +
		strings.Repeat(" <unknown>", 5) + " broken"
	if diff := cmp.Diff(want, printTable(t, Workers(now, OneNamespace, []corev1.Pod{pod}))); diff != "" {
		t.Error(diff)
	}
}

func TestNodeSetsShowTheTighterMaximumAndUnknownNumbers(t *testing.T) {
	n := v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "gpu"}}
	n.Spec.ClusterRef, n.Spec.Replicas, n.Spec.MaxReplicas = &corev1.LocalObjectReference{Name: "alpha"},
		ptr(int32(2)), ptr(int32(8))
	h := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "gpu"}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1",
		Kind: "NodeSet", Name: "gpu"}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = ptr(int32(0)), 5
	got := NodeSets(OneNamespace, []v1beta1.NodeSet{n}, []autoscalingv2.HorizontalPodAutoscaler{h},
		map[string]Numbers{"hpc/gpu": {"slurm_nodeset_required_nodes": 0}})
	want := `CLUSTER NODESET REPLICAS READY REQUIRED BUSY IDLE PENDING MIN MAX
alpha gpu 2 0 0 <unknown> <unknown> <unknown> 0 5`
	if diff := cmp.Diff(want, printTable(t, got)); diff != "" {
		t.Error(diff)
	}
}

func TestFormatMemory(t *testing.T) {
	for mib, want := range map[uint64]string{0: "0Mi", 10239: "10239Mi", 10240: "10Gi", 16000: "15.6Gi",
		102399: "99.9Gi", 102400: "100Gi", 515000: "502Gi"} {
		if got := formatMemory(mib); got != want {
			t.Errorf("%d MiB are %s, want %s", mib, got, want)
		}
	}
}

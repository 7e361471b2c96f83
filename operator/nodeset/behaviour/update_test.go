package behaviour

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestRecordsOfWorkersToCome(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(3)))
	r.reconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "create gpu-[0-2] Feature=gpu CPUs=4 State=FUTURE", "update gpu-[0-2]")
	r.pollAndReconcile()
	r.expectCondition("Submittable", "True", "RecordsReady")
	if got := r.slurm.Nodes["gpu-2"].Comment; !strings.Contains(got, nodesettest.NodeSetUID) {
		t.Errorf("the comment is %q", got)
	}
	r.clearWrites()
	r.change(nodesettest.WithMaxReplicas(1))
	for range 30 { // 290 s after the first
		r.pollAndReconcile()
	}
	expectStrings(t, "the calls", r.slurm.Calls)
	r.slurm.References = map[string]string{"gpu-2": "job 5"}
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "delete gpu-1")
	r.expectCondition("Draining", "True", "RecordsLeft")
	r.slurm.References = nil
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls, "delete gpu-1", "delete gpu-2")
}

func TestUpdatingWorkers(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, func(n *v1beta1.NodeSet) { n.Spec.RevisionHistoryLimit = 1 }))
	r.startWorkers()
	first := r.nodeSet().Status.NodeSetHash
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	r.pollAndReconcile()
	second := r.nodeSet().Status.NodeSetHash
	r.expectCondition("Updated", "False", "Updating")
	least := 2
	for range 12 {
		r.pollAndReconcile()
		least = min(least, len(r.pods()))
		r.kubelet()
	}
	for _, p := range r.pods() {
		if revisionOf(p) != second || first == second {
			t.Errorf("%s is of revision %s", p.Name, revisionOf(p))
		}
	}
	if least != 1 || r.podNames() != "gpu-0 gpu-1" {
		t.Errorf("there were %d pods, there are %s", least, r.podNames())
	}
	r.expectCondition("Updated", "True", "UpToDate")
}

func TestOldRevisionsAreKeptUpToTheLimit(t *testing.T) {
	paused := func(n *v1beta1.NodeSet) { n.Spec.RevisionHistoryLimit, n.Spec.UpdateStrategy.Paused = 2, true }
	r := newTestEnv(t, nodesettest.NewNodeSet(1, paused))
	r.startWorkers()
	hashes := []string{r.nodeSet().Status.NodeSetHash}
	for i := range 5 {
		r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = fmt.Sprintf("Weight=%d", i+2) })
		r.pollAndReconcile()
		hashes = append(hashes, r.nodeSet().Status.NodeSetHash)
	}
	r.pollAndReconcile()
	list := &appsv1.ControllerRevisionList{}
	r.must(r.List(t.Context(), list))
	kept := map[string]int64{}
	for _, rev := range list.Items {
		kept[rev.Name] = rev.Revision
	}
	// The worker's revision, the newest, and two between them.
	want := map[string]int64{"gpu-" + hashes[0]: 1, "gpu-" + hashes[3]: 4, "gpu-" + hashes[4]: 5, "gpu-" + hashes[5]: 6}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

// TestWorkersBelowThePartitionComeBackAsTheyWere loses all workers below the partition
// at once, with the process that knew them.
func TestWorkersBelowThePartitionComeBackAsTheyWere(t *testing.T) {
	partition := func(n int32) func(*v1beta1.NodeSet) {
		return func(s *v1beta1.NodeSet) {
			s.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{Partition: &n}
		}
	}
	r := newTestEnv(t, nodesettest.NewNodeSet(3, partition(2)))
	r.startWorkers()
	first := r.nodeSet().Status.NodeSetHash
	revisions := func() string {
		var out []string
		for _, p := range r.pods() {
			out = append(out, revisionOf(p)+" "+confOf(p))
		}
		return strings.Join(out, ", ")
	}
	settle := func() {
		for range 8 {
			r.pollAndReconcile()
			r.kubelet()
		}
	}
	lose := func(names ...string) {
		for _, name := range names {
			r.must(r.Client.Delete(t.Context(), r.pod(name),
				client.Preconditions{UID: &r.pod(name).UID, ResourceVersion: &r.pod(name).ResourceVersion}))
			n := r.slurm.Nodes[name] // preStop
			n.State.Base, n.Reason = slurm.NodeDown, v1beta1.DrainReasonPrefix+"the pod is being stopped"
		}
		r.restart()
		settle()
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=2" })
	settle()
	second := r.nodeSet().Status.NodeSetHash
	want := fmt.Sprintf("%[1]s , %[1]s , %[2]s Weight=2", first, second)
	if got := revisions(); got != want {
		t.Fatalf("the workers are %s and not %s", got, want)
	}
	lose("gpu-0", "gpu-1", "gpu-2")
	if got := revisions(); got != want {
		t.Errorf("after a loss they are %s and not %s", got, want)
	}
	r.change(func(n *v1beta1.NodeSet) { n.Spec.ExtraConf = "Weight=3" })
	settle()
	third := r.nodeSet().Status.NodeSetHash
	lose("gpu-0")
	want = fmt.Sprintf("%[1]s , %[1]s , %[2]s Weight=3", first, third)
	if got := revisions(); got != want {
		t.Errorf("after the next update they are %s and not %s", got, want)
	}
	r.expectCondition("Updated", "True", "UpToDate")
	r.change(partition(0))
	settle()
	settle()
	if got, want := revisions(), strings.Repeat(third+" Weight=3, ", 2)+third+" Weight=3"; got != want {
		t.Errorf("without a partition they are %s and not %s", got, want)
	}
	list := &appsv1.ControllerRevisionList{}
	r.must(r.List(t.Context(), list))
	if len(list.Items) != 1 || list.Items[0].Annotations[v1beta1.AnnotationOrdinals] != "" {
		t.Errorf("the revisions left are %v", list.Items)
	}
}

// confOf returns the part of extraConf that a worker has.
func confOf(p *corev1.Pod) string {
	for _, e := range p.Spec.Containers[0].Env {
		for word := range strings.FieldsSeq(strings.ReplaceAll(e.Value, "'", " ")) {
			if strings.HasPrefix(word, "CPUs=") || strings.HasPrefix(word, "Weight=") {
				return word
			}
		}
	}
	return ""
}

func TestChildrenOfOthersAreLeftAsTheyAre(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "slurm-workers-slurm", Namespace: "slurm",
		Labels: map[string]string{"mine": "yes"}}}
	r := newTestEnv(t, nodesettest.NewNodeSet(
		0, func(n *v1beta1.NodeSet) { n.Spec.WorkloadDisruptionProtection = new(false) }),
		service)
	r.reconcile()
	got := &corev1.Service{}
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(service), got))
	if got.Labels["mine"] != "yes" {
		t.Error("the Service was changed")
	}
	budgets := &policyv1.PodDisruptionBudgetList{}
	r.must(r.List(t.Context(), budgets))
	if len(budgets.Items) != 0 {
		t.Error("there is a budget that nobody asked for")
	}
}

func TestABudgetThatLeaksIsCorrected(t *testing.T) {
	budget := func(change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
		b := render.Budget("slurm", "slurm")
		b.UID = "uid-budget"
		change(b)
		return b
	}
	for _, tc := range []struct {
		name   string
		change func(*policyv1.PodDisruptionBudget)
		leaks  bool
	}{
		{"ours", func(*policyv1.PodDisruptionBudget) {}, false},
		{"with labels of others", func(b *policyv1.PodDisruptionBudget) { b.Labels["mine"] = "yes" }, false},
		{"maxUnavailable", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, new(intstr.FromInt32(0))
		}, true},
		{"a percentage", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = new(intstr.FromString("100%")) },
			true},
		{"a small number", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = new(intstr.FromInt32(1)) },
			true},
		{"other pods", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["x"] = "y" }, true},
		{"unready pods go", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			have := budget(tc.change)
			r := newTestEnv(t, nodesettest.NewNodeSet(0), have)
			r.reconcile()
			r.must(r.Get(t.Context(), client.ObjectKeyFromObject(have), have))
			if diff := cmp.Diff(render.Budget("slurm", "slurm").Spec, have.Spec); diff != "" {
				t.Errorf("the budget is %s", diff)
			}
			if told := fmt.Sprint(r.takeEvents()); strings.Contains(told, "BudgetCorrected") != tc.leaks {
				t.Errorf("the events are %s", told)
			}
		})
	}
}

func TestFeaturesAndTopologyOfKubernetesNodes(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	n := nodesettest.NewKubeNode("kube-0")
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(n), n))
	n.Annotations = map[string]string{v1beta1.AnnotationFeatures: "ssd, rack1,ssd",
		v1beta1.AnnotationTopology: "topo:b0"}
	r.must(r.Update(t.Context(), n))
	r.slurm.Nodes["gpu-0"].Features = []string{"gpu", "k8s/old"}
	r.slurm.Fail["topology"] = &slurmclient.Error{Code: slurmclient.CodeUnsupported}
	r.pollAndReconcile()
	got := r.slurm.Nodes["gpu-0"]
	expectStrings(t, "the features", got.Features, "gpu", "k8s/rack1", "k8s/ssd")
	delete(r.slurm.Fail, "topology")
	r.pollAndReconcile()
	if got.Topology != "topo:b0" {
		t.Errorf("the topology is %q", got.Topology)
	}
	r.clearWrites()
	r.pollAndReconcile()
	expectStrings(t, "the calls", r.slurm.Calls)
}

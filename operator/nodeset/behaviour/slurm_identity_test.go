package behaviour

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// setClusterName has readings come from a Slurm cluster of a name.
func (r *testEnv) setClusterName(cluster string) {
	r.slurm.Cluster = func(reading *slurmclients.Reading) {
		reading.Snapshot.Nodes.Cluster, reading.Snapshot.Jobs.Cluster = cluster, cluster
	}
}

// TestAnotherSlurmClusterIsNotBelieved: it knows the workers as drained and idle.
func TestAnotherSlurmClusterIsNotBelieved(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2)))
	r.setClusterName("one")
	r.startWorkers()
	if got := r.nodeSet().Annotations[v1beta1.AnnotationSlurmCluster]; got != "one" {
		t.Fatalf("the remembered cluster is %q", got)
	}
	r.slurm.Start(7, "gpu-0")
	r.slurm.Start(8, "gpu-1")
	r.scale(0)
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.slurm.End(7) // to the other cluster it is unknown
	r.slurm.End(8)
	r.setClusterName("two")
	r.pollAndReconcile()
	r.clearWrites()
	for range 4 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0 gpu-1" || len(r.slurm.Calls) > 0 {
		t.Errorf("the pods are %q, the writes to Slurm %q", r.podNames(), r.slurm.Calls)
	}
	if c := r.expectCondition("Ready", "False", "OtherSlurmCluster"); !strings.Contains(c.Message, "one") ||
		!strings.Contains(c.Message, "two") {
		t.Errorf("the condition says %q", c.Message)
	}
	r.setClusterName("one")
	for range 6 {
		r.pollAndReconcile()
	}
	if r.podNames() != "" || r.nodeSet().Annotations[v1beta1.AnnotationSlurmCluster] != "" {
		t.Errorf("afterwards the pods are %q", r.podNames())
	}
}

// TestSlurmNodesOfAnotherNodeSetAreLeftAlone: one of that name in another namespace, or
// another Kubernetes cluster, or another on the same Kubernetes nodes.
func TestSlurmNodesOfAnotherNodeSetAreLeftAlone(t *testing.T) {
	onKube0 := func(n *v1beta1.NodeSet) {
		setPerKubeNode(n)
		n.Spec.Template.Spec.Raw = []byte(`{"nodeSelector": {"kubernetes.io/hostname": "kube-0"}}`)
	}
	for _, tc := range []struct {
		name, slurmNode string
		set             *v1beta1.NodeSet
		pods            string
	}{
		{"with a maximum", "gpu-0", nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)), ""},
		{"without one", "gpu-0", nodesettest.NewNodeSet(1), "gpu-1"},
		{"one on each Kubernetes node", "kube-0", nodesettest.NewNodeSet(0, onKube0), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestEnv(t, tc.set)
			theirs := nodesettest.NewSlurmNode(tc.slurmNode, "IDLE", "DRAIN")
			theirs.Reason = v1beta1.DrainReasonPrefix + "scale-in"
			theirs.Comment = `{"namespace":"slurm","podName":"gpu-0","nodeSetName":"gpu","nodeSetUID":"another","namespaceUID":"elsewhere"}`
			r.slurm.Nodes[tc.slurmNode] = theirs
			for range 4 {
				r.pollAndReconcile()
			}
			if r.podNames() != tc.pods || len(r.slurm.Calls) > 0 {
				t.Errorf("the pods are %q, want %q, the writes to Slurm %q", r.podNames(), tc.pods, r.slurm.Calls)
			}
			if c := r.expectCondition("Ready", "False", "SlurmNodesTaken"); !strings.Contains(c.Message, tc.slurmNode) {
				t.Errorf("the condition says %q", c.Message)
			}
			if told := strings.Join(r.takeEvents(), "\n"); strings.Count(told, "SlurmNodesTaken") != 1 {
				t.Errorf("the events are %s", told)
			}
			delete(r.slurm.Nodes, tc.slurmNode)
			r.pollAndReconcile()
			if len(r.pods()) != 1 {
				t.Errorf("when the name is free the pods are %q", r.podNames())
			}
		})
	}
}

// TestANameWhoseOwnerIsNotKnownIsWaitedFor: whose a Slurm node is its NodeSet writes only after
// slurmd has registered.
func TestANameWhoseOwnerIsNotKnownIsWaitedFor(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)))
	r.slurm.Nodes["gpu-0"] = nodesettest.NewSlurmNode("gpu-0", "IDLE", "DYNAMIC_NORM")
	r.pollAndReconcile()
	if r.podNames() != "" || len(r.slurm.Calls) > 0 {
		t.Errorf("the pods are %q, the writes to Slurm %q", r.podNames(), r.slurm.Calls)
	}
	if c := r.expectCondition("Ready", "False", "Progressing"); !strings.Contains(
		c.Message, "Slurm nodes gpu-0 have no NodeSet in their comment") {
		t.Errorf("the condition says %q", c.Message)
	}
	delete(r.slurm.Nodes, "gpu-0")
	r.pollAndReconcile()
	if r.podNames() != "gpu-0" {
		t.Errorf("when the name is free the pods are %q", r.podNames())
	}
}

// TestNoWorkerJoinsBeforeItsNameIsKnownToBeFree: the client of a Cluster that was just made
// has read nothing yet.
func TestNoWorkerJoinsBeforeItsNameIsKnownToBeFree(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.slurmMissing = true
	r.reconcile()
	if c := r.expectCondition("Ready", "Unknown", "NotObserved"); r.podNames() != "" ||
		!strings.Contains(c.Message, "workers are created once Slurm has been read") {
		t.Errorf("before a reading the pods are %q, and the condition says %q", r.podNames(), c.Message)
	}
	r.slurmMissing = false
	r.pollAndReconcile()
	if r.podNames() != "gpu-0" {
		t.Errorf("afterwards they are %q", r.podNames())
	}
}

// TestAWorkerThatHasNotRunYieldsToTheNewOwnerOfItsName: a NodeSet of that name in another Kubernetes cluster gets the Slurm node,
// on which job 7 runs. The slurmd of our worker would take over the node, and slurmctld would end the job.
func TestAWorkerThatHasNotRunYieldsToTheNewOwnerOfItsName(t *testing.T) {
	for name, begin := range map[string]func(r *testEnv){
		"not scheduled": func(*testEnv) {},
		"its image is being pulled": func(r *testEnv) {
			pod := r.pod("gpu-0")
			pod.Spec.NodeName = "kube-0"
			r.must(r.Update(r.t.Context(), pod))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1))
			r.pollAndReconcile()
			begin(r)
			theirs := nodesettest.NewSlurmNode("gpu-0", "IDLE", "DYNAMIC_NORM")
			theirs.Comment = `{"namespace":"slurm","podName":"gpu-0","nodeSetName":"gpu","nodeSetUID":"another","namespaceUID":"elsewhere"}`
			r.slurm.Nodes["gpu-0"] = theirs
			r.slurm.Start(7, "gpu-0")
			for range 3 {
				r.pollAndReconcile()
			}
			if got := r.podNames(); got != "gpu-1" || len(r.slurm.Calls) > 0 {
				t.Errorf("pods = %q, writes to Slurm %q", got, r.slurm.Calls)
			}
			if told := strings.Join(r.takeEvents(), "\n"); !strings.Contains(told, "its slurmd has not run yet") {
				t.Errorf("the events are %s", told)
			}
		})
	}
}

// TestARecordThatANamesakeCreatedIsNotAdopted: a NodeSet gpu of another namespace creates it, and writes its comment after our reading.
// References to the records do not matter.
func TestARecordThatANamesakeCreatedIsNotAdopted(t *testing.T) {
	const theirs = `{"namespace":"other","nodeSetName":"gpu","nodeSetUID":"another","namespaceUID":"elsewhere"}`
	for _, records := range []int32{1, 30} {
		r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(records)))
		for i := range records {
			n := nodesettest.NewSlurmNode(fmt.Sprintf("gpu-%d", i), "FUTURE", "DYNAMIC_NORM")
			n.Features = []string{"gpu"}
			r.slurm.Nodes[n.Name] = n
		}
		r.slurm.Fail["references"] = errors.New("PrivateData hides jobs")
		r.slurm.Poll()
		r.slurm.Nodes["gpu-0"].Comment = theirs
		r.reconcile()
		for name, n := range r.slurm.Nodes {
			if mine := strings.Contains(n.Comment, nodesettest.NodeSetUID); mine == (name == "gpu-0") {
				t.Errorf("of %d records %s has the comment %q", records, name, n.Comment)
			}
		}
	}
}

// TestAListThatLacksADrainedNodeDrainsNoOther: the list of nodes that follows a drain began before it and lacks the node.
func TestAListThatLacksADrainedNodeDrainsNoOther(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(2, nodesettest.WithMaxReplicas(2)))
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.slurm.Start(8, "gpu-1")
	r.pollAndReconcile()
	r.clearWrites()
	r.scale(1)
	r.pollAndReconcile()
	if len(r.slurm.Calls) != 1 {
		t.Fatalf("the writes are %q", r.slurm.Calls)
	}
	drained, _, _ := strings.Cut(strings.TrimPrefix(r.slurm.Calls[0], "drain "), ":")
	n := r.slurm.Nodes[drained]
	delete(r.slurm.Nodes, drained)
	r.slurm.Poll()
	r.slurm.Nodes[drained] = n
	r.reconcile()
	if len(r.slurm.Calls) != 1 {
		t.Errorf("one worker is too many, and the writes are %q", r.slurm.Calls)
	}
}

// TestAWorkerThatNeverRanYieldsToAnOlderSlurmd: a slurmd that was started before the pod existed is not in the pod.
func TestAWorkerThatNeverRanYieldsToAnOlderSlurmd(t *testing.T) {
	for _, state := range []string{"IDLE", "ALLOCATED"} {
		t.Run(state, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1))
			r.pollAndReconcile()
			pod := r.pod("gpu-0")
			pod.Spec.NodeName = "kube-0" // scheduled; its image is being pulled
			r.must(r.Update(t.Context(), pod))
			n := nodesettest.NewSlurmNode("gpu-0", state, "DYNAMIC_NORM")
			n.Comment, n.SlurmdStartTime = "the workstation of ann", slurm.At(nodesettest.Noon.Add(-24*time.Hour))
			n.BootTime = n.SlurmdStartTime
			r.slurm.Nodes["gpu-0"] = n
			for range 3 {
				r.pollAndReconcile()
			}
			for _, p := range r.pods() {
				if observed.SlurmName(p) == "gpu-0" {
					t.Errorf("pod %s is about to start a second slurmd gpu-0, and slurmctld will end the jobs of the first", p.Name)
				}
			}
			r.must(r.Delete(t.Context(), r.nodeSet()))
			for range 60 {
				r.now = r.now.Add(time.Minute)
				r.pollAndReconcile()
			}
			if err := r.Get(t.Context(), request.NamespacedName, &v1beta1.NodeSet{}); err == nil {
				t.Errorf("an hour after its deletion the NodeSet is still there; pods %q", r.podNames())
			}
		})
	}
}

// TestAWorkerKeepsItsNameWhenItsLabelChanges: the Kubernetes nodes have names of workers, which an unlabelled worker could be taken for.
func TestAWorkerKeepsItsNameWhenItsLabelChanges(t *testing.T) {
	for edit, change := range map[string]func(labels map[string]string){
		"removed": func(labels map[string]string) { delete(labels, v1beta1.LabelPodHostname) },
		"edited":  func(labels map[string]string) { labels[v1beta1.LabelPodHostname] = "gpu-1" },
	} {
		t.Run(edit, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2), nodesettest.NewKubeNode("gpu-0"), nodesettest.NewKubeNode("gpu-1"))
			r.pollAndReconcile()
			for worker, kubeNode := range map[string]string{"gpu-0": "gpu-1", "gpu-1": "gpu-0"} {
				pod := r.pod(worker)
				pod.Spec.NodeName = kubeNode
				r.must(r.Update(t.Context(), pod))
			}
			r.startWorkers()
			r.slurm.Start(7, "gpu-0")
			pod := r.pod("gpu-0")
			change(pod.Labels)
			r.must(r.Update(t.Context(), pod))
			r.pollAndReconcile()
			r.scale(0)
			for range 6 {
				r.pollAndReconcile()
			}
			if got := r.podNames(); got != "gpu-0" {
				t.Errorf("the pods are %q while job 7 runs on gpu-0; calls %q", got, r.slurm.Calls)
			}
		})
	}
}

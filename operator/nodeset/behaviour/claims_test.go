package behaviour

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

func TestClaimsThatWereKeptOutliveAChangeOfPolicy(t *testing.T) {
	policy := func(p v1beta1.ClaimRetentionPolicy) func(*v1beta1.NodeSet) {
		return func(n *v1beta1.NodeSet) { n.Spec.PersistentVolumeClaimRetentionPolicy = &p }
	}
	r := newTestEnv(t, nodesettest.NewNodeSet(3, setClaims,
		policy(v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimDelete})))
	have := func() string {
		list := &corev1.PersistentVolumeClaimList{}
		r.must(r.List(t.Context(), list))
		var out []string
		for _, c := range list.Items {
			out = append(out, fmt.Sprint(c.Name, len(c.OwnerReferences)))
		}
		return strings.Join(out, " ")
	}
	scale := func(n int32) {
		r.scale(n)
		for range 4 {
			r.pollAndReconcile()
			r.kubelet()
		}
	}
	r.startWorkers()
	scale(2)
	if got := have(); got != "data-gpu-01 data-gpu-11 data-gpu-21" {
		t.Fatalf("with whenScaled Retain the claims are %s", got)
	}
	r.change(policy(v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimRetain, WhenScaled: v1beta1.ClaimDelete}))
	r.pollAndReconcile()
	if got := have(); got != "data-gpu-00 data-gpu-10 data-gpu-20" {
		t.Fatalf("with whenScaled Delete and whenDeleted Retain they are %s", got)
	}
	scale(1)
	if got := have(); got != "data-gpu-00 data-gpu-20" {
		t.Errorf("after scale-in they are %s", got)
	}
}

func TestAClaimOfAPendingWorkerIsCreatedAgain(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1, setClaims))
	r.pollAndReconcile()
	claim, key := &corev1.PersistentVolumeClaim{}, client.ObjectKey{Namespace: "slurm", Name: "data-gpu-0"}
	r.must(r.Get(t.Context(), key, claim))
	r.must(r.Client.Delete(t.Context(), claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}))
	r.pollAndReconcile()
	r.must(r.Get(t.Context(), key, claim))
}

// TestAClaimThatIsRefusedStopsNoOtherWorker: the claim of a pending worker was deleted, and the quota is now used up.
func TestAClaimThatIsRefusedStopsNoOtherWorker(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(3, setClaims))
	r.pollAndReconcile()
	r.startOn("gpu-0", "kube-0")
	r.startOn("gpu-1", "kube-1")
	r.pollAndReconcile()
	claim := &corev1.PersistentVolumeClaim{}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "data-gpu-2"}, claim))
	r.must(r.Client.Delete(t.Context(), claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}))
	r.fail["create PersistentVolumeClaim data-gpu-2"] = errors.New("exceeded quota")
	poll := func() {
		r.now = r.now.Add(10 * time.Second)
		r.slurm.Poll()
		_, _ = r.Reconcile(t.Context(), request)
	}
	for range 20 {
		poll()
	}
	r.loseWorker("gpu-0", "gpu-0")
	r.takeEvents()
	for range 180 {
		poll()
	}
	if len(r.pods()) != 3 {
		t.Errorf("half an hour after gpu-0 was lost, there are only %s", r.podNames())
	}
	if n := len(r.takeEvents()); n > 20 {
		t.Errorf("%d events in half an hour", n)
	}
	delete(r.fail, "create PersistentVolumeClaim data-gpu-2")
	for range 40 {
		poll()
	}
	r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "data-gpu-2"}, claim))
}

// TestAWorkerWaitsForTheEndOfItsOldClaim: the garbage collector, or the kubelet, has not released it yet.
func TestAWorkerWaitsForTheEndOfItsOldClaim(t *testing.T) {
	labels := names.NodeSetSelector("gpu", "slurm")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-gpu-0", Namespace: "slurm", Labels: labels,
		Finalizers: []string{"kubernetes.io/pvc-protection"}}}
	r := newTestEnv(t, nodesettest.NewNodeSet(1, setClaims), claim)
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	r.must(r.Client.Delete(t.Context(), claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}))
	if _, err := r.Reconcile(t.Context(), request); err == nil || r.podNames() != "" {
		t.Errorf("err = %v, pods %q; a worker was created with a claim that is about to vanish", err, r.podNames())
	}
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	claim.Finalizers = nil
	r.must(r.Update(t.Context(), claim))
	for range 3 {
		r.pollAndReconcile()
	}
	if r.podNames() != "gpu-0" {
		t.Errorf("pods %q", r.podNames())
	}
}

// TestTheClaimOfALostWorkerIsKept: Slurm forgot the worker, whose Slurm node has another name than its pod. Then its pod is deleted by force
// while its kubelet is away, so that its slurmd runs on.
func TestTheClaimOfALostWorkerIsKept(t *testing.T) {
	for name, template := range map[string]string{"own network": `{}`, "host network": `{"hostNetwork": true}`} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2, setClaims, withPodTemplate(template), func(n *v1beta1.NodeSet) {
				n.Spec.PersistentVolumeClaimRetentionPolicy = &v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimDelete,
					WhenScaled: v1beta1.ClaimDelete}
			}))
			for range 5 {
				r.pollAndReconcile()
				r.startOnKubeNodes()
			}
			slurmName := observed.SlurmName(r.pod("gpu-1"))
			delete(r.slurm.Nodes, slurmName) // slurmctld came back with an older state
			for range 5 {
				r.pollAndReconcile()
			}
			r.loseWorker("gpu-1", slurmName)
			r.scale(1)
			for range 60 {
				r.now = r.now.Add(30 * time.Second)
				r.pollAndReconcile()
			}
			claim := &corev1.PersistentVolumeClaim{}
			r.must(r.Get(t.Context(), client.ObjectKey{Namespace: "slurm", Name: "data-gpu-1"}, claim))
			if len(claim.OwnerReferences) > 0 {
				t.Error("it would be deleted with the NodeSet")
			}
		})
	}
	t.Run("a worker of each Kubernetes node", func(t *testing.T) {
		r := newTestEnv(t, nodesettest.NewNodeSet(1, setPerKubeNode, setClaims, func(n *v1beta1.NodeSet) {
			n.Spec.PersistentVolumeClaimRetentionPolicy = &v1beta1.ClaimRetentionPolicy{WhenDeleted: v1beta1.ClaimDelete}
		}), nodesettest.NewKubeNode("one", func(n *corev1.Node) { n.Labels["gpu"] = "yes" }))
		for range 6 {
			r.pollAndReconcile()
			for _, p := range r.pods() {
				if p.Spec.NodeName == "" {
					r.startOn(p.Name, observed.RequiredKubeNode(p))
				}
			}
		}
		delete(r.slurm.Nodes, "one")
		for range 6 {
			r.pollAndReconcile()
		}
		claims := &corev1.PersistentVolumeClaimList{}
		r.must(r.List(t.Context(), claims))
		if len(claims.Items) != 1 || len(claims.Items[0].OwnerReferences) > 0 {
			t.Errorf("the claims are %+v, which would be deleted with the NodeSet", claims.Items)
		}
	})
}

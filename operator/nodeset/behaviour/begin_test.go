package behaviour

import (
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// hpaThatAllowsNone returns an HPA of the NodeSet "gpu" with minReplicas 0.
func hpaThatAllowsNone() *autoscalingv2.HorizontalPodAutoscaler {
	hpa := hpaOfGPU(4)
	hpa.Spec.MinReplicas = new(int32)
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: hpa.Spec.ScaleTargetRef, Metric: autoscalingv2.MetricIdentifier{Name: scaling.RequiredNodesMetric},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI)}}}}
	return hpa
}

// setNew makes the NodeSet look just created.
func (r *testEnv) setNew() {
	r.change(func(n *v1beta1.NodeSet) { n.Generation, n.CreationTimestamp = 0, metav1.NewTime(r.now) })
}

func (r *testEnv) changeStatus(f func(*v1beta1.NodeSet)) {
	r.t.Helper()
	n := r.nodeSet()
	f(n)
	r.must(r.Status().Update(r.t.Context(), n))
}

// TestANewNodeSetWaitsForTheDemand, at most for scaling.BeginPeriod, and only until package wakeup knows it.
func TestANewNodeSetWaitsForTheDemand(t *testing.T) {
	for name, end := range map[string]func(*testEnv){
		"the time is over": func(r *testEnv) { r.now = r.now.Add(scaling.BeginPeriod) },
		"jobs need it": func(r *testEnv) {
			r.changeStatus(func(n *v1beta1.NodeSet) {
				v1beta1.SetCondition(&n.Status.Conditions, v1beta1.ConditionWakeUp, metav1.Condition{Status: "False",
					Reason: v1beta1.ReasonNotNeeded}, 1, r.now)
			})
		},
		"somebody scales it": func(r *testEnv) { r.change(func(*v1beta1.NodeSet) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(4)), hpaThatAllowsNone())
			r.setNew()
			for range 5 {
				r.pollAndReconcile()
			}
			if got := r.podNames(); got != "" {
				t.Fatalf("there is %s", got)
			}
			if len(r.slurm.Nodes) != 4 {
				t.Errorf("there are %d records, so that nobody can submit jobs", len(r.slurm.Nodes))
			}
			end(r)
			if r.pollAndReconcile(); r.podNames() != "gpu-0" {
				t.Errorf("then there is %q", r.podNames())
			}
		})
	}
}

// TestANewNodeSetThatNobodyCanSubmitToHasItsWorker: without records Slurm accepts no job for it, so nothing would ever wake it.
func TestANewNodeSetThatNobodyCanSubmitToHasItsWorker(t *testing.T) {
	for name, change := range map[string]func(*v1beta1.NodeSet){
		"an API of slurmrestd without the creation of nodes": func(*v1beta1.NodeSet) {},
		"no limits":   func(n *v1beta1.NodeSet) { n.Spec.ExtraConf, n.Spec.Slurmd.Raw = "", nil },
		"hostNetwork": func(n *v1beta1.NodeSet) { n.Spec.Template.Spec.Raw = []byte(`{"hostNetwork": true}`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(4), change), hpaThatAllowsNone())
			r.slurm.Fail["create"] = &slurmclient.Error{Code: slurmclient.CodeUnsupported}
			r.setNew()
			for range 3 {
				r.pollAndReconcile()
			}
			if got := r.podNames(); got == "" {
				t.Error("there is no worker")
			}
		})
	}
}

// TestANewNodeSetKeepsTheWorkersThatItFinds: workers of a NodeSet that was deleted without them, and workers that the operator created
// before it ended, although the status does not count them yet.
func TestANewNodeSetKeepsTheWorkersThatItFinds(t *testing.T) {
	for _, isForced := range []bool{false, true} {
		r := newTestEnv(t, nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(4), func(n *v1beta1.NodeSet) {
			if isForced {
				n.Spec.DrainPolicy = &v1beta1.DrainPolicy{Type: v1beta1.DrainForce}
			}
		}))
		r.startWorkers()
		r.slurm.Start(7, "gpu-0")
		r.createObject(hpaThatAllowsNone())
		r.setNew()
		r.changeStatus(func(n *v1beta1.NodeSet) { n.Status = v1beta1.NodeSetStatus{} })
		r.restart()
		for range 6 {
			r.pollAndReconcile()
		}
		if calls := strings.Join(r.slurm.Calls, "; "); r.podNames() != "gpu-0" || strings.Contains(calls, "drain") {
			t.Errorf("forced: %t: there is %q after %s", isForced, r.podNames(), calls)
		}
	}
}

// TestANewNodeSetIsNotWrittenInTurns: its first worker is created once, whatever else changes.
func TestANewNodeSetIsNotWrittenInTurns(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.setNew()
	r.pollAndReconcile()
	r.createObject(hpaThatAllowsNone())
	created := 0
	for i := range 40 {
		if i == 20 {
			pod := r.pod("gpu-0")
			r.must(r.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0),
				client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}))
		}
		r.clearWrites()
		r.now = r.now.Add(time.Second)
		r.pollAndReconcile()
		for _, w := range r.writes {
			if strings.HasPrefix(w, "create Pod") {
				created++
			}
		}
	}
	if created > 1 || len(r.pods()) > 1 {
		t.Errorf("%d workers were created, and there are %s", created, r.podNames())
	}
}

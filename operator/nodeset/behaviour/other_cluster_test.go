package behaviour

import (
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// staticToken is a token that stays.
type staticToken struct{ slurmclient.TokenSource }

func (staticToken) Token() (string, error) { return "token", nil }

// anotherCluster returns a client of a simulated Slurm cluster with a name. It has gpu-0 in a state such as
// "IDLE", or no node at all.
func anotherCluster(t *testing.T, name, state, reason string) *slurmclient.Client {
	t.Helper()
	cfg := slurmtest.Config{ClusterName: name}
	if state != "" {
		cfg.Nodes = []slurmtest.NodeConf{{Names: "gpu-0", CPUs: 4, Dynamic: true}}
	}
	cluster := slurmtest.New(cfg)
	if reason != "" {
		if err := cluster.UpdateNode("gpu-0", state, reason); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(cluster.Handler())
	t.Cleanup(server.Close)
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Token: staticToken{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestAStepIsNotTakenOnALookAtAnotherCluster: the readings are of cluster one, and another
// cluster answers the last look just as the step needs it.
func TestAStepIsNotTakenOnALookAtAnotherCluster(t *testing.T) {
	reason := v1beta1.DrainReasonPrefix + v1beta1.DrainReasonScaleIn
	drained := func(r *testEnv) {
		r.slurm.Nodes["gpu-0"].State.Flags |= slurm.NodeDrain
		r.slurm.Nodes["gpu-0"].Reason = reason
	}
	for _, tc := range []struct {
		name          string
		set           *v1beta1.NodeSet
		begin         func(*testEnv)
		state, reason string
	}{
		{"a drained worker is not deleted", nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)),
			func(r *testEnv) { r.scale(0); drained(r) }, "DRAIN", reason},
		{"an idle one is not drained", nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)),
			func(r *testEnv) { r.scale(0) }, "IDLE", ""},
		{"a drained one is not undrained", nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)), drained, "DRAIN",
			reason},
		{"one that did not register is not deleted", nodesettest.NewNodeSet(1, nodesettest.WithMaxReplicas(1)),
			func(r *testEnv) {
				r.scale(0)
				delete(r.slurm.Nodes, "gpu-0")
				r.slurm.Nodes["cpu-0"] = nodesettest.NewSlurmNode("cpu-0", "IDLE")
				pod := r.pod("gpu-0")
				pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
				r.must(r.Status().Update(r.t.Context(), pod))
				r.now = r.now.Add(nodeset.DefaultConfig().Plan.UnregisteredDeletionInterval)
			}, "", ""},
	} {
		for _, answers := range []string{"two", "one"} {
			t.Run(tc.name+", by cluster "+answers, func(t *testing.T) {
				r := newTestEnv(t, tc.set.DeepCopy())
				r.setClusterName("one")
				r.startWorkers()
				tc.begin(r)
				r.clearWrites()
				r.slurm.OtherCluster = anotherCluster(t, answers, tc.state, tc.reason)
				r.now = r.now.Add(nodeset.DefaultConfig().Plan.RegisterWithin)
				r.slurm.Poll()
				_, err := r.Reconcile(t.Context(), request)
				took := len(r.slurm.Calls) > 0 || r.podNames() != "gpu-0"
				if took != (answers == "one") {
					t.Errorf("the pods are %q, the writes to Slurm %q, the error %v", r.podNames(), r.slurm.Calls, err)
				}
				if (slurmclient.CodeOf(err) == slurmclient.CodeConflict) != (answers == "two") {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

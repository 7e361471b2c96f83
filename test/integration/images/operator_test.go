//go:build e2e

package images

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTheOperatorInPods installs the operator by its chart, from its image, with the rights for one
// namespace, in a namespace that admits only restricted pods. The operator starts a worker that
// runs a job, and drains it.
func TestTheOperatorInPods(t *testing.T) {
	k := startKube(t, "slurm-operator", "slurmd:26.05")
	s := startSlurm(t, k, "26.05")
	helm := func(args ...string) {
		t.Helper()
		if _, err := k.Helm(t.Context(), append([]string{"install", "--namespace", "slurm-system"},
			args...)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Apply(t.Context(), `
apiVersion: v1
kind: Namespace
metadata: {name: slurm-system, labels: {pod-security.kubernetes.io/enforce: restricted}}
`); err != nil {
		t.Fatal(err)
	}
	charts := filepath.Join(root, "charts")
	helm("crds", filepath.Join(charts, "slurm-operator-crds"))
	helm("slurm-operator", filepath.Join(charts, "slurm-operator"), "--wait", "--timeout", "90s", "--set",
		"image.repository=localhost/slurm-operator,image.tag=dev,image.pullPolicy=Never,replicaCount=2,slurm.pollInterval=1s,namespaces={"+s.namespace+"}")
	token := strings.TrimPrefix(s.execInPod(t, "slurmctld-0", "scontrol token username=root lifespan=3600"),
		"SLURM_JWT=")
	s.kubectl(t, "create", "secret", "generic", "token", "--from-literal=SLURM_JWT="+token)
	s.applyFile(t, "test/integration/images/testdata/nodeset.yaml")

	s.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "cluster/pods")
	s.kubectl(t, "wait", "--for=jsonpath={.status.readyReplicas}=1", "--timeout=90s", "nodeset/cpu")
	if out := s.execInPod(t, "slurmctld-0", asAlice+"srun --constraint cpu hostname"); out != "cpu-0" {
		t.Errorf("srun printed %q", out)
	}
	s.kubectl(t, "scale", "nodeset/cpu", "--replicas=0")
	s.kubectl(t, "wait", "--for=delete", "--timeout=60s", "pod/cpu-0")
	t.Run("the API server calls the webhooks", func(t *testing.T) { s.testWebhooks(t) })
	log, err := k.Kubectl(t.Context(), "logs", "--namespace", "slurm-system", "deployment/slurm-operator", "--all-pods",
		"--tail=-1")
	if err != nil || !strings.Contains(log, "SuccessfulDelete") {
		t.Fatalf("the log does not contain the event SuccessfulDelete: %v\n%s", err, log)
	}
	if t.Failed() || strings.Contains(log, "forbidden") {
		t.Errorf("the test failed or a right is missing; the operator's log:\n%s", log)
	}
}

// testWebhooks checks that the API server reaches the webhooks, for a validation and for a
// conversion.
func (s env) testWebhooks(t *testing.T) {
	_, err := s.kube.Kubectl(t.Context(), "patch", "nodeset/cpu", "--namespace", s.namespace, "--type", "merge",
		"--patch", `{"spec":{"volumeClaimTemplates":[{"metadata":{"name":"scratch"}}]}}`)
	if err == nil || !strings.Contains(err.Error(), "spec.volumeClaimTemplates") {
		t.Errorf("the API server accepts other claims for a NodeSet: %v", err)
	}
	path := "/apis/slinky.slurm.net/v1alpha1/namespaces/" + s.namespace + "/nodesets/cpu"
	if out := s.kubectl(t, "get", "--raw", path); !strings.Contains(out, `"clusterName":"pods"`) {
		t.Errorf("in v1alpha1 the NodeSet is %s", out)
	}
}

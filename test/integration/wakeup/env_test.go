//go:build e2e

package wakeup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// env is a cluster that serves NodeSets, with demand that tests set.
type env struct {
	*realkube.Cluster
	adapter *fakeAdapter
}

// severalSyncs is long enough for several syncs of the HPA and of the operator.
const severalSyncs = 5 * time.Second

func newEnv(t *testing.T, config realkube.Config) *env {
	t.Helper()
	config.ControllerManagerArgs = append(config.ControllerManagerArgs, "--horizontal-pod-autoscaler-sync-period=1s")
	c, err := realkube.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &env{Cluster: c}
	crds, err := filepath.Glob("../../../charts/slurm-operator-crds/templates/*.yaml")
	if err != nil || len(crds) == 0 {
		t.Fatalf("finding the CRDs: %v", err)
	}
	for _, path := range crds {
		s.applyManifest(t, readFile(t, path))
	}
	s.applyManifest(t, readFile(t, "../../../cmd/slurm-operator/testdata/rbac.yaml"))
	s.adapter = serveMetrics(t, c)
	for what, path := range map[string]string{"nodesets": "/apis/slinky.slurm.net/v1beta1",
		"custom metrics": metricsPath} {
		process.AwaitValue(t, what, "served", func(ctx context.Context) (string, error) {
			_, err := c.Kubectl(ctx, "get", "--raw", path)
			return "served", err
		})
	}
	// Its REST mapper discovers new kinds only every 30 seconds and at startup.
	if err := c.Restart(t.Context(), "kube-controller-manager"); err != nil {
		t.Fatal(err)
	}
	startStatusStandIn(t, c)
	return s
}

// bindRole grants the operator its rights in one namespace, or in all if namespace is empty.
func (s *env) bindRole(t *testing.T, namespace string) {
	t.Helper()
	args := []string{"create", "clusterrolebinding", "slurm-operator"}
	if namespace != "" {
		args = []string{"create", "rolebinding", "slurm-operator", "--namespace=" + namespace}
	}
	s.runKubectl(t, append(args, "--clusterrole=slurm-operator", "--serviceaccount=slurm-system:slurm-operator")...)
}

func (s *env) applyManifest(t *testing.T, yaml string) {
	t.Helper()
	if err := s.Apply(t.Context(), yaml); err != nil {
		t.Fatal(err)
	}
}

func (s *env) runKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (s *env) runHelm(t *testing.T, args ...string) {
	t.Helper()
	if _, err := s.Helm(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// nodeSet is one NodeSet of an env, by default in namespace default.
type nodeSet struct {
	*env
	t         *testing.T
	name      string
	namespace string
}

func (s *env) newNodeSet(t *testing.T, name string) *nodeSet {
	return &nodeSet{env: s, t: t, name: name, namespace: "default"}
}

func (n *nodeSet) setDemand(count int) { n.adapter.set(n.name, metricValue{n: count}) }

// create creates the NodeSet with kubectl create.
func (n *nodeSet) create(replicas int) {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "nodeset.yaml")
	if err := os.WriteFile(path, []byte(n.manifest(replicas)), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.runKubectl(n.t, "create", "--filename", path)
}

func (n *nodeSet) manifest(replicas int) string {
	return fmt.Sprintf(`
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: %s, namespace: %s}
spec: {controllerRef: {name: slurm}, replicas: %d}
`, n.name, n.namespace, replicas)
}

// createHPA creates an HPA that has the NodeSet's name.
func (n *nodeSet) createHPA(minReplicas int) { n.t.Helper(); n.createHPANamed(n.name, minReplicas) }

func (n *nodeSet) createHPANamed(hpa string, minReplicas int) {
	n.t.Helper()
	n.applyManifest(n.t, fmt.Sprintf(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %s, namespace: %s}
spec:
  scaleTargetRef: {apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, name: %s}
  minReplicas: %d
  maxReplicas: 8
  metrics:
  - type: Object
    object:
      describedObject: {apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, name: %s}
      metric: {name: %s}
      target: {type: AverageValue, averageValue: "1"}
  behavior:
    scaleUp: {tolerance: "0", policies: [{type: Pods, value: 100, periodSeconds: 1}]}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: 0, policies: [{type: Percent, value: 100, periodSeconds: 1}]}
`, hpa, n.namespace, n.name, minReplicas, n.name, metricName))
}

func (n *nodeSet) deleteHPA() {
	n.t.Helper()
	n.runKubectl(n.t, "delete", "hpa", n.name, "--namespace="+n.namespace)
}

func (n *nodeSet) annotate(annotation string) {
	n.t.Helper()
	n.runKubectl(n.t, "annotate", "nodeset", n.name, "--namespace="+n.namespace, "--overwrite",
		"nodeset.slinky.slurm.net/"+annotation)
}

func (n *nodeSet) scale(replicas int) {
	n.t.Helper()
	n.runKubectl(n.t, "scale", "nodeset", n.name, "--namespace="+n.namespace, fmt.Sprintf("--replicas=%d", replicas))
}

// kubectlGet returns a function that reads a JSONPath of the object of a kind that has the
// NodeSet's name.
func (n *nodeSet) kubectlGet(kind, path string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := n.Kubectl(ctx, "get", kind, n.name, "--namespace="+n.namespace, "-o", "jsonpath="+path)
		return strings.TrimSpace(out), err
	}
}

func (n *nodeSet) awaitReplicas(replicas int) {
	n.t.Helper()
	process.AwaitValue(n.t, "spec.replicas of "+n.name, fmt.Sprint(replicas), n.kubectlGet("nodeset", "{.spec.replicas}"))
}

func (n *nodeSet) requireReplicas(replicas int) {
	n.t.Helper()
	requireStays(n.t, severalSyncs, "spec.replicas of "+n.name, fmt.Sprint(replicas),
		n.kubectlGet("nodeset", "{.spec.replicas}"))
}

// awaitReason waits for the reason of the condition WakeUp.
func (n *nodeSet) awaitReason(reason string) {
	n.t.Helper()
	process.AwaitValue(n.t, "the condition of "+n.name, reason,
		n.kubectlGet("nodeset", `{.status.conditions[?(@.type=="WakeUp")].reason}`))
}

// awaitHPACondition waits for the reason of a condition of the NodeSet's HPA.
func (n *nodeSet) awaitHPACondition(condition, reason string) {
	n.t.Helper()
	process.AwaitValue(n.t, "condition "+condition+" of HPA "+n.name, reason,
		n.kubectlGet("hpa", fmt.Sprintf(`{.status.conditions[?(@.type==%q)].reason}`, condition)))
}

// awaitOwner waits until spec.replicas is owned by a field manager, given as MANAGER or
// MANAGER/SUBRESOURCE.
func (n *nodeSet) awaitOwner(owner string) {
	n.t.Helper()
	process.AwaitValue(n.t, "the owner of the replicas of "+n.name, owner, func(ctx context.Context) (string, error) {
		out, err := n.Kubectl(ctx, "get", "nodeset", n.name, "--namespace="+n.namespace, "--show-managed-fields", "-o",
			"json")
		if err != nil {
			return "", err
		}
		var object struct {
			Metadata struct {
				ManagedFields []struct {
					Manager, Subresource string
					FieldsV1             map[string]map[string]any
				}
			}
		}
		err = json.Unmarshal([]byte(out), &object)
		var owners []string
		for _, e := range object.Metadata.ManagedFields {
			if _, owns := e.FieldsV1["f:spec"]["f:replicas"]; owns {
				owners = append(owners, strings.TrimSuffix(e.Manager+"/"+e.Subresource, "/"))
			}
		}
		return strings.Join(owners, " "), err
	})
}

// events returns the reasons of the operator's events for the NodeSet.
func (n *nodeSet) events() string {
	n.t.Helper()
	return n.runKubectl(n.t, "get", "events.events.k8s.io", "--namespace="+n.namespace,
		"--field-selector=regarding.name="+n.name,
		"-o", `jsonpath={.items[?(@.reportingController=="slurm-operator")].reason}`)
}

// applyServerSide applies the manifest as Helm 4 and Flux do.
func (n *nodeSet) applyServerSide(replicas int) {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "nodeset.yaml")
	if err := os.WriteFile(path, []byte(n.manifest(replicas)), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.runKubectl(n.t, "apply", "--server-side", "--force-conflicts", "--field-manager=helm", "--filename", path)
}

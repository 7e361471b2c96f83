//go:build e2e

package realkube

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestMain(m *testing.M) {
	if missing := MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// startCluster starts a cluster that ends with the test. If the test has failed, it logs the
// cluster's logs.
func startCluster(t *testing.T, config Config) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// runKubectl runs kubectl and fails the test on an error.
func runKubectl(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func applyManifest(t *testing.T, c *Cluster, yaml string) {
	t.Helper()
	if err := c.Apply(t.Context(), yaml); err != nil {
		t.Fatal(err)
	}
}

// kubectlFunc returns a function for AwaitValue that runs kubectl.
func (c *Cluster) kubectlFunc(args ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := c.Kubectl(ctx, args...)
		return strings.TrimSpace(out), err
	}
}

func TestCluster(t *testing.T) {
	c := startCluster(t, Config{ControllerManagerArgs: []string{"--horizontal-pod-autoscaler-sync-period=1s"}})
	t.Run("kubectl and the server are of the same version", func(t *testing.T) {
		client, server := parseVersions(runKubectl(t, c, "version"))
		if !strings.HasPrefix(client, "v1.37.") || server != client {
			t.Errorf("kubectl is %q and the server %q, want both v1.37", client, server)
		}
	})
	t.Run("client-go works", func(t *testing.T) { testGoClient(t, c) })
	t.Run("helm works", func(t *testing.T) {
		if out, err := c.Helm(t.Context(), "list", "--all-namespaces", "--short"); err != nil || out != "" {
			t.Errorf("helm list = %q, %v, want nothing", out, err)
		}
	})
	t.Run("unauthorized users are refused", func(t *testing.T) {
		got, err := c.Kubectl(t.Context(), "auth", "can-i", "list", "secrets", "--as",
			"system:serviceaccount:default:default")
		if strings.TrimSpace(got) != "no" {
			t.Errorf("may the default account list secrets? %q, %v", got, err)
		}
	})
	t.Run("a deployment creates pods, which stay pending without a node", func(t *testing.T) { testScheduling(t, c) })
	t.Run("the HPA controller requests metrics", func(t *testing.T) { testAutoscaling(t, c) })
	t.Run("a server of this machine is aggregated", func(t *testing.T) { testAggregation(t, c) })
	t.Run("daemons restart", func(t *testing.T) { testRestart(t, c) })
}

// parseVersions returns the client's and the server's version from the output of kubectl version.
func parseVersions(answer string) (client, server string) {
	for line := range strings.Lines(answer) {
		switch what, version, _ := strings.Cut(strings.TrimSpace(line), ": "); what {
		case "Client Version":
			client = version
		case "Server Version":
			server = version
		}
	}
	return client, server
}

const sleeperManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: sleeper}
spec:
  replicas: 1
  selector: {matchLabels: {app: sleeper}}
  template:
    metadata: {labels: {app: sleeper}}
    spec: {containers: [{name: sleeper, image: localhost/none}]}
`

func testScheduling(t *testing.T, c *Cluster) {
	applyManifest(t, c, sleeperManifest)
	process.AwaitValue(t, "the output", "Unschedulable", c.kubectlFunc("get", "pods", "-l", "app=sleeper",
		"-o", `jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].reason}`))
}

const hpaManifest = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: sleeper}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: sleeper}
  minReplicas: %d
  maxReplicas: 2
  metrics: [{type: External, external: {metric: {name: nobody_knows}, target: {type: AverageValue, averageValue: "1"}}}]
`

func testAutoscaling(t *testing.T, c *Cluster) {
	applyManifest(t, c, fmt.Sprintf(hpaManifest, 0))
	process.AwaitValue(t, "the output", "FailedGetExternalMetric", c.kubectlFunc("get", "hpa", "sleeper",
		"-o", `jsonpath={.status.conditions[?(@.type=="ScalingActive")].reason}`))
}

func testRestart(t *testing.T, c *Cluster) {
	before, err := c.PID(t.Context(), "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	if after, err := c.PID(t.Context(), "kube-apiserver"); err != nil || after == before {
		t.Errorf("pid after the restart = %d, %v, before %d", after, err, before)
	}
	process.AwaitValue(t, "the output", "ok", c.kubectlFunc("get", "--raw", "/readyz"))
	if got := runKubectl(t, c, "get", "deployment", "sleeper", "-o", "name"); got != "deployment.apps/sleeper" {
		t.Errorf("after the restart the API server has %q, want the deployment", got)
	}
}

func TestFeatureGatesHold(t *testing.T) {
	c := startCluster(t, Config{FeatureGates: map[string]bool{"HPAScaleToZero": false}})
	err := c.Apply(t.Context(), fmt.Sprintf(hpaManifest, 0))
	if err == nil || !strings.Contains(err.Error(), "minReplicas") {
		t.Errorf("an HPA down to zero without the gate: %v, want it refused for minReplicas", err)
	}
	applyManifest(t, c, fmt.Sprintf(hpaManifest, 1))
}

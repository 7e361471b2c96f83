//go:build e2e

package realkube

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/process"
)

func TestMain(m *testing.M) {
	if missing := Missing(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start starts a cluster that ends with the test, and shows its logs if the
// test has failed.
func start(t *testing.T, config Config) *Cluster {
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

// kubectl runs a command that must succeed.
func kubectl(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func apply(t *testing.T, c *Cluster, yaml string) {
	t.Helper()
	if err := c.Apply(t.Context(), yaml); err != nil {
		t.Fatal(err)
	}
}

// await looks until what it sees is what is wanted.
func await(t *testing.T, want string, look func(context.Context) (string, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := look(ctx)
		if err == nil && got == want {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %v for %q, saw %q, %v", process.Patience, want, got, err)
		case <-tick.C:
		}
	}
}

// asks is a look for await: what kubectl prints.
func (c *Cluster) asks(args ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := c.Kubectl(ctx, args...)
		return strings.TrimSpace(out), err
	}
}

func TestCluster(t *testing.T) {
	c := start(t, Config{ControllerManagerArgs: []string{"--horizontal-pod-autoscaler-sync-period=1s"}})
	t.Run("kubectl and the server are of the same version", func(t *testing.T) {
		client, server := versions(kubectl(t, c, "version"))
		if !strings.HasPrefix(client, "v1.37.") || server != client {
			t.Errorf("kubectl is %q and the server %q, want both v1.37", client, server)
		}
	})
	t.Run("clients of Go answer", func(t *testing.T) { listNamespaces(t, c) })
	t.Run("helm answers", func(t *testing.T) {
		if out, err := c.Helm(t.Context(), "list", "--all-namespaces", "--short"); err != nil || out != "" {
			t.Errorf("helm list = %q, %v, want nothing", out, err)
		}
	})
	t.Run("who is not allowed is refused", func(t *testing.T) {
		got, err := c.Kubectl(t.Context(), "auth", "can-i", "list", "secrets", "--as", "system:serviceaccount:default:default")
		if strings.TrimSpace(got) != "no" {
			t.Errorf("may the default account list secrets? %q, %v", got, err)
		}
	})
	t.Run("a deployment makes pods, for which there is no node", func(t *testing.T) { schedule(t, c) })
	t.Run("the HPA controller asks for metrics", func(t *testing.T) { autoscale(t, c) })
	t.Run("a server of this machine joins the API", func(t *testing.T) { aggregate(t, c) })
	t.Run("daemons restart", func(t *testing.T) { restart(t, c) })
}

// versions are those of client and server in the answer of kubectl version.
func versions(answer string) (client, server string) {
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

const sleeper = `
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

func schedule(t *testing.T, c *Cluster) {
	apply(t, c, sleeper)
	await(t, "Unschedulable", c.asks("get", "pods", "-l", "app=sleeper",
		"-o", `jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].reason}`))
}

const hpa = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: sleeper}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: sleeper}
  minReplicas: %d
  maxReplicas: 2
  metrics: [{type: External, external: {metric: {name: nobody_knows}, target: {type: AverageValue, averageValue: "1"}}}]
`

func autoscale(t *testing.T, c *Cluster) {
	apply(t, c, fmt.Sprintf(hpa, 0))
	await(t, "FailedGetExternalMetric", c.asks("get", "hpa", "sleeper",
		"-o", `jsonpath={.status.conditions[?(@.type=="ScalingActive")].reason}`))
}

func restart(t *testing.T, c *Cluster) {
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
	await(t, "ok", c.asks("get", "--raw", "/readyz"))
	if got := kubectl(t, c, "get", "deployment", "sleeper", "-o", "name"); got != "deployment.apps/sleeper" {
		t.Errorf("after the restart there is %q, want the deployment", got)
	}
}

func TestFeatureGatesHold(t *testing.T) {
	c := start(t, Config{FeatureGates: map[string]bool{"HPAScaleToZero": false}})
	err := c.Apply(t.Context(), fmt.Sprintf(hpa, 0))
	if err == nil || !strings.Contains(err.Error(), "minReplicas") {
		t.Errorf("an HPA down to zero without the gate: %v, want it refused for minReplicas", err)
	}
	apply(t, c, fmt.Sprintf(hpa, 1))
}

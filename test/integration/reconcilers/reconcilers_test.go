//go:build e2e

package reconcilers

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/cluster"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/operator/token"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const signingKey = "0123456789abcdef0123456789abcdef"

const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Secret
metadata: {namespace: team, name: key}
stringData: {jwt: ` + signingKey + `}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Token
metadata: {namespace: team, name: t, annotations: {slinky.slurm.net/slurm-token: "SERVER"}}
spec: {username: slurm, lifetime: 1h, jwtKeyRef: {name: key, key: jwt}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {namespace: team, name: red}
spec: {server: SERVER, token: {secretRef: {name: t-jwt-slurm, key: SLURM_JWT}}}
`

// controllerPod is a pod of slurmctld whose scontrol refuses nodes named bad and writes its other
// arguments to /said.
const controllerPod = `
apiVersion: v1
kind: Pod
metadata:
  namespace: team
  name: blue-controller-0
  labels: {app.kubernetes.io/name: slurmctld, slinky.slurm.net/cluster: blue}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: logfile, image: "localhost/busybox:1", imagePullPolicy: Never, command: [sleep, "600"]}
  - name: slurmctld
    image: localhost/busybox:1
    imagePullPolicy: Never
    command:
    - sh
    - -c
    - |
      cat >/bin/scontrol <<'END'
      #!/bin/sh
      if [ "$2" = NodeName=bad ]; then echo Invalid node name >&2; exit 1; fi
      printf '%s|' "$@" >/said
      END
      chmod +x /bin/scontrol; exec sleep 600
    readinessProbe: {exec: {command: [test, -x, /bin/scontrol]}, periodSeconds: 1}
`

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// awaitOutput runs kubectl until it prints want.
func awaitOutput(t *testing.T, c *realkube.Cluster, want string, args ...string) {
	t.Helper()
	process.AwaitValue(t, "the output of kubectl "+strings.Join(args, " "), want,
		func(ctx context.Context) (string, error) {
			out, err := c.Kubectl(ctx, args...)
			return strings.TrimSpace(out), err
		})
}

func startKube(t *testing.T, config realkube.Config) *realkube.Cluster {
	t.Helper()
	c, err := realkube.Start(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// startReconcilers runs the reconcilers until the test ends.
func startReconcilers(t *testing.T, c *realkube.Cluster) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	config, err := c.RESTConfig()
	must(t, err)
	scheme := runtime.NewScheme()
	must(t, errors.Join(v1beta1.AddToScheme(scheme), corev1.AddToScheme(scheme)))
	mgr, err := ctrl.NewManager(config,
		ctrl.Options{Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}})
	must(t, err)
	kube := access.NewSecretReader(kubernetes.NewForConfigOrDie(config))
	clients := slurmclients.New(slurmclients.Config{Access: access.Config{Secrets: kube},
		Cache: slurmclient.CacheConfig{Period: 100 * time.Millisecond}})
	must(t, clients.SetupWithManager(mgr))
	must(t, cluster.New(mgr.GetClient(), clients, time.Now).SetupWithManager(mgr, nil))
	must(t, token.New(mgr.GetClient(), mgr.GetAPIReader(), kube, mgr.GetEventRecorder("test"),
		time.Now).SetupWithManager(mgr, nil))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
}

// applyDefinitions applies the custom resource definitions and waits until they are served.
func applyDefinitions(t *testing.T, c *realkube.Cluster) {
	t.Helper()
	crds, err := filepath.Glob("../../../charts/slurm-operator-crds/templates/*.yaml")
	must(t, err)
	for _, path := range crds {
		text, err := os.ReadFile(path)
		must(t, err)
		must(t, c.Apply(t.Context(), string(text)))
	}
	for _, kind := range []string{"tokens", "clusters", "controllers", "nodesets"} {
		awaitOutput(t, c, "True", "get", "crd", kind+".slinky.slurm.net", "-o",
			`jsonpath={.status.conditions[?(@.type=="Established")].status}`)
	}
}

func TestClusterUsesAnIssuedToken(t *testing.T) {
	if missing := realkube.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	simulated := slurmtest.New(slurmtest.Config{Key: []byte(signingKey),
		Nodes: []slurmtest.NodeConf{{Names: "n1", CPUs: 1}}})
	server := httptest.NewServer(simulated.Handler())
	defer server.Close()
	c := startKube(t, realkube.Config{})
	applyDefinitions(t, c)
	startReconcilers(t, c)
	must(t, c.Apply(t.Context(), strings.ReplaceAll(manifests, "SERVER", server.URL)))
	ready := []string{"get", "-n", "team", "-o", `jsonpath={.status.conditions[0].reason}`}
	awaitOutput(t, c, "Available", append(ready, "token", "t")...)
	awaitOutput(t, c, "Available", append(ready, "cluster", "red")...)
	awaitOutput(t, c, "v0.0.45", "get", "-n", "team", "cluster", "red", "-o", "jsonpath={.status.apiVersion}")

	_, err := c.Kubectl(t.Context(), "patch", "-n", "team", "token", "t", "--type=merge", "-p",
		`{"spec":{"refresh":false}}`)
	must(t, err)
	awaitOutput(t, c, "true", "get", "-n", "team", "secret", "t-jwt-slurm", "-o", "jsonpath={.immutable}")
	uid, err := c.Kubectl(t.Context(), "get", "-n", "team", "secret", "t-jwt-slurm", "-o", "jsonpath={.metadata.uid}")
	must(t, err)
	_, err = c.Kubectl(t.Context(), "patch", "-n", "team", "secret", "key", "-p",
		`{"stringData":{"jwt":"another key, just as long as that"}}`)
	must(t, err)
	awaitOutput(t, c, "", "get", "-n", "team", "secret", "--field-selector=metadata.name=t-jwt-slurm", "-o",
		`jsonpath={.items[?(@.metadata.uid=="`+uid+`")].metadata.name}`)
	awaitOutput(t, c, "true", "get", "-n", "team", "secret", "t-jwt-slurm", "-o", "jsonpath={.immutable}")

	_, err = c.Kubectl(t.Context(), "delete", "-n", "team", "token", "t")
	must(t, err)
	awaitOutput(t, c, "", "get", "-n", "team", "secret", "t-jwt-slurm", "--ignore-not-found")
}

func TestScontrolRunsInControllerPod(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	c := startKube(t, realkube.Config{Kubelet: true})
	config, err := c.RESTConfig()
	must(t, err)
	scontrol, err := slurmclients.NewPodScontrol(config, []string{"team"})
	must(t, err)
	blue := refs.ClusterKey{Kind: "Controller", Namespace: "team", Name: "blue"}
	namespace, _, _ := strings.Cut(manifests, "---")
	must(t, c.Apply(t.Context(), namespace+"---"+controllerPod))
	var none *slurmclients.NoPodError
	if err := scontrol.Run(t.Context(), blue, "create", "NodeName=early"); !errors.As(err, &none) {
		t.Errorf("before the pod is Ready: %v", err)
	}
	awaitOutput(t, c, "True", "get", "-n", "team", "pod", "blue-controller-0", "-o",
		`jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	must(t, scontrol.Run(t.Context(), blue, "create", "NodeName=gpu-[0-3]", "Features=$(reboot);x"))
	awaitOutput(t, c, "create|NodeName=gpu-[0-3]|Features=$(reboot);x|", "exec", "-n", "team", "blue-controller-0",
		"-c",
		"slurmctld", "--", "cat", "/said")
	err = scontrol.Run(t.Context(), blue, "create", "NodeName=bad")
	if slurmclient.CodeOf(err) != slurmclient.CodeInvalid || !strings.Contains(err.Error(), "Invalid node name") {
		t.Errorf("creating a node that scontrol refuses: %v", err)
	}
}

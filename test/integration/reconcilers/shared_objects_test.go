//go:build e2e

package reconcilers

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/operator/wakeup"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const clusterWithWorkers = `
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {namespace: team, name: red}
spec:
  server: SERVER
  token: {secretRef: {name: token, key: SLURM_JWT}}
  slurmKeyRef: {name: key, key: jwt}
  slurmctld: {host: slurmctld.example.com}
`

const sharedObjectsManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Secret
metadata: {namespace: team, name: key}
stringData: {jwt: ` + signingKey + `}
---
apiVersion: v1
kind: Secret
metadata: {namespace: team, name: token, annotations: {slinky.slurm.net/slurm-token: "true"}}
stringData: {SLURM_JWT: TOKEN}
---` + clusterWithWorkers + `---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {namespace: team, name: gpu}
spec: {clusterRef: {name: red}, replicas: 0, slurmd: {image: localhost/slurmd:1}}
`

// startNodeSetReconciler runs the reconciler of NodeSets until the test ends.
func startNodeSetReconciler(t *testing.T, c *realkube.Cluster) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	rest, err := c.RESTConfig()
	must(t, err)
	scheme := runtime.NewScheme()
	must(t, errors.Join(v1beta1.AddToScheme(scheme), corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme),
		policyv1.AddToScheme(scheme), autoscalingv2.AddToScheme(scheme)))
	mgr, err := ctrl.NewManager(rest, ctrl.Options{Scheme: scheme, Logger: logr.Discard(),
		Cache: cache.Options{ByObject: nodeset.CacheOptions()},
		// Another test of this program has reconcilers with the same names.
		Controller: config.Controller{SkipNameValidation: new(true)},
		Metrics:    metricsserver.Options{BindAddress: "0"}})
	must(t, err)
	clients := slurmclients.New(slurmclients.Config{
		Access: access.Config{Secrets: access.NewSecretReader(kubernetes.NewForConfigOrDie(rest))},
		Cache:  slurmclient.CacheConfig{Period: 100 * time.Millisecond}})
	must(t, clients.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	must(t, wakeup.IndexByNodeSet(ctx, mgr.GetFieldIndexer()))
	workers := nodeset.New(mgr.GetClient(), mgr.GetAPIReader(), func(k refs.ClusterKey) reading.SlurmCluster {
		if s := clients.For(k); s != nil {
			return s
		}
		return nil
	}, mgr.GetEventRecorder("test"), nodeset.NewMetrics(prometheus.NewRegistry()), time.Now, nodeset.DefaultConfig())
	must(t, workers.SetupWithManager(ctx, mgr, nil, clients.ChangeSource(workers.Requests)))
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
}

// TestSharedObjectsOutliveTheirCluster has Kubernetes' garbage collector decide about the Service and
// the disruption budget that the NodeSets of a Cluster share.
func TestSharedObjectsOutliveTheirCluster(t *testing.T) {
	if missing := realkube.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	simulated := slurmtest.New(slurmtest.Config{Key: []byte(signingKey),
		Nodes: []slurmtest.NodeConf{{Names: "n1", CPUs: 1}}})
	server := httptest.NewServer(simulated.Handler())
	defer server.Close()
	c := startKube(t, realkube.Config{})
	applyDefinitions(t, c)
	startNodeSetReconciler(t, c)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sun": "slurm",
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString([]byte(signingKey))
	must(t, err)
	fill := strings.NewReplacer("SERVER", server.URL, "TOKEN", token)
	must(t, c.Apply(t.Context(), fill.Replace(sharedObjectsManifests)))

	service, budget := "service/slurm-workers-red", "poddisruptionbudget/slurm-workers-pdb-red"
	expectOwners := func(kinds string) {
		t.Helper()
		for _, name := range []string{service, budget} {
			awaitOutput(t, c, kinds, "get", "-n", "team", name, "-o", "jsonpath={.metadata.ownerReferences[*].kind}")
		}
	}
	kubectl := func(args ...string) {
		t.Helper()
		_, err := c.Kubectl(t.Context(), append([]string{"-n", "team"}, args...)...)
		must(t, err)
	}
	expectOwners("Cluster Namespace")
	kubectl("patch", service, "--type=merge", "-p", `{"spec":{"selector":{"mine":"yes"}}}`)
	kubectl("patch", budget, "--type=merge", "-p", `{"spec":{"minAvailable":1}}`)
	awaitOutput(t, c, "", "get", "-n", "team", service, "-o", "jsonpath={.spec.selector.mine}")
	awaitOutput(t, c, "2147483647", "get", "-n", "team", budget, "-o", "jsonpath={.spec.minAvailable}")

	kubectl("delete", "cluster", "red")
	expectOwners("Namespace")
	must(t, c.Apply(t.Context(), fill.Replace(clusterWithWorkers)))
	expectOwners("Namespace Cluster")
	kubectl("delete", "cluster", "red", "--cascade=foreground", "--wait=false")
	expectOwners("Namespace")
	kubectl("delete", "nodeset", "gpu")
	for _, name := range []string{service, budget} {
		awaitOutput(t, c, "", "get", "-n", "team", name, "--ignore-not-found", "-o", "name")
	}
}

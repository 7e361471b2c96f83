//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slurmtide/slurmtide/operator/accounting"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/controller"
	operatorkube "github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/restapi"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// env is a Kubernetes cluster with the operator and, in a namespace, a Slurm cluster.
type env struct {
	*testing.T
	kube      *realkube.Cluster
	namespace string
	// ctld is the pod in which commands of Slurm run.
	ctld string
	// extraConf is that of testdata.
	extraConf string
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startKube starts Kubernetes with a node, the images, the definitions and the operator, which it returns a
// function to stop.
func startKube(t *testing.T, versions []string) (*realkube.Cluster, func()) {
	t.Helper()
	kube, err := realkube.Start(t.Context(), realkube.Config{Kubelet: true, Name: "cluster"})
	must(t, err)
	t.Cleanup(func() { must(t, kube.Close()) })
	images := []string{"slurm-agent"}
	for _, version := range versions {
		images = append(images, "slurmd:"+version, "slurmdbd:"+version)
	}
	images = append(images, loginImages(versions)...)
	must(t, kube.LoadImages(t.Context(), images...))
	_, err = kube.Helm(t.Context(), "install", "crds", "../../../charts/slurm-operator-crds")
	must(t, err)
	must(t, kube.AwaitEstablished(t.Context(), "controllers.slinky.slurm.net", "nodesets.slinky.slurm.net",
		"accountings.slinky.slurm.net", "restapis.slinky.slurm.net", "loginsets.slinky.slurm.net"))
	return kube, startOperator(t, kube)
}

// startOperator runs the reconcilers until the test ends or calls the returned function.
func startOperator(t *testing.T, kube *realkube.Cluster) (stop func()) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	config, err := kube.RESTConfig()
	must(t, err)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme,
		autoscalingv2.AddToScheme, v1beta1.AddToScheme} {
		must(t, add(scheme))
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Logger: logr.Discard(),
		Cache:   cache.Options{ByObject: operatorkube.CacheOfOwned()},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: controller.UncachedObjects()}},
		Metrics: metricsserver.Options{BindAddress: "0"}})
	must(t, err)
	must(t, restapi.New(mgr.GetClient(), mgr.GetAPIReader(), time.Now, restapi.Config{}).SetupWithManager(mgr))
	addLoginSets(t, mgr)
	must(t, accounting.New(mgr.GetClient(), mgr.GetAPIReader(), readAgent(kube), time.Now,
		accounting.Config{AgentImage: "localhost/slurm-agent:dev", AgentPullPolicy: corev1.PullNever}).
		SetupWithManager(mgr))
	must(t, controller.New(mgr.GetClient(), mgr.GetAPIReader(), readAgent(kube), mgr.GetEventRecorder("test"), time.Now,
		controller.Config{AgentImage: "localhost/slurm-agent:dev", AgentPullPolicy: corev1.PullNever}).
		SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); must(t, <-done) })
	t.Cleanup(stop)
	return stop
}

// startSlurm applies a Slurm cluster of testdata with a release, and returns when it is Ready.
func startSlurm(t *testing.T, kube *realkube.Cluster, version, file string) *env {
	t.Helper()
	name := strings.TrimSuffix(file, ".yaml")
	e := &env{T: t, kube: kube, namespace: name + "-" + strings.ReplaceAll(version, ".", "-"), ctld: "slurm-controller-0"}
	values := struct{ Namespace, Version, SlurmKey, JWTKey string }{e.namespace, version, newKey(t), newKey(t)}
	text := &bytes.Buffer{}
	must(t, template.Must(template.ParseFiles(filepath.Join("testdata", file))).Execute(text, values))
	begin := time.Now()
	must(t, kube.Apply(t.Context(), text.String()))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs())
		}
	})
	e.extraConf = e.kubectl("get", "controller", "slurm", "-o", "jsonpath={.spec.extraConf}") + "\n"
	for _, object := range strings.Fields(e.kubectl("get", "controllers,accountings,restapis", "-o", "name")) {
		e.kubectl("wait", object, "--for=condition=Ready", "--timeout=180s")
	}
	e.kubectl("wait", "controller/slurm", "--for=condition=ConfigApplied", "--timeout=60s")
	t.Logf("%s: from kubectl apply to Ready and ConfigApplied: %.1f s", version, time.Since(begin).Seconds())
	return e
}

func newKey(t *testing.T) string {
	key := make([]byte, 64)
	_, err := rand.Read(key)
	must(t, err)
	return base64.StdEncoding.EncodeToString(key)
}

// kubectl runs kubectl in the namespace.
func (e *env) kubectl(args ...string) string {
	e.Helper()
	out, err := e.kube.Kubectl(e.Context(), append([]string{"--namespace", e.namespace}, args...)...)
	if err != nil {
		e.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out)
}

// slurm runs a command in slurmctld's container.
func (e *env) slurm(args ...string) string {
	e.Helper()
	return e.kubectl(append([]string{"exec", e.ctld, "-c", "slurmctld", "--"}, args...)...)
}

// await runs a command in slurmctld's container until its output contains want.
func (e *env) await(want string, args ...string) {
	e.Helper()
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), append([]string{"--namespace", e.namespace, "exec", e.ctld,
			"-c", "slurmctld", "--"}, args...)...)
		if err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("%s says %q, not %q", strings.Join(args, " "), out, want)
		}
		return err
	})
}

// condition returns status, reason and message of a condition of the Controller.
func (e *env) condition(kind string) string {
	e.Helper()
	path := fmt.Sprintf(`{.status.conditions[?(@.type=="%s")]['status','reason','message']}`, kind)
	return e.kubectl("get", "controller", "slurm", "-o", "jsonpath="+path)
}

// awaitCondition waits until a condition of the Controller contains want.
func (e *env) awaitCondition(kind, want string) {
	e.Helper()
	process.Await(e.T, func() error {
		if got := e.condition(kind); !strings.Contains(got, want) {
			return fmt.Errorf("%s is %q, not %q", kind, got, want)
		}
		return nil
	})
}

// logs returns what helps to understand a failed test.
func (e *env) logs() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	for _, args := range [][]string{{"get", "pods,controllers,configmaps", "-o", "wide"}, {"describe", "controller"},
		{"describe", "pods"}, {"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", e.ctld, "-c", "reconfigure", "--tail=50"},
		{"logs", e.ctld, "-c", "slurmctld", "--tail=50"}, {"logs", "w-0", "--tail=50"},
		{"describe", "accounting"}, {"logs", "slurm-accounting-0", "-c", "reconfigure", "--tail=50"},
		{"logs", "slurm-accounting-0", "-c", "slurmdbd", "--tail=50"}, {"logs", "mariadb", "--tail=50"},
		{"logs", "deployment/" + names.RestAPIDeployment("slurm"), "--tail=50"}} {
		text, err := e.kube.Kubectl(ctx, append([]string{"--namespace", e.namespace}, args...)...)
		fmt.Fprintf(&out, "==> kubectl %s <==\n%s\n", strings.Join(args, " "), text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}

// readAgent returns a reader of agents' status. The test is not in the network of pods, so it asks
// through the API server.
func readAgent(kube *realkube.Cluster) func(context.Context, string) (configagent.Status, error) {
	return func(ctx context.Context, podIP string) (out configagent.Status, err error) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // the API server waits longer for a pod that is gone
		defer cancel()
		path, err := kube.Kubectl(ctx, "get", "pods", "--all-namespaces", "--field-selector=status.podIP="+podIP, "-o",
			"jsonpath=/api/v1/namespaces/{.items[0].metadata.namespace}/pods/{.items[0].metadata.name}")
		if err != nil {
			return out, err
		}
		text, err := kube.Kubectl(ctx, "get", "--raw", fmt.Sprintf("%s:%d/proxy/status", path, names.SlurmAgentPort))
		if err != nil {
			return out, err
		}
		return out, json.Unmarshal([]byte(text), &out)
	}
}

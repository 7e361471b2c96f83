//go:build e2e

package admission

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/admission"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const namespaceManifests = `{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: slurm-system}}
`

// env is an API server with the chart's definitions.
type env struct {
	cluster *realkube.Cluster
	config  *rest.Config
	client  client.Client
	// warnings records what the API server warned about.
	warnings *warningRecorder
}

// warningRecorder records the warnings that a client receives.
type warningRecorder struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warningRecorder) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

// takeAll returns the warnings since the last call.
func (w *warningRecorder) takeAll() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text
	w.text = nil
	return text
}

func newEnv(t *testing.T) *env {
	t.Helper()
	if missing := realkube.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	log.SetLogger(logr.Discard())
	c, err := realkube.Start(t.Context(), realkube.Config{Name: "admission"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &env{cluster: c, warnings: &warningRecorder{}}
	if _, err := c.Kubectl(t.Context(), "apply", "--server-side",
		"--filename=../../../charts/slurm-operator-crds/templates"); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitEstablished(t.Context(), "--all"); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), namespaceManifests); err != nil {
		t.Fatal(err)
	}
	if s.config, err = c.RESTConfig(); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(s.config)
	config.WarningHandler = s.warnings
	if s.client, err = client.New(config, client.Options{Scheme: runtime.NewScheme()}); err != nil {
		t.Fatal(err)
	}
	return s
}

// webhookTarget returns the client config with which the API server reaches webhooks on the port.
func webhookTarget(port int) admission.WebhookEndpoint {
	return admission.WebhookEndpoint{Namespace: "slurm-system", Service: "slurm-operator-webhook", Port: int32(port)}
}

// startWebhooks runs the webhooks in this process until stop is called, with a self-signed
// certificate or with the one in certDir.
func (s *env) startWebhooks(t *testing.T, port int, certDir string) (stop func()) {
	t.Helper()
	mgr, err := ctrl.NewManager(s.config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"},
		Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	err = admission.SetupWithManager(mgr, admission.Config{
		Host: s.cluster.HostAddress, Port: port, Endpoint: webhookTarget(port), Configuration: "slurm-operator",
		CertDir: certDir, Namespace: "slurm-system", Secret: "slurm-operator-webhook",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// installWebhooks creates what a chart creates for the webhooks.
func (s *env) installWebhooks(t *testing.T, port int) {
	t.Helper()
	if err := s.cluster.ExposeLocal(t.Context(), "slurm-system", "slurm-operator-webhook", port); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "slurm-operator"}, "webhooks": admission.ValidatingWebhooks(
			webhookTarget(port), nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cluster.Apply(t.Context(), string(text)); err != nil {
		t.Fatal(err)
	}
}

// createObject creates the object of a manifest.
func (s *env) createObject(ctx context.Context, t *testing.T, manifest string, options ...client.CreateOption) error {
	t.Helper()
	return s.client.Create(ctx, parseManifest(t, manifest), options...)
}

// parseManifest reads a manifest. The defaults are v1beta1 for apiVersion, NodeSet for kind and
// team for namespace.
func parseManifest(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &u.Object); err != nil { // whole numbers stay whole
		t.Fatal(err)
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion("slinky.slurm.net/v1beta1")
	}
	if u.GetKind() == "" {
		u.SetKind("NodeSet")
	}
	u.SetNamespace("team")
	return u
}

// readObject returns an object of the group slinky.slurm.net.
func (s *env) readObject(ctx context.Context, version, kind, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "slinky.slurm.net", Version: version, Kind: kind})
	err := s.client.Get(ctx, client.ObjectKey{Namespace: "team", Name: name}, u)
	return u, err
}

// waitUntil calls check until it returns no error, or fails the test after the limit.
func waitUntil(t *testing.T, limit time.Duration, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s: %v", limit, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// certificateSecret returns the Secret of the self-signed certificate.
func (s *env) certificateSecret(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Secret")
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "slurm-system", Name: "slurm-operator-webhook"},
		u); err != nil {
		t.Fatal(err)
	}
	return u
}

// trustedCA returns the CA bundle in the definition of NodeSets.
func (s *env) trustedCA(ctx context.Context) (string, error) {
	return s.cluster.Kubectl(ctx, "get", "crd", "nodesets.slinky.slurm.net",
		"--output=jsonpath={.spec.conversion.webhook.clientConfig.caBundle}")
}

// freePort returns a port of the host on which nothing listens.
func freePort(t *testing.T, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(fmt.Errorf("%v is not a TCP address", l.Addr()))
	}
	return address.Port
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

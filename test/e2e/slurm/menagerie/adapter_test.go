//go:build e2e

package menagerie

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/common"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver"
	coreapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/core"
	customapi "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/custommetrics"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view"
	viewapi "github.com/slurmtide/slurmtide/metricsapi/view/openapi"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// adapter serves one cluster like slurm-metrics-adapter, but without Kubernetes: one Cluster
// object, and a NodeSet for each variant.
type adapter struct {
	namespace, name string
	cache           *slurmclient.Cache
	pools           []demand.Pool
	provider        *metricsapi.Provider
	url, kubeconfig string
}

// Name, String and Reading implement metricsapi.Cluster.
func (a *adapter) Name() string   { return a.name }
func (a *adapter) String() string { return a.namespace + "/" + a.name }
func (a *adapter) Reading() (*metricsapi.Reading, error) {
	return new(metricsapi.Reader).Read(time.Now(), a.cache.Snapshot(), a.pools), nil
}

// Object and Objects implement metricsapi.Directory.
func (a *adapter) Object(of metricsapi.Resource, namespace, name string) (metricsapi.Object, bool) {
	o := metricsapi.Object{Namespace: namespace, Name: name, Clusters: []metricsapi.Cluster{a}}
	if of.GroupResource == metricsapi.NodeSets().GroupResource {
		o.Pool = metricsapi.PoolName(namespace, name)
	}
	return o, true
}

func (a *adapter) Objects(metricsapi.Resource, string, labels.Selector) []metricsapi.Object {
	return nil
}

// Sources and Changed implement view.Directory.
func (a *adapter) Sources() ([]view.Source, error) {
	return []view.Source{{
		Ref:      view.ClusterRef{Kind: "Cluster", Namespace: a.namespace, Name: a.name},
		Snapshot: func() (*slurmclient.Snapshot, error) { return a.cache.Snapshot(), nil },
	}}, nil
}

func (a *adapter) Changed() <-chan struct{} { return nil }

// startAdapter reads the cluster and serves the result until the test ends.
func startAdapter(t *testing.T, cluster *realslurm.Cluster, h *testCluster) *adapter {
	t.Helper()
	client, err := slurmclient.New(slurmclient.Config{URL: cluster.URL,
		Token: slurmclient.TokenFromFile(cluster.TokenFile)})
	if err != nil {
		t.Fatal(err)
	}
	a := &adapter{namespace: "zoo", name: h.Name,
		cache: slurmclient.NewCache(client, slurmclient.CacheConfig{Period: time.Second})}
	for i := range h.Variants {
		v := &h.Variants[i]
		a.pools = append(a.pools, demand.Pool{
			Name: metricsapi.PoolName(a.namespace, v.Name), Feature: v.Name, Partitions: []string{v.Name},
			Max: 64, Replicas: uint64(len(v.nodeNames())),
		})
	}
	a.provider = metricsapi.New(a, metricsapi.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { a.cache.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	a.serve(t)
	return a
}

// serve starts the library's API server for the metrics and the view.
func (a *adapter) serve(t *testing.T) {
	t.Helper()
	scheme, err := view.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	cfg := genericapiserver.NewConfig(apiserver.Codecs)
	cfg.ExternalAddress, cfg.LoopbackClientConfig = "localhost:443", &rest.Config{}
	cfg.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	namer := openapinamer.NewDefinitionNamer(apiserver.Scheme, scheme)
	cfg.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openAPIDefinitions, namer)
	cfg.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openAPIDefinitions, namer)
	cfg.Authentication.Authenticator = authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool,
		error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "root"}}, true, nil
	})
	everything := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string,
		error) {
		return authorizer.DecisionAllow, "", nil
	})
	cfg.Authorization.Authorizer = everything
	s, err := (&apiserver.Config{GenericConfig: cfg}).Complete(nil).New("menagerie", a.provider, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := view.New(a, view.Config{}).Install(s.GenericAPIServer, scheme, everything); err != nil {
		t.Fatal(err)
	}
	s.GenericAPIServer.PrepareRun()
	server := httptest.NewServer(withoutObjects(s.GenericAPIServer.Handler))
	t.Cleanup(server.Close)
	a.url, a.kubeconfig = server.URL, filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "zoo",
		"clusters": [{"name": "zoo", "cluster": {"server": %q}}],
		"contexts": [{"name": "zoo", "context": {"cluster": "zoo", "namespace": %q}}]}`, server.URL, a.namespace)
	if err := os.WriteFile(a.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// withoutObjects answers for the APIs that Kubernetes itself would serve. It has no custom
// resources and no HPAs.
func withoutObjects(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/slinky.slurm.net/") ||
			strings.HasPrefix(r.URL.Path, "/apis/autoscaling/") || strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// openAPIDefinitions returns the OpenAPI models of all served APIs.
func openAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	out := coreapi.GetOpenAPIDefinitions(ref)
	maps.Copy(out, customapi.GetOpenAPIDefinitions(ref))
	maps.Copy(out, viewapi.GetOpenAPIDefinitions(ref))
	return out
}

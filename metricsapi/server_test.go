package metricsapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver"
	generatedcore "sigs.k8s.io/custom-metrics-apiserver/pkg/generated/openapi/core"
)

// serverOf starts the library's API server with a provider, without Kubernetes and credentials.
func serverOf(t *testing.T, p *Provider) *httptest.Server {
	t.Helper()
	cfg := genericapiserver.NewConfig(apiserver.Codecs)
	cfg.ExternalAddress, cfg.LoopbackClientConfig = "localhost:443", &rest.Config{}
	names := openapinamer.NewDefinitionNamer(apiserver.Scheme)
	cfg.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedcore.GetOpenAPIDefinitions, names)
	cfg.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedcore.GetOpenAPIDefinitions, names)
	s, err := (&apiserver.Config{GenericConfig: cfg}).Complete(nil).New("test", p, p)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.GenericAPIServer.Handler)
	t.Cleanup(server.Close)
	return server
}

func TestTheAPIOverHTTP(t *testing.T) {
	fresh := serverOf(t, providerOf(testDirectory(), noon()))
	stale := serverOf(t, providerOf(testDirectory(), noon().Add(time.Hour)))
	for _, tc := range []struct {
		name   string
		server *httptest.Server
		path   string
		status int
		want   []string
	}{
		{"by name", fresh, "custom.metrics.k8s.io/v1beta2/namespaces/team/nodesets.slinky.slurm.net/a/slurm_nodeset_required_nodes", 200,
			[]string{`"kind":"MetricValueList"`, `"kind":"NodeSet"`, `"apiVersion":"slinky.slurm.net/v1beta1"`,
				`"name":"slurm_nodeset_required_nodes"`, `"value":"2"`, `"timestamp":"2026-03-01T11:59:59Z"`}},
		{"in the older version", fresh,
			"custom.metrics.k8s.io/v1beta1/namespaces/team/nodesets.slinky.slurm.net/a/slurm_nodeset_required_nodes",
			200,
			[]string{`"metricName":"slurm_nodeset_required_nodes"`, `"value":"2"`}},
		{"by labels", fresh, "custom.metrics.k8s.io/v1beta2/namespaces/team/nodesets.slinky.slurm.net/*/slurm_nodeset_busy_nodes?labelSelector=tier%3Dgold", 200,
			[]string{`"name":"a"`, `"value":"1"`}},
		{"all NodeSets, one of which is unavailable", fresh,
			"custom.metrics.k8s.io/v1beta2/namespaces/team/nodesets.slinky.slurm.net/*/slurm_nodeset_busy_nodes", 503,
			[]string{"no demand has been computed yet"}},
		{"of a partition", fresh,
			"custom.metrics.k8s.io/v1beta2/namespaces/team/clusters.slinky.slurm.net/red/slurm_partition_pending_jobs?metricLabelSelector=partition%3Db", 200,
			[]string{`"matchLabels":{"partition":"b"}`, `"value":"4"`}},
		{"of a namespace", fresh, "custom.metrics.k8s.io/v1beta2/namespaces/team/metrics/slurm_partition_pending_jobs",
			200, []string{`"kind":"Namespace"`, `"value":"8"`}},
		{"of all namespaces", fresh, "custom.metrics.k8s.io/v1beta2/namespaces/*/metrics/slurm_partition_pending_jobs",
			200, []string{`"name":"team"`, `"value":"8"`}},
		{"an unknown metric", fresh,
			"custom.metrics.k8s.io/v1beta2/namespaces/team/nodesets.slinky.slurm.net/a/slurm_nothing", 404,
			[]string{`"reason":"NotFound"`}},
		{"an unknown object", fresh,
			"custom.metrics.k8s.io/v1beta1/namespaces/team/nodesets.slinky.slurm.net/z/slurm_nodeset_busy_nodes", 404,
			[]string{`"reason":"NotFound"`}},
		{"old data", stale, "custom.metrics.k8s.io/v1beta2/namespaces/team/nodesets.slinky.slurm.net/a/slurm_nodeset_required_nodes", 503,
			[]string{`"reason":"ServiceUnavailable"`,
				"Slurm cluster team/red: its nodes were last read 1h0m1s ago, which is more than 2m0s"}},
		{"an external metric", fresh,
			"external.metrics.k8s.io/v1beta1/namespaces/team/slurm_partition_idle_nodes?labelSelector=partition%3Dboth",
			200,
			[]string{`"cluster":"red"`, `"value":"2"`}},
		{"an old external metric", stale, "external.metrics.k8s.io/v1beta1/namespaces/team/slurm_partition_idle_nodes",
			503, []string{"ServiceUnavailable"}},
		{"discovery", fresh, "custom.metrics.k8s.io/v1beta2", 200,
			[]string{`"namespaces/slurm_partition_idle_nodes"`,
				`"clusters.slinky.slurm.net/slurm_partition_idle_nodes"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, err := http.Get(tc.server.URL + "/apis/" + tc.path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tc.status || !json.Valid(body) {
				t.Fatalf("the response is %s, %v: %s", resp.Status, err, body)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(body), want) {
					t.Errorf("%s is missing in %s", want, body)
				}
			}
		})
	}
}

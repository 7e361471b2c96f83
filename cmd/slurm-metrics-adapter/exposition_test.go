package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// newTestExposition returns an exposition of simulated clusters.
func newTestExposition(t *testing.T, keys ...refs.ClusterKey) *exposition {
	t.Helper()
	o, err := parseFlags([]string{"--compat=vpenso", "--log.level=error"})
	if err != nil {
		t.Fatal(err)
	}
	e := newExposition(o, o.log.Logger(io.Discard))
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for _, k := range keys {
		server := httptest.NewServer(slurmtest.NewSized(time.Now, 3, 20).Handler())
		t.Cleanup(server.Close)
		token := slurmclient.TokenFromKey([]byte("any"), "root", time.Hour, time.Now)
		client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: time.Hour})
		go cache.Run(ctx)
		if err := cache.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		go e.showCluster(ctx, k, clusters.Connected{Cache: cache, Token: token}, exporter.NewClientMetrics())
	}
	return e
}

func TestTheExpositionOfSeveralClustersIsWellFormed(t *testing.T) {
	e := newTestExposition(t, refs.ClusterKey{Kind: "Cluster", Namespace: "team", Name: "a"},
		refs.ClusterKey{Kind: "Controller", Namespace: "team", Name: "a"},
		refs.ClusterKey{Kind: "Cluster", Name: "slurm"})
	server := httptest.NewServer(e.routes(func() error { return nil }))
	defer server.Close()
	var text string
	deadline := time.Now().Add(20 * time.Second)
	for (strings.Count(text, "\nslurm_up{") < 3 || !strings.Contains(text, "slurm_partition_pending_jobs{")) &&
		time.Now().Before(deadline) {
		text = fetchPage(t, server.URL+"/metrics", "", http.StatusOK)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(families["slurm_up"].GetMetric()); n != 3 {
		t.Errorf("there are %d samples of slurm_up", n)
	}
	seen := map[string]bool{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			id := name
			for _, l := range m.GetLabel() {
				id += "," + l.GetName() + "=" + l.GetValue()
			}
			if seen[id] {
				t.Errorf("%s is a duplicate", id)
			}
			seen[id] = true
		}
	}
	if !strings.HasSuffix(fetchPage(t, server.URL+"/metrics", "application/openmetrics-text;version=1.0.0",
		http.StatusOK),
		"\n# EOF\n") {
		t.Error("the OpenMetrics exposition has no EOF line")
	}
	if got := fetchPage(t, server.URL+"/metrics?collect[]=nodes", "", http.StatusOK); strings.Contains(got,
		"go_goroutines") || strings.Contains(got, "slurm_partition_pending_jobs{") {
		t.Error("collect[] has no effect")
	}
	fetchPage(t, server.URL+"/metrics?collect[]=nope", "", http.StatusBadRequest)
	fetchPage(t, server.URL+"/metrics/vpenso", "", http.StatusOK)
	fetchPage(t, server.URL+"/", "", http.StatusOK)
}

func TestWithoutClustersTheProgramShowsItself(t *testing.T) {
	server := httptest.NewServer(newTestExposition(t).routes(func() error { return context.Canceled }))
	defer server.Close()
	if got := fetchPage(t, server.URL+"/metrics", "", http.StatusOK); !strings.Contains(got,
		"slurm_metrics_adapter_build_info") {
		t.Errorf("it shows\n%s", got)
	}
	fetchPage(t, server.URL+"/-/healthy", "", http.StatusOK)
	fetchPage(t, server.URL+"/-/ready", "", http.StatusServiceUnavailable)
}

func fetchPage(t *testing.T, url, accept string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s answers %s, %v", url, resp.Status, err)
	}
	return string(body)
}

// singleNodeSet lists one NodeSet whose cluster cannot be read.
type singleNodeSet struct{}

func (singleNodeSet) NodeSets() []metricsapi.Object {
	return []metricsapi.Object{{Namespace: "team", Name: "gpu", Clusters: []metricsapi.Cluster{unreadableCluster{}},
		ScaleBounds: &scaling.Bounds{Replicas: 3}}}
}

type unreadableCluster struct{}

func (unreadableCluster) Name() string                          { return "red" }
func (unreadableCluster) String() string                        { return "team/red" }
func (unreadableCluster) Reading() (*metricsapi.Reading, error) { return nil, context.DeadlineExceeded }

func TestNodeSetsAreShownBesideTheClusters(t *testing.T) {
	e := newTestExposition(t)
	e.showNodeSets(singleNodeSet{}, time.Minute)
	server := httptest.NewServer(e.routes(func() error { return nil }))
	defer server.Close()
	text := fetchPage(t, server.URL+"/metrics", "", http.StatusOK)
	for _, want := range []string{
		`slurm_nodeset_known{cluster="team/red",namespace="team",nodeset="gpu"} 0`,
		`slurm_nodeset_replicas{cluster="team/red",namespace="team",nodeset="gpu"} 3`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "slurm_nodeset_required_nodes") {
		t.Error("an unknown value is shown")
	}
}

// The NodeSet's workers are four times as large as the existing nodes, so that the demand would
// differ without the NodeSet.
func TestHPAsAndPrometheusGetTheSameNumber(t *testing.T) {
	slurm := httptest.NewServer(slurmtest.NewSized(time.Now, 3, 200).Handler())
	t.Cleanup(slurm.Close)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("any"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parseFlags([]string{"--log.level=error", "--slurm.url=" + slurm.URL, "--slurm.jwt-key-file=" + key,
		"--slurm.user=root", "--cluster-namespace=team", "--cluster-name=red"})
	if err != nil {
		t.Fatal(err)
	}
	log := o.log.Logger(io.Discard)
	e := newExposition(o, log)
	registry := clusters.New(o.registryConfig(kubeClients{}, e, log))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	cpu := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cpu"}}
	cpu.Spec.ClusterRef, cpu.Spec.ExtraConf = &corev1.LocalObjectReference{Name: "red"}, "CPUs=256 RealMemory=1000000"
	go func() {
		registry.Run(ctx, changed,
			func() clusters.Objects { return clusters.Objects{NodeSets: []*v1beta1.NodeSet{cpu}} })
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	provide := metricsapi.New(registry, metricsapi.Config{})
	server := httptest.NewServer(e.routes(registry.Settled))
	defer server.Close()

	info := provider.CustomMetricInfo{GroupResource: metricsapi.Clusters().GroupResource, Namespaced: true}
	for _, partition := range []string{"short", "long", "night", "test", "teaching", "all"} {
		of := labels.SelectorFromSet(labels.Set{"partition": partition})
		for _, info.Metric = range []string{"slurm_partition_pending_nodes", "slurm_partition_required_nodes",
			"slurm_partition_idle_nodes", "slurm_partition_eligible_pending_jobs"} {
			var hpa, prometheus string
			deadline := time.Now().Add(time.Minute)
			for (hpa == "" || hpa != prometheus) && time.Now().Before(deadline) {
				if v, err := provide.GetMetricByName(ctx, types.NamespacedName{Namespace: "team", Name: "red"}, info,
					of); err == nil {
					hpa = v.Value.String()
				}
				text := fetchPage(t, server.URL+"/metrics", "", http.StatusOK)
				_, rest, _ := strings.Cut(text, "\n"+info.Metric+`{cluster="team/red",partition="`+partition+`"} `)
				prometheus, _, _ = strings.Cut(rest, "\n")
				if hpa != "" && prometheus != "" {
					break
				}
			}
			if hpa == "" || hpa != prometheus {
				t.Errorf("%s of %s is %q for HPAs and %q on the page", info.Metric, partition, hpa, prometheus)
			}
		}
	}
}

func TestAClusterThatCannotBeDialledIsNotUp(t *testing.T) {
	o, err := parseFlags([]string{"--log.level=error"})
	if err != nil {
		t.Fatal(err)
	}
	log := o.log.Logger(io.Discard)
	e := newExposition(o, log)
	registry := clusters.New(o.registryConfig(kubeClients{}, e, log))
	e.showClusters(registry)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(e.routes(registry.Settled))
	defer server.Close()
	if got := fetchPage(t, server.URL+"/metrics", "", http.StatusOK); strings.Contains(got, "slurm_up") {
		t.Error("clusters are shown before they are listed")
	}
	lost := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "lost"}} // it has no RestApi
	registry.Apply(ctx, clusters.Objects{Controllers: []*v1beta1.Controller{lost}})
	if got := fetchPage(t, server.URL+"/metrics", "", http.StatusOK); !strings.Contains(got,
		`slurm_up{cluster="hpc/lost"} 0`+"\n") {
		t.Error("slurm_up of the cluster is missing")
	}
	registry.Apply(ctx, clusters.Objects{})
	if got := fetchPage(t, server.URL+"/metrics", "", http.StatusOK); strings.Contains(got, "slurm_up{") {
		t.Error("a cluster that is gone is still shown")
	}
}

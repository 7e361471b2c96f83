package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// shown is an exposition of simulated clusters.
func shown(t *testing.T, keys ...access.Key) *exposition {
	t.Helper()
	o, err := parse([]string{"--compat=vpenso", "--log.level=error"})
	if err != nil {
		t.Fatal(err)
	}
	e := newExposition(o, o.logger(io.Discard))
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for _, k := range keys {
		server := httptest.NewServer(slurmtest.Sized(time.Now, 3, 20).Handler())
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
		go e.show(ctx, k, cache, exporter.NewRequests(), token)
	}
	return e
}

func TestTheExpositionOfSeveralClustersIsWellFormed(t *testing.T) {
	e := shown(t, access.Key{Kind: "Cluster", Namespace: "team", Name: "a"}, access.Key{Kind: "Controller", Namespace: "team", Name: "a"}, access.Key{Kind: "Cluster", Name: "slurm"})
	server := httptest.NewServer(e.routes(func() error { return nil }))
	defer server.Close()
	var text string
	deadline := time.Now().Add(20 * time.Second)
	for (strings.Count(text, "\nslurm_up{") < 3 || !strings.Contains(text, "slurm_partition_pending_jobs{")) && time.Now().Before(deadline) {
		text = fetch(t, server.URL+"/metrics", "", http.StatusOK)
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
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
		}
	}
	if !strings.HasSuffix(fetch(t, server.URL+"/metrics", "application/openmetrics-text;version=1.0.0", http.StatusOK), "\n# EOF\n") {
		t.Error("the exposition in OpenMetrics has no end")
	}
	if got := fetch(t, server.URL+"/metrics?collect[]=nodes", "", http.StatusOK); strings.Contains(got, "go_goroutines") || strings.Contains(got, "slurm_partition_pending_jobs{") {
		t.Error("collect[] is not heeded")
	}
	fetch(t, server.URL+"/metrics?collect[]=nope", "", http.StatusBadRequest)
	fetch(t, server.URL+"/metrics/vpenso", "", http.StatusOK)
	fetch(t, server.URL+"/", "", http.StatusOK)
}

func TestWithoutClustersTheProgramShowsItself(t *testing.T) {
	server := httptest.NewServer(shown(t).routes(func() error { return context.Canceled }))
	defer server.Close()
	if got := fetch(t, server.URL+"/metrics", "", http.StatusOK); !strings.Contains(got, "slurm_metrics_adapter_build_info") {
		t.Errorf("it shows\n%s", got)
	}
	fetch(t, server.URL+"/-/healthy", "", http.StatusOK)
	fetch(t, server.URL+"/-/ready", "", http.StatusServiceUnavailable)
}

func fetch(t *testing.T, url, accept string, status int) string {
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

// oneNodeSet is a NodeSet whose cluster cannot be read.
type oneNodeSet struct{}

func (oneNodeSet) NodeSets() []metricsapi.Object {
	return []metricsapi.Object{{Namespace: "team", Name: "gpu", Clusters: []metricsapi.Cluster{unread{}}, Offer: &metricsapi.Offer{Replicas: 3}}}
}

type unread struct{}

func (unread) Name() string                          { return "red" }
func (unread) String() string                        { return "team/red" }
func (unread) Reading() (*metricsapi.Reading, error) { return nil, context.DeadlineExceeded }

func TestNodeSetsAreShownBesideTheClusters(t *testing.T) {
	e := shown(t)
	e.showNodeSets(oneNodeSet{}, time.Minute)
	server := httptest.NewServer(e.routes(func() error { return nil }))
	defer server.Close()
	text := fetch(t, server.URL+"/metrics", "", http.StatusOK)
	for _, want := range []string{
		`slurm_nodeset_known{cluster="team/red",namespace="team",nodeset="gpu"} 0`,
		`slurm_nodeset_replicas{cluster="team/red",namespace="team",nodeset="gpu"} 3`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(text, "slurm_nodeset_required_nodes") {
		t.Error("what is not known is told")
	}
}

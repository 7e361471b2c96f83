package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestSamplesGetTheLabelOfTheirCluster(t *testing.T) {
	const a = `# HELP up It is.
# TYPE up gauge
up 1
# HELP jobs Jobs.
# TYPE jobs gauge
jobs{partition="x, y={z}"} 2
# HELP info Names.
# TYPE info gauge
info{api="v1",cluster="slurm"} 1
# HELP go_threads Threads.
# TYPE go_threads gauge
go_threads 9
# HELP wait Wait.
# TYPE wait histogram
wait_bucket{le="+Inf"} 3
wait_count 3
# EOF
`
	const b = `# HELP up It is.
# TYPE up gauge
up 0
# HELP only Here.
# TYPE only gauge
only{} 1
`
	j := joint{index: map[string]int{}}
	j.add("team/a", []byte(a))
	j.add(`te"am`, []byte(b))
	want := `# HELP up It is.
# TYPE up gauge
up{cluster="team/a"} 1
up{cluster="te\"am"} 0
# HELP jobs Jobs.
# TYPE jobs gauge
jobs{cluster="team/a",partition="x, y={z}"} 2
# HELP info Names.
# TYPE info gauge
info{cluster="team/a",api="v1",slurm_cluster="slurm"} 1
# HELP wait Wait.
# TYPE wait histogram
wait_bucket{cluster="team/a",le="+Inf"} 3
wait_count{cluster="team/a"} 3
# HELP only Here.
# TYPE only gauge
only{cluster="te\"am"} 1
`
	var got strings.Builder
	for _, f := range j.families {
		got.Write(f.head)
		got.Write(f.samples)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

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
	for strings.Count(text, "slurm_partition_pending_jobs{") < 3 && time.Now().Before(deadline) {
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

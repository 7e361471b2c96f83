//go:build e2e

package look

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// scrapeTarget is an endpoint that Prometheus scrapes.
type scrapeTarget struct {
	job, address, path string
	// cluster is the label for targets whose metrics have no cluster label themselves.
	cluster string
}

// prometheus is a running Prometheus.
type prometheus struct{ url string }

const prometheusConfig = `
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [%s]
scrape_configs:
`

// startPrometheus starts a Prometheus that scrapes the targets every two seconds and evaluates our
// rules. It keeps its files in dir. args are more of its flags.
func startPrometheus(t *testing.T, dir string, targets []scrapeTarget, args ...string) *prometheus {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Abs(filepath.Join(root, "dashboards", "rules", "*.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(prometheusConfig, files)
	for _, to := range targets {
		config += fmt.Sprintf("  - {job_name: %q, honor_labels: %t, metrics_path: %q, static_configs: [{targets: [%q], labels: {",
			to.job, to.cluster == "", to.path, to.address)
		if to.cluster != "" {
			config += fmt.Sprintf("cluster: %q", to.cluster)
		}
		config += "}}]}\n"
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := process.FreeAddress(t)
	process.Start(t, "prometheus", append([]string{"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "prometheus"),
		"--web.listen-address=" + address, "--log.level=warn"}, args...)...)
	p := &prometheus{"http://" + address}
	process.Await(t, func() error { return process.CheckOK(p.url + "/-/ready") })
	return p
}

// sample is a sample of a query result.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// runQuery evaluates an instant query.
func (p *prometheus) runQuery(expr string) ([]sample, error) {
	r, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var answer struct {
		Error string `json:"error"`
		Data  struct {
			Type   string          `json:"resultType"`
			Result json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	if answer.Data.Type == "scalar" {
		return []sample{{}}, nil
	}
	var out []sample
	return out, json.Unmarshal(answer.Data.Result, &out)
}

// findUnanswered returns the queries that fail or return nothing but NaN, with the reasons.
func (p *prometheus) findUnanswered(queries []query) (left []query, why []string) {
	for _, q := range queries {
		samples, err := p.runQuery(q.expr)
		switch {
		case err != nil:
			left, why = append(left, q), append(why, fmt.Sprintf("%s: %v", q.location, err))
		case !hasNumber(samples):
			left, why = append(left, q), append(why, fmt.Sprintf("%s: no data: %s", q.location, q.expr))
		}
	}
	return left, why
}

func hasNumber(samples []sample) bool {
	for _, s := range samples {
		if s.Value[1] != "NaN" {
			return true
		}
	}
	return false
}

// awaitAnswers waits until every query has returned data.
func (p *prometheus) awaitAnswers(t *testing.T, limit time.Duration, queries []query) {
	t.Helper()
	if len(queries) == 0 {
		t.Fatal("there are no queries")
	}
	begin := time.Now()
	left, why := p.findUnanswered(queries)
	for len(left) > 0 && time.Since(begin) < limit {
		select {
		case <-time.After(time.Second):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
		left, why = p.findUnanswered(left)
	}
	t.Logf("%d of %d queries returned data after %s", len(queries)-len(left), len(queries),
		time.Since(begin).Round(time.Second))
	for _, w := range why {
		t.Error(w)
	}
}

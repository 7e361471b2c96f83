//go:build e2e

package migrate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// prometheus is a running Prometheus. KEDA and prometheus-adapter find it at the address of a Service
// that the page names, because it is their HTTP proxy.
type prometheus struct{ url, targets string }

const prometheusConfig = `
global: {scrape_interval: 1s}
scrape_configs:
  - {job_name: slurm, metrics_path: /metrics/openmetrics, static_configs: [{targets: [%q], labels: {namespace: slurm}}]}
  - {job_name: slurm-metrics, honor_labels: true, file_sd_configs: [{files: [%q]}]}
`

// serviceMonitors is the kind of the Prometheus Operator that the chart slurm-metrics uses.
const serviceMonitors = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: ServiceMonitor, plural: servicemonitors, singular: servicemonitor, listKind: ServiceMonitorList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// startPrometheus starts a Prometheus that scrapes the exporter each second.
func (e *env) startPrometheus(t *testing.T, exporter string) *prometheus {
	t.Helper()
	must(t, e.Kube.Apply(t.Context(), serviceMonitors))
	must(t, e.Kube.AwaitEstablished(t.Context(), "servicemonitors.monitoring.coreos.com"))
	address := process.FreeAddress(t)
	p := &prometheus{url: "http://" + address, targets: filepath.Join(e.dir, "targets.json")}
	p.scrapeAdapter(t, "")
	config := filepath.Join(e.dir, "prometheus.yml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, prometheusConfig, exporter, p.targets), 0o600))
	process.Start(t, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(e.dir, "prometheus"),
		"--web.listen-address="+address, "--log.level=warn")
	process.Await(t, func() error { return process.CheckOK(p.url + "/-/ready") })
	return p
}

// scrapeAdapter makes Prometheus scrape an address, or none if it is empty.
func (p *prometheus) scrapeAdapter(t *testing.T, address string) {
	t.Helper()
	targets := []map[string][]string{}
	if address != "" {
		targets = append(targets, map[string][]string{"targets": {address}})
	}
	text, err := json.Marshal(targets)
	must(t, err)
	// Prometheus watches the folder, and could read a file that is half written.
	must(t, os.WriteFile(p.targets+".new", text, 0o600))
	must(t, os.Rename(p.targets+".new", p.targets))
}

// await waits until a query has one value, and this value.
func (p *prometheus) await(t *testing.T, query, want string) {
	t.Helper()
	process.Await(t, func() error {
		response, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(query)) //nolint:noctx // it is on loopback
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return err
		}
		if result := answer.Data.Result; len(result) != 1 || result[0].Value[1] != want {
			return fmt.Errorf("%s is %v, want %s", query, result, want)
		}
		return nil
	})
}

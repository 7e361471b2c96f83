//go:build e2e

package look

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// chartObject contains the fields of a chart's object that the tests read.
type chartObject struct {
	Kind     string
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Data map[string]string
	Spec struct{ Groups any }
}

func TestChartsShipDashboardsAndRules(t *testing.T) {
	all := len(allDashboards(t))
	for chart, want := range map[string]struct{ dashboards, rules int }{
		"slurm-exporter": {all - 1, 2}, // without the dashboard of NodeSets
		"slurm-metrics":  {all, 3},
	} {
		t.Run(chart, func(t *testing.T) {
			dashboards, rules := 0, 0
			for _, o := range renderChart(t, chart, "dashboards.enabled=true",
				"dashboards.annotations.grafana_folder=Slurm", "dashboards.namespace=grafana",
				"prometheusRule.enabled=true", "prometheusRule.labels.release=monitoring") {
				switch {
				case o.Kind == "ConfigMap" && o.Metadata.Labels["grafana_dashboard"] == "1":
					dashboards++
					checkDashboard(t, o)
				case o.Kind == "PrometheusRule":
					rules++
					checkRule(t, o)
				}
			}
			if dashboards != want.dashboards || rules != want.rules {
				t.Errorf("the chart has %d dashboards and %d PrometheusRules", dashboards, rules)
			}
		})
	}
}

func TestChartsShipNothingByDefault(t *testing.T) {
	for _, chart := range []string{"slurm-exporter", "slurm-metrics"} {
		for _, o := range renderChart(t, chart) {
			if o.Kind == "PrometheusRule" || o.Metadata.Labels["grafana_dashboard"] != "" {
				t.Errorf("%s renders the %s %s", chart, o.Kind, o.Metadata.Name)
			}
		}
	}
}

func TestTheLabelOfDashboardsCanBeChanged(t *testing.T) {
	found := 0
	for _, o := range renderChart(t, "slurm-exporter", "dashboards.enabled=true", "dashboards.label=board",
		"dashboards.labelValue=yes") {
		if o.Metadata.Labels["board"] == "yes" {
			found++
		}
		if o.Metadata.Labels["grafana_dashboard"] != "" {
			t.Errorf("%s still has the default label", o.Metadata.Name)
		}
	}
	if found != len(allDashboards(t))-1 {
		t.Errorf("%d dashboards have the label", found)
	}
}

func checkDashboard(t *testing.T, o chartObject) {
	t.Helper()
	for file, text := range o.Data {
		name := strings.TrimPrefix(file, "slurm-")
		want := readFile(t, filepath.Join(root, "dashboards", name))
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(text)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", file, diff)
		}
	}
	if len(o.Data) != 1 || o.Metadata.Namespace != "grafana" || o.Metadata.Annotations["grafana_folder"] != "Slurm" {
		t.Errorf("%s is in %q, with %v", o.Metadata.Name, o.Metadata.Namespace, o.Metadata.Annotations)
	}
}

func checkRule(t *testing.T, o chartObject) {
	t.Helper()
	name := o.Metadata.Name[strings.LastIndex(o.Metadata.Name, "-")+1:]
	var want struct{ Groups any }
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(root, "dashboards", "rules", name+".rules.yaml"))),
		&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Groups, o.Spec.Groups); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", o.Metadata.Name, diff)
	}
	if o.Metadata.Labels["release"] != "monitoring" {
		t.Errorf("%s has the labels %v", o.Metadata.Name, o.Metadata.Labels)
	}
}

// renderChart returns the objects that a chart renders with the values.
func renderChart(t *testing.T, chart string, values ...string) []chartObject {
	t.Helper()
	folder, err := exec.Command(filepath.Join(root, "hack", "kube", "build"), "helm").Output()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "test", filepath.Join(root, "charts", chart), "--namespace", "slurm", "--kube-version",
		"1.37.0"}
	if chart == "slurm-exporter" {
		values = append(values, "slurm.url=http://slurmrestd:6820", "slurm.token.existingSecret=token")
	}
	for _, v := range values {
		args = append(args, "--set-string", v)
		if strings.HasSuffix(v, "=true") {
			args[len(args)-2] = "--set"
		}
	}
	out, err := exec.Command(filepath.Join(strings.TrimSpace(string(folder)), "helm"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []chartObject
	for decoder := yaml.NewDecoder(strings.NewReader(string(out))); ; {
		var o chartObject
		if decoder.Decode(&o) != nil {
			return all
		}
		all = append(all, o)
	}
}

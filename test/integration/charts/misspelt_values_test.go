//go:build e2e

package charts

import (
	"regexp"
	"strings"
	"testing"
)

// hasAnyName matches the maps whose names are users' own: of Kubernetes, of Slurm's options, of other charts, and of Prometheus.
var hasAnyName = regexp.MustCompile(`(^|\.)(nodeSelector|[a-zA-Z]*[lL]abels|[a-zA-Z]*[aA]nnotations|resources\.(requests|limits)|configMap|` +
	`extraConfMap|configFiles|global|serviceMonitor\.tlsConfig)$`)

// TestAMisspeltValueIsRefusedWhereItIs: at each level of the defaults of each chart.
func TestAMisspeltValueIsRefusedWhereItIs(t *testing.T) {
	const misspelt = "misspelt"
	for _, chart := range allCharts() {
		values := defaultValues(t, chart)
		for _, path := range append([]string{""}, mapsOf(t, chart)...) {
			if hasAnyName.MatchString(path) || isEmptyMap(values, path) {
				continue
			}
			t.Run(chart+"/"+path, func(t *testing.T) {
				t.Parallel()
				at := strings.TrimPrefix(path+"."+misspelt, ".")
				_, err := renderChart(t, chart, append(minimalValues(t, chart), "--values", valuesFile(t, nest(at, "x")))...)
				if err == nil || !strings.Contains(err.Error(), misspelt) {
					t.Errorf("it is accepted: %v", err)
				}
				_, below, _ := strings.Cut(path, ".")
				if chart != "slurm-stack" || strings.HasPrefix(path, "mariadb") {
					below = path // the errors of slurm-stack name the chart of the value
				}
				pointer := "/" + strings.ReplaceAll(below, ".", "/")
				if err != nil && path != "" && !strings.Contains(err.Error(), pointer) && !strings.Contains(err.Error(), path) {
					t.Errorf("the error does not say where: %v", err)
				}
			})
		}
	}
}

// isEmptyMap reports whether the defaults have an empty map at a path: its names may be users' own.
func isEmptyMap(values map[string]any, path string) bool {
	path = regexp.MustCompile(`^(node|login)sets\.a\b`).ReplaceAllString(path, "${1}setDefaults")
	var at any = values
	for part := range strings.SplitSeq(path, ".") {
		below, isMap := at.(map[string]any)
		if part == "" || !isMap {
			break
		}
		at = below[part]
	}
	below, isMap := at.(map[string]any)
	return isMap && len(below) == 0
}

package metricsapi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
)

func TestExternalMetricsAreSeriesWithLabels(t *testing.T) {
	p := providerOf(testDirectory(), noon())
	for _, tc := range []struct {
		name, metric, selector string
		want                   map[string]int64
	}{
		{"a value for each partition of each cluster", "slurm_partition_pending_jobs", "",
			map[string]int64{"red//a": 4, "red//b": 4, "red//both": 0, "blue//a": 1}},
		{"one partition of one cluster", "slurm_partition_idle_nodes", "cluster=red,partition=both",
			map[string]int64{"red//both": 2}},
		{"a value for each NodeSet", "slurm_nodeset_required_nodes", "nodeset!=new",
			map[string]int64{"red/a/": 2, "red/b/": 4}},
		{"one NodeSet", "slurm_nodeset_busy_nodes", "nodeset=a,namespace=team", map[string]int64{"red/a/": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := p.GetExternalMetric(t.Context(), "team", selectorOf(t, tc.selector),
				provider.ExternalMetricInfo{Metric: tc.metric})
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]int64{}
			for _, v := range got.Items {
				l := v.MetricLabels
				if l["namespace"] != "team" || v.MetricName != tc.metric {
					t.Errorf("a series is %+v", v)
				}
				values[l["cluster"]+"/"+l["nodeset"]+"/"+l["partition"]] = v.Value.Value()
			}
			if diff := cmp.Diff(tc.want, values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExternalMetricsThatDoNotExistOrAreUnavailable(t *testing.T) {
	site := testDirectory()
	down := fakeCluster{name: "down", err: errors.New("connection refused")}
	site["namespaces"][0].Clusters = append(site["namespaces"][0].Clusters, down)
	p := providerOf(site, noon())
	ask := func(namespace, metric, selector string) error {
		_, err := p.GetExternalMetric(t.Context(), namespace, selectorOf(t, selector),
			provider.ExternalMetricInfo{Metric: metric})
		return err
	}
	for _, tc := range []struct {
		name, namespace, metric, selector string
		is                                func(error) bool
	}{
		{"an unknown metric", "team", "slurm_nothing", "", apierrors.IsNotFound},
		{"another namespace", "nobody", "slurm_partition_pending_jobs", "", apierrors.IsNotFound},
		{"a partition that does not exist", "team", "slurm_partition_pending_jobs", "cluster=red,partition=z",
			apierrors.IsNotFound},
		{"a cluster that is down", "team", "slurm_partition_pending_jobs", "", apierrors.IsServiceUnavailable},
		{"a NodeSet that nothing was computed for", "team", "slurm_nodeset_required_nodes", "",
			apierrors.IsServiceUnavailable},
		{"a cluster that is down and not selected", "team", "slurm_partition_pending_jobs", "cluster=red",
			func(err error) bool { return err == nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := ask(tc.namespace, tc.metric, tc.selector); !tc.is(err) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

package metricsapi

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
)

// A typing error in a selector is found in the HPA's event, without a look into Slurm.
func TestAWrongSelectorNamesTheRightPartitions(t *testing.T) {
	p := providerOf(testDirectory(), noon())
	for _, tc := range []struct {
		name             string
		of               Resource
		object, metric   string
		selector, answer string
	}{
		{"of a cluster", Clusters(), "red", "slurm_partition_pending_jobs", "partition=gpu", "its partitions are a, b, both"},
		{"of a NodeSet", NodeSets(), "a", "slurm_partition_pending_jobs", "partition=b", "its partitions are a, both"},
		{"of another NodeSet", NodeSets(), "b", "slurm_partition_pending_jobs", "partition=a", "its partitions are b, both"},
		{"of a namespace", Namespaces(), "team", "slurm_partition_pending_jobs", "partition=gpu",
			"its partitions are a, b, both"},
		{"another label", Clusters(), "red", "slurm_partition_pending_jobs", "queue=a",
			"its partitions are a, b, both, selected by the labels partition and cluster"},
		{"a label of a metric without one", NodeSets(), "a", "slurm_nodeset_busy_nodes", "partition=a",
			"slurm_nodeset_busy_nodes has no labels to select by"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			namespace := map[bool]string{true: "team"}[tc.of.Namespaced]
			_, err := getByName(t, p, tc.of, namespace, tc.object, tc.metric, tc.selector)
			if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), tc.answer) {
				t.Errorf("the answer is %v, want a 404 with %q", err, tc.answer)
			}
		})
	}
}

func TestAWrongSelectorNamesAtMostTwentyPartitions(t *testing.T) {
	names := make([]string, 23)
	for i := range names {
		names[i] = fmt.Sprintf("p%02d", i)
	}
	got := describeSelectable(Entry{partitionsValue: partitionSelection.pendingJobs}, names)
	if !strings.Contains(got, "p19, and 3 more") || strings.Contains(got, "p20") {
		t.Errorf("the text is %q", got)
	}
}

func TestAWrongExternalSelectorNamesTheRightPartitions(t *testing.T) {
	p := providerOf(testDirectory(), noon())
	selector, err := labels.Parse("partition=gpu")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.GetExternalMetric(t.Context(), "team", selector, provider.ExternalMetricInfo{Metric: "slurm_partition_pending_jobs"})
	if want := "its partitions are a, b, both"; !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("the answer is %v, want a 404 with %q", err, want)
	}
}

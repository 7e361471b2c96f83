package observe

import (
	"context"
	"fmt"
	"time"

	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"

	"github.com/slurmtide/slurmtide/metricsapi"
)

// Value is a value of a custom metric and the time at which Slurm was read.
type Value struct {
	Number uint64
	At     time.Time
}

// Metric reads a custom metric of one object. A non-empty partition restricts it to that partition.
// An error means that the value is unknown.
func (a *API) Metric(
	ctx context.Context, of metricsapi.Resource, namespace, name, metric, partition string,
) (Value, error) {
	args := map[string]string{}
	if partition != "" {
		args["metricLabelSelector"] = "partition=" + partition
	}
	var got custommetrics.MetricValueList
	group := custommetrics.SchemeGroupVersion
	path := []string{"apis", group.Group, group.Version, "namespaces", namespace, of.GroupResource.String(), name,
		metric}
	if err := a.get(ctx, path, args, &got); err != nil {
		return Value{}, fmt.Errorf("reading %s of %s: %w", metric, name, err)
	}
	if len(got.Items) != 1 {
		return Value{}, fmt.Errorf("reading %s of %s: got %d values instead of one", metric, name, len(got.Items))
	}
	item := got.Items[0]
	n := item.Value.Value()
	if n < 0 || item.Timestamp.IsZero() {
		return Value{}, fmt.Errorf("reading %s of %s: the value %s is invalid", metric, name, item.Value.String())
	}
	return Value{Number: uint64(n), At: item.Timestamp.Time}, nil
}

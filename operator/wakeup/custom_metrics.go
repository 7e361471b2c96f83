package wakeup

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/operator/scaling"
)

// DemandSource returns the number of nodes that the jobs of a NodeSet require.
type DemandSource interface {
	// RequiredNodes returns the number of nodes that the NodeSet should run now, and the time of the queue
	// that the number is computed from. An error means that the number is unknown; it must never be treated
	// as zero. It blocks until ctx ends at the latest.
	RequiredNodes(ctx context.Context, namespace, name string) (n int64, at time.Time, err error)
}

// CustomMetrics is a DemandSource that reads custom.metrics.k8s.io as an HPA does. It returns the
// number that the HPA would get and needs no access to Slurm.
type CustomMetrics struct{ client rest.Interface }

// NewCustomMetrics returns CustomMetrics that send requests to the API server of cfg through
// client, which has the identity and the TLS settings of cfg. It sends no request itself.
func NewCustomMetrics(cfg *rest.Config, client *http.Client) (*CustomMetrics, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.AcceptContentTypes = "application/json" // an aggregated API may support only this type
	restClient, err := rest.UnversionedRESTClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("making a client of custom metrics: %w", err)
	}
	return &CustomMetrics{client: restClient}, nil
}

// RequiredNodes implements DemandSource. It wraps the errors of the API server
// (k8s.io/apimachinery/pkg/api/errors).
func (c *CustomMetrics) RequiredNodes(ctx context.Context, namespace, name string) (int64, time.Time, error) {
	body, err := c.client.Get().
		AbsPath("apis", custommetrics.SchemeGroupVersion.Group, custommetrics.SchemeGroupVersion.Version,
			"namespaces", namespace, "nodesets.slinky.slurm.net", name, scaling.RequiredNodesMetric).
		DoRaw(ctx)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("reading %s: %w", scaling.RequiredNodesMetric, err)
	}
	return decodeMetric(body, name)
}

// decodeMetric decodes a response. It refuses anything but exactly one number with a time, for this
// NodeSet.
func decodeMetric(body []byte, name string) (int64, time.Time, error) {
	var list custommetrics.MetricValueList
	if err := json.Unmarshal(body, &list); err != nil {
		return 0, time.Time{}, fmt.Errorf("decoding %s: %w", scaling.RequiredNodesMetric, err)
	}
	if len(list.Items) != 1 {
		return 0, time.Time{}, fmt.Errorf("decoding %s: there are %d values, not one", scaling.RequiredNodesMetric,
			len(list.Items))
	}
	item := list.Items[0]
	n := item.Value.Value() // rounds up
	switch {
	case item.DescribedObject.Name != name:
		return 0, time.Time{}, fmt.Errorf("decoding %s: the value is of %q", scaling.RequiredNodesMetric,
			item.DescribedObject.Name)
	case item.Timestamp.IsZero():
		return 0, time.Time{}, fmt.Errorf("decoding %s: the value has no time", scaling.RequiredNodesMetric)
	case item.Value.AsApproximateFloat64() > math.MaxInt32: // Value is 0 or wraps around
		return 0, time.Time{}, fmt.Errorf("decoding %s: the value is more than %d", scaling.RequiredNodesMetric, math.MaxInt32)
	case item.Value.Sign() < 0:
		return 0, time.Time{}, fmt.Errorf("decoding %s: the value is %s", scaling.RequiredNodesMetric, item.Value.String())
	}
	return n, item.Timestamp.Time, nil
}

// explainError returns a short reason for a missing number. The text does not change between attempts.
func explainError(err error) string {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return "the operator may not read it"
	case apierrors.IsNotFound(err):
		return "no metrics adapter serves it for this NodeSet"
	case apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err):
		return "the metrics adapter has no fresh value"
	}
	return "the metrics adapter returns no usable answer"
}

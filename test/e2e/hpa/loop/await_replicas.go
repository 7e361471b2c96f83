package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// Replicas returns spec.replicas of the NodeSet.
func (l *Loop) Replicas(ctx context.Context) (int, error) {
	object, err := l.nodeSets().Get(ctx, l.config.NodeSet, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	n, _, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	return int(n), err
}

// AwaitReplicas waits until spec.replicas is want and returns how long that took. The error
// contains the last number and the HPA's conditions.
func (l *Loop) AwaitReplicas(ctx context.Context, want int, limit time.Duration) (time.Duration, error) {
	begin, last := time.Now(), -1
	for time.Since(begin) < limit {
		n, err := l.Replicas(ctx)
		if err != nil {
			return 0, err
		}
		if n == want {
			return time.Since(begin), nil
		}
		last = n
		time.Sleep(100 * time.Millisecond)
	}
	if err := l.workers.followError(); err != nil {
		return 0, err
	}
	conditions, err := l.HPAConditions(ctx)
	return 0, fmt.Errorf("replicas are %d, want %d, after %v; the HPA's conditions are %v (%w)", last, want, limit,
		conditions, err)
}

// RequireStableReplicas returns an error if spec.replicas differs from want at any time within the
// duration.
func (l *Loop) RequireStableReplicas(ctx context.Context, want int, duration time.Duration) error {
	for begin := time.Now(); time.Since(begin) < duration; time.Sleep(200 * time.Millisecond) {
		n, err := l.Replicas(ctx)
		if err != nil {
			return err
		}
		if n != want {
			return fmt.Errorf("replicas moved from %d to %d after %v", want, n,
				time.Since(begin).Round(time.Millisecond))
		}
	}
	return l.workers.followError()
}

// HPAConditions returns the HPA's conditions by type, as "status reason: message".
func (l *Loop) HPAConditions(ctx context.Context) (map[string]string, error) {
	object, err := l.hpas().Get(ctx, l.config.NodeSet, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	list, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	out := map[string]string{}
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			out[fmt.Sprint(c["type"])] = fmt.Sprintf("%v %v: %v", c["status"], c["reason"], c["message"])
		}
	}
	return out, err
}

// Metric is a value of the custom metrics API for the NodeSet, as the HPA reads it.
type Metric struct {
	Value float64
	At    time.Time
}

// Metric reads a metric of the NodeSet.
func (l *Loop) Metric(ctx context.Context, name, selector string) (Metric, error) {
	path := fmt.Sprintf("/apis/custom.metrics.k8s.io/v1beta2/namespaces/%s/nodesets.slinky.slurm.net/%s/%s",
		l.config.Namespace, l.config.NodeSet, name)
	if selector != "" {
		path += "?metricLabelSelector=" + url.QueryEscape(selector)
	}
	out, err := l.Kube.Kubectl(ctx, "get", "--raw", path)
	if err != nil {
		return Metric{}, err
	}
	return parseMetric(out)
}

func parseMetric(text string) (Metric, error) {
	var list struct {
		Items []struct {
			Timestamp time.Time `json:"timestamp"`
			Value     string    `json:"value"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return Metric{}, fmt.Errorf("reading the metric: %w", err)
	}
	if len(list.Items) != 1 {
		return Metric{}, fmt.Errorf("the answer has %d values, want 1", len(list.Items))
	}
	value := list.Items[0].Value
	scale := 1.0
	if strings.HasSuffix(value, "m") {
		value, scale = strings.TrimSuffix(value, "m"), 1000
	}
	n, err := strconv.ParseFloat(value, 64)
	return Metric{n / scale, list.Items[0].Timestamp}, err
}

// awaitMetrics waits until the adapter serves the metric of the HPA.
func (l *Loop) awaitMetrics(ctx context.Context) error {
	err := process.Retry(ctx, 30*time.Second, func(ctx context.Context) error {
		_, err := l.Metric(ctx, "slurm_nodeset_required_nodes", "")
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the adapter: %w\n%s", err, l.Adapters[0].Log())
	}
	return nil
}

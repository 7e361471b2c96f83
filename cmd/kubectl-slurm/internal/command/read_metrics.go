package command

import (
	"context"
	"slices"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// maxConcurrentReads is the number of metrics that are read concurrently.
const maxConcurrentReads = 8

// forEachConcurrently runs work for every item with limited concurrency and waits for all.
func forEachConcurrently[T any](items []T, work func(T)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, maxConcurrentReads)
	for _, item := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			work(item)
		})
	}
	all.Wait()
}

// metricQuery identifies a metric of an object.
type metricQuery struct {
	of                      metricsapi.Resource
	namespace, name, metric string
	partition               string
}

// readMetrics reads metrics. Metrics that cannot be read are missing from the answers. errs
// contains the first error of each object.
func readMetrics(ctx context.Context, api *observe.API, questions []metricQuery) (
	answers map[metricQuery]uint64, errs []error) {
	answers = map[metricQuery]uint64{}
	var mu sync.Mutex
	hasError := map[string]bool{}
	forEachConcurrently(questions, func(q metricQuery) {
		v, err := api.Metric(ctx, q.of, q.namespace, q.name, q.metric, q.partition)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			answers[q] = v.Number
		} else if key := q.namespace + "/" + q.name; !hasError[key] {
			hasError[key] = true
			errs = append(errs, err)
		}
	})
	return answers, errs
}

// readNodeSetMetrics reads metrics of NodeSets, by namespace/name, and returns notes about those that
// could not be read.
func readNodeSetMetrics(ctx context.Context, api *observe.API, nodeSets []v1beta1.NodeSet, metrics []string) (
	map[string]top.Numbers, []string) {
	var questions []metricQuery
	for _, n := range nodeSets {
		for _, metric := range metrics {
			questions = append(questions,
				metricQuery{of: metricsapi.NodeSets(), namespace: n.Namespace, name: n.Name, metric: metric})
		}
	}
	answers, errs := readMetrics(ctx, api, questions)
	out := map[string]top.Numbers{}
	for q, v := range answers {
		name := metricsapi.PoolName(q.namespace, q.name)
		if out[name] == nil {
			out[name] = top.Numbers{}
		}
		out[name][q.metric] = v
	}
	return out, explainAll(observe.Metrics, errs)
}

func explainAll(p observe.Part, errs []error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, observe.ExplainError(p, err))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listAutoscalers lists HPAs, or returns a note if they cannot be read.
func listAutoscalers(
	ctx context.Context, api *observe.API, s observe.Scope,
) ([]autoscalingv2.HorizontalPodAutoscaler, []string) {
	out, err := api.Autoscalers(ctx, observe.Scope{Namespace: s.Namespace})
	if err != nil {
		return nil, []string{observe.ExplainError(observe.HPAs, err)}
	}
	return out, nil
}

// listWorkerPods lists the pods of NodeSets, or of the named NodeSet only.
func listWorkerPods(ctx context.Context, api *observe.API, namespace, nodeSet string) ([]corev1.Pod, error) {
	selector := v1beta1.LabelAppName + "=" + v1beta1.AppSlurmd
	if nodeSet != "" {
		selector += "," + v1beta1.LabelAppInstance + "=" + nodeSet
	}
	pods, err := api.Pods(ctx, observe.Scope{Namespace: namespace, Labels: selector})
	if pods == nil && err == nil {
		pods = []corev1.Pod{}
	}
	return pods, err
}

// isFatal reports whether an error ends a command because further reads would fail too.
func isFatal(err error) bool {
	return observe.IsUnreachable(err) || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) &&
		!apierrors.IsServiceUnavailable(err)
}

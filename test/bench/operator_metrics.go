package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// histogram is a Prometheus histogram: its buckets' upper bounds and cumulative counts.
type histogram struct{ bounds, counts []float64 }

func (h histogram) count() float64 {
	if len(h.counts) == 0 {
		return 0
	}
	return h.counts[len(h.counts)-1]
}

// quantile reckons as Prometheus does, evenly within a bucket.
func (h histogram) quantile(q float64) float64 {
	rank, low, before := q*h.count(), 0.0, 0.0
	for i, bound := range h.bounds {
		if h.counts[i] >= rank && h.counts[i] > before {
			if math.IsInf(bound, 1) {
				return low
			}
			return low + (bound-low)*(rank-before)/(h.counts[i]-before)
		}
		low, before = bound, h.counts[i]
	}
	return low
}

// reconcileTimes reads the durations of the operator's NodeSet reconciliations.
func (s *operatorEnv) reconcileTimes(ctx context.Context) (histogram, error) {
	_, body, err := httpGet(ctx, s.operatorMetrics)
	if err != nil {
		return histogram{}, err
	}
	return parseHistogram(string(body), `controller_runtime_reconcile_time_seconds_bucket{controller="nodeset",le="`)
}

func parseHistogram(text, prefix string) (h histogram, err error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, prefix)
		if !ok {
			continue
		}
		le, value, _ := strings.Cut(strings.TrimSpace(rest), `"} `)
		bound, err := strconv.ParseFloat(le, 64)
		if err != nil {
			return h, fmt.Errorf("reading a histogram: %w", err)
		}
		count, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return h, fmt.Errorf("reading a histogram: %w", err)
		}
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, count)
	}
	if len(h.bounds) == 0 {
		return h, fmt.Errorf("the operator's metrics have no %s", prefix)
	}
	return h, nil
}

// cpuUsage is processor time in seconds by program.
type cpuUsage map[string]float64

// readUsage returns the processor time of each program since its start.
func (s *operatorEnv) readUsage(ctx context.Context) (cpuUsage, error) {
	out := cpuUsage{"bench (kubelets, slurmrestd)": cpuOf(os.Getpid()), "slurm-operator": cpuOf(s.operator.Process.Pid)}
	for _, daemon := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pid, err := s.control.Kube.PID(ctx, daemon)
		if err != nil {
			return nil, err
		}
		out[daemon] = cpuOf(pid)
	}
	return out, nil
}

// usedSince returns the usage since then.
func (s *operatorEnv) usedSince(ctx context.Context, then cpuUsage) (cpuUsage, error) {
	now, err := s.readUsage(ctx)
	for name := range now {
		now[name] -= then[name]
	}
	return now, err
}

func (u cpuUsage) String() string {
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(u), func(a, b string) int { return int(1e3 * (u[b] - u[a])) }) {
		parts = append(parts, fmt.Sprintf("%s %.1f s", name, u[name]))
	}
	return strings.Join(parts, ", ")
}

// sumSamples returns the sum of the samples whose lines begin with prefix.
func sumSamples(text, prefix string) (sum float64, err error) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		_, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return sum, fmt.Errorf("reading %s: %w", prefix, err)
		}
		sum += n
	}
	return sum, nil
}

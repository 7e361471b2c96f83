package main

import (
	"context"
	"fmt"
	"math"
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

// reconciles reads how long the operator's looks at NodeSets took.
func (s *stage) reconciles(ctx context.Context) (histogram, error) {
	_, body, err := get(ctx, s.operatorMetrics)
	if err != nil {
		return histogram{}, err
	}
	return histogramOf(string(body), `controller_runtime_reconcile_time_seconds_bucket{controller="nodeset",le="`)
}

func histogramOf(text, prefix string) (h histogram, err error) {
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

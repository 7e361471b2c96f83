package collector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// readHistogram returns the only histogram of a collector.
func readHistogram(t *testing.T, v *prometheus.HistogramVec) *dto.Histogram {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(v)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetHistogram()
}

// filledBuckets returns the number of native buckets that are not empty.
func filledBuckets(h *dto.Histogram) (n int) {
	inBucket := int64(0)
	for _, delta := range h.GetPositiveDelta() {
		if inBucket += delta; inBucket > 0 {
			n++
		}
	}
	return n
}

func TestNativeBucketsOfWaits(t *testing.T) {
	const day = 24 * 3600
	for _, tc := range []struct {
		name    string
		longest int // seconds
		schema  int32
		buckets int
	}{
		{"waits of up to a week have the full resolution", 7 * day, 3, 137},
		{"waits of up to 48 days have the full resolution", 1 << 22, 3, 159},
		{"longer waits merge buckets", 1 << 31, 2, 119},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// Time passes between the waits, because client_golang can reset histograms by their age.
			synctest.Test(t, func(t *testing.T) {
				v := newWaitHistogram("slurm_test_wait_seconds", "Waits.", "partition")
				h, waits, sum := v.WithLabelValues("cpu"), uint64(0), 0.0
				for wait := 0; wait <= tc.longest; wait += max(1, wait/100) {
					h.Observe(float64(wait))
					waits, sum = waits+1, sum+float64(wait)
					time.Sleep(time.Hour)
				}
				got := readHistogram(t, v)
				if n := filledBuckets(got); got.GetSchema() != tc.schema || n != tc.buckets {
					t.Errorf("%d buckets of the schema %d, want %d of %d", n, got.GetSchema(), tc.buckets, tc.schema)
				}
				if got.GetSampleCount() != waits || got.GetSampleSum() != sum || got.GetBucket()[0].GetCumulativeCount() != 2 {
					t.Errorf("the classic part has %d waits of %v s, %d of at most 1 s; want %d of %v s, 2", got.GetSampleCount(),
						got.GetSampleSum(), got.GetBucket()[0].GetCumulativeCount(), waits, sum)
				}
			})
		})
	}
}

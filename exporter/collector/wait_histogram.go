package collector

import "github.com/prometheus/client_golang/prometheus"

// waitBuckets are the classic buckets of waiting times. They range from one second to a week.
var waitBuckets = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 24 * 3600,
	3 * 24 * 3600, 7 * 24 * 3600}

// nativeBucketFactor is the highest ratio of the bounds of a native bucket. client_golang uses the next
// lower power of 2 with a whole number of buckets for each doubling: 2^(1/8), or 1.09 (schema 3).
const nativeBucketFactor = 1.1

// maxNativeBuckets is how many native buckets a histogram fills at most, apart from the bucket for zero. Waits are
// whole seconds, and waits of up to 48 days (2^22 s) fill 159 buckets. When a longer wait exceeds the maximum,
// client_golang merges pairs of buckets, to the ratio 2^(1/4).
//
// A histogram takes 2 KiB when it is empty, 6 KiB with 20 buckets and 36 KiB with all, and up to 4 KiB more in the
// served page. maxOwners bounds the histograms of accounts and QOS, including the rest, to 2 * 1001, or 80 MiB if each
// of them fills every bucket. JobHistory has two for each partition.
const maxNativeBuckets = 160

// newWaitHistogram returns histograms of waiting times in seconds, with classic and native buckets. They have no
// NativeHistogramMinResetDuration. With it, client_golang would also reset the classic buckets, the count and the sum,
// which text shows, and lose the waits since the last scrape.
func newWaitHistogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: waitBuckets,
		NativeHistogramBucketFactor:    nativeBucketFactor,
		NativeHistogramMaxBucketNumber: maxNativeBuckets,
	}, labels)
}

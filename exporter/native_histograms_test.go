package exporter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/slurmtide/slurmtide/exporter/exposition"
)

func TestWaitingTimesAreNativeHistogramsInProtobuf(t *testing.T) {
	native := map[string]uint64{} // waits by family
	e := exporterWithStarts(t, allCollectorsConfig())
	for _, f := range scrapeProtobuf(t, e.Metrics(exposition.Native), "/metrics") {
		for _, m := range f.GetMetric() {
			h := m.GetHistogram()
			if h == nil || h.Schema == nil {
				continue
			}
			if h.GetSchema() != 3 || len(h.GetBucket()) == 0 {
				t.Errorf("%s has the schema %d and %d classic buckets", f.GetName(), h.GetSchema(), len(h.GetBucket()))
			}
			if n := nativeCount(h); n != h.GetSampleCount() {
				t.Errorf("%s has %d observations in native buckets, want %d", f.GetName(), n, h.GetSampleCount())
			}
			native[f.GetName()] += h.GetSampleCount()
		}
	}
	want := map[string]uint64{"slurm_job_eligible_wait_seconds": 2, "slurm_job_start_wait_seconds": 2,
		"slurm_account_job_start_wait_seconds": 2, "slurm_qos_job_start_wait_seconds": 2}
	if diff := cmp.Diff(want, native); diff != "" {
		t.Errorf("waits in native histograms differ (-want +got):\n%s", diff)
	}
}

// nativeCount returns the number of observations in the native buckets of a histogram.
func nativeCount(h *dto.Histogram) uint64 {
	n, inBucket := h.GetZeroCount(), int64(0)
	for _, delta := range h.GetPositiveDelta() {
		inBucket += delta
		n += uint64(inBucket)
	}
	return n
}

//go:build e2e

package look

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// waits is the histogram of waiting times. A quantile of all partitions is compared.
const waits = "slurm_job_start_wait_seconds"

// quantiles are the compared quantiles.
var quantiles = []string{"0.5", "0.9", "0.99"}

// TestNativeHistogramsAgreeWithClassicOnes scrapes an exporter of a simulated cluster by two servers: one takes native histograms, the
// other one text.
func TestNativeHistogramsAgreeWithClassicOnes(t *testing.T) {
	dir := t.TempDir()
	address := process.FreeAddress(t)
	process.Start(t, buildProgram(t, dir, "slurm-exporter"), "--web.listen-address="+address, "--slurm.simulate", "--native-histograms")
	process.Await(t, func() error { return process.CheckOK("http://" + address + "/-/ready") })
	targets := []scrapeTarget{{"slurm-exporter", address, "/metrics", ""}}
	native := startPrometheus(t, filepath.Join(dir, "native"), targets, "--enable-feature=native-histograms")
	classic := startPrometheus(t, filepath.Join(dir, "classic"), targets)

	process.Await(t, func() error { return compareHistograms(native, classic) })
	if _, err := native.readNumber(waits + "_count"); err == nil {
		t.Error("the server that takes native histograms has classic ones, too, so nothing shows which ones were compared")
	}
}

// compareHistograms returns an error unless both servers have the same number of jobs, and each native quantile is in the classic
// quantile's bucket.
func compareHistograms(native, classic *prometheus) error {
	count, err := native.readNumber("histogram_count(sum(" + waits + "))")
	if err != nil {
		return fmt.Errorf("no native histogram: %w", err)
	}
	if same, err := classic.readNumber("sum(" + waits + "_count)"); err != nil || same != count || count == 0 {
		return fmt.Errorf("%v jobs in the native histogram, %v in the classic one: %w", count, same, err)
	}
	for _, q := range quantiles {
		exact, err := native.readNumber("histogram_quantile(" + q + ", sum(" + waits + "))")
		if err != nil {
			return err
		}
		rough, err := classic.readNumber("histogram_quantile(" + q + ", sum by (le) (" + waits + "_bucket))")
		if err != nil {
			return err
		}
		low, high, err := classic.findBucket(rough)
		if err != nil {
			return err
		}
		// A native bucket is 9 % wide, and may extend across the bound of a classic one.
		if exact < low/1.1 || exact > high*1.1 {
			return fmt.Errorf("quantile %s is %v in the native histogram, and between %v and %v in the classic one", q, exact, low, high)
		}
	}
	return nil
}

// findBucket returns the bounds of the classic bucket that contains a waiting time.
func (p *prometheus) findBucket(seconds float64) (low, high float64, err error) {
	samples, err := p.runQuery("sort(count by (le) (" + waits + "_bucket))")
	if err != nil {
		return 0, 0, err
	}
	high = -1
	for _, s := range samples {
		bound, err := strconv.ParseFloat(strings.TrimPrefix(s.Metric["le"], "+"), 64)
		switch {
		case err != nil:
			return 0, 0, err
		case bound < seconds && bound > low:
			low = bound
		case bound >= seconds && (high < 0 || bound < high):
			high = bound
		}
	}
	return low, high, nil
}

// readNumber returns the only value of a query.
func (p *prometheus) readNumber(expr string) (float64, error) {
	samples, err := p.runQuery(expr)
	if err != nil {
		return 0, err
	}
	if len(samples) != 1 {
		return 0, fmt.Errorf("%s has %d values, want 1", expr, len(samples))
	}
	return strconv.ParseFloat(fmt.Sprint(samples[0].Value[1]), 64)
}

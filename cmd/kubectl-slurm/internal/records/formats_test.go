package records

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestFormatTime(t *testing.T) {
	for seconds, want := range map[time.Duration]string{
		0: "0:00", 9: "0:09", 59: "0:59", 60: "1:00", 3599: "59:59", 3600: "1:00:00", 3723: "1:02:03", 86400: "1-00:00:00",
		93784: "1-02:03:04", 864000: "10-00:00:00", -1: "INVALID",
	} {
		if got := FormatTime(seconds * time.Second); got != want {
			t.Errorf("FormatTime(%d s) = %q, want %q", seconds, got, want)
		}
	}
}

func TestFormatLimit(t *testing.T) {
	for _, tc := range []struct {
		minutes slurm.Number
		want    string
	}{
		{slurm.Infinite(), "infinite"}, {slurm.Number{}, "n/a"}, {slurm.Num(30), "30:00"}, {slurm.Num(60), "1:00:00"},
		{slurm.Num(1440), "1-00:00:00"},
	} {
		if got := FormatLimit(tc.minutes); got != tc.want {
			t.Errorf("FormatLimit(%v) = %q, want %q", tc.minutes, got, tc.want)
		}
	}
}

func TestFormatCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 512: "512", 1000: "1000", 1024: "1K", 1025: "1025", 1536: "1.50K", 2048: "2K", 1 << 20: "1M",
	} {
		if got := FormatCount(n); got != want {
			t.Errorf("FormatCount(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFormatDate(t *testing.T) {
	at := slurm.At(time.Date(2026, 11, 30, 21, 29, 14, 0, time.UTC))
	if got := FormatDate(at, time.FixedZone("", 3600)); got != "2026-11-30T22:29:14" {
		t.Errorf("it is %q", got)
	}
	if got := FormatDate(0, time.UTC); got != "N/A" {
		t.Errorf("an unset time is %q", got)
	}
}

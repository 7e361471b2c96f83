package slurmconf

import (
	"math"
	"testing"
)

// TestNumbers: "scontrol show config" shows the value that slurmctld has read.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "10": 10, "+10": 10, "2k": 2048, "2K": 2048, "02000": 1024, "0x800": 2048, "0X10k": 16384,
		"infinite": math.MaxUint32, "UNLIMITED": math.MaxUint32} {
		if got, ok := ParseNumber(text); !ok || got != want {
			t.Errorf("%q is %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "1kk", "08", "0x", "0b1", "1_000", "2M", "1.5", "many", "18446744073709551615k", "99999999999999999999"} {
		if got, ok := ParseNumber(text); ok {
			t.Errorf("%q is the number %d", text, got)
		}
	}
}

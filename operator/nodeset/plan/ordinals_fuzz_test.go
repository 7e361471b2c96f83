package plan

import (
	"math"
	"slices"
	"testing"
)

// FuzzOrdinals reads any text as ordinals: their number is limited, each is within the bounds, and they are
// the same after they are written and read again.
func FuzzOrdinals(f *testing.F) {
	for _, text := range []string{"0-2,5", "3-1", "x,1", "-1", "0-99999999999", "0-9,0-9,0-9,5,5",
		"9223372036854775807", "0-9223372036854775807"} {
		f.Add(text, 100)
		f.Add(text, math.MaxInt32)
	}
	f.Fuzz(func(t *testing.T, text string, end int) {
		end = max(0, min(end, math.MaxInt32))
		got := parseOrdinals(text, end)
		if len(got) > maxOrdinals {
			t.Fatalf("%q is %d ordinals", text, len(got))
		}
		if len(got) > 10_000 {
			return // the rest takes too long
		}
		sorted := slices.Sorted(slices.Values(got))
		if len(sorted) > 0 && (sorted[0] < 0 || sorted[len(sorted)-1] >= end) {
			t.Errorf("%q is %v, and the end is %d", text, got, end)
		}
		if again := parseOrdinals(formatOrdinals(got), end); !slices.Equal(again, sorted) {
			t.Errorf("%q is %v, which is written %q", text, got, formatOrdinals(got))
		}
	})
}

package saturating

import (
	"math"
	"testing"
)

func TestResultsThatDoNotFitAreTheNearestUint64(t *testing.T) {
	for _, tc := range []struct {
		name      string
		got, want uint64
	}{
		{"a sum", Add(3, 4), 7},
		{"the largest sum", Add(math.MaxUint64-1, 1), math.MaxUint64},
		{"a sum just too large", Add(math.MaxUint64, 1), math.MaxUint64},
		{"a difference", Sub(7, 3), 4},
		{"nothing is left", Sub(3, 3), 0},
		{"a difference below 0", Sub(3, 7), 0},
		{"a product", Mul(6, 7), 42},
		{"a product with 0", Mul(math.MaxUint64, 0), 0},
		{"the largest product", Mul(math.MaxUint64, 1), math.MaxUint64},
		{"a product just too large", Mul(1<<32, 1<<32), math.MaxUint64},
	} {
		if tc.got != tc.want {
			t.Errorf("%s is %d, want %d", tc.name, tc.got, tc.want)
		}
	}
}

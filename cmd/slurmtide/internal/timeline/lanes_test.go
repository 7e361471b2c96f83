package timeline

import "testing"

func TestCompareNumbered(t *testing.T) {
	for _, tc := range []struct {
		name, a, b string
		want       int
	}{
		{"equal names", "cpu-1", "cpu-1", 0},
		{"numbers of equal length", "cpu-1", "cpu-2", -1},
		{"numbers of different lengths", "cpu-10", "cpu-9", 1},
		{"prefixes of equal length", "cpu-10", "gpu-2", -1},
		{"prefixes of different lengths", "cpu-large-1", "gpu-10", -1},
		{"a prefix of another prefix", "cpu-10", "cpu-a-2", -1},
		{"a name without a number", "cpu-", "cpu-0", -1},
		{"two names without a number", "login", "ctld", 1},
		{"leading zeros", "cpu-002", "cpu-10", -1},
		{"one number written in two ways", "cpu-02", "cpu-2", -1},
		{"a number beyond 64 bits", "cpu-99999999999999999999", "cpu-100000000000000000000", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := CompareNumbered(tc.a, tc.b); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if got := CompareNumbered(tc.b, tc.a); got != -tc.want {
				t.Errorf("the other way round: got %d, want %d", got, -tc.want)
			}
		})
	}
}

package slurmclient

import "testing"

// TestMaxAnswerBytes: some 20,000 associations need 80 MiB, and the charts limit the memory to 1 GiB.
func TestMaxAnswerBytes(t *testing.T) {
	for limit, want := range map[int64]int64{1 << 62: 256 << 20, 1 << 30: 256 << 20, 256 << 20: 64 << 20} {
		if got := maxAnswerBytes(limit); got != want {
			t.Errorf("with %d MiB the limit is %d MiB, not %d", limit>>20, got>>20, want>>20)
		}
	}
}

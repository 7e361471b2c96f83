package wire

import "testing"

func TestOversubscribeJobs(t *testing.T) {
	for shown, want := range map[string]uint32{
		"": 0, "NO": 0, "EXCLUSIVE": 0, "FORCE:2": 2, "YES:4": 4, "FORCE:1": 1, "FORCE:": 0, "YES:many": 0,
		"YES:99999999999": 0,
	} {
		if got := oversubscribeJobs(shown); got != want {
			t.Errorf("%q: %d jobs, want %d", shown, got, want)
		}
	}
}

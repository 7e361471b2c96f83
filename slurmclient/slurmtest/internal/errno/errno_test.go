package errno_test

import (
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
)

func TestText(t *testing.T) {
	for number, want := range map[int]string{
		0: "No error", 2017: "Invalid job id specified", errno.InvalidFlag: "Data parser unable to parse invalid flag",
		4711: "Unknown error 4711",
	} {
		if got := errno.Text(number); got != want {
			t.Errorf("Text(%d) = %q, want %q", number, got, want)
		}
	}
}

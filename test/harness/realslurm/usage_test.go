package realslurm

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	page := int64(os.Getpagesize())
	tests := []struct {
		name, line string
		want       resourceUsage
		wantError  string
	}{
		{
			name: "the time of the process and of its waited-for children is summed",
			line: "7 (slurmrestd) S 1 7 7 0 -1 4194560 900 0 0 0 150 50 30 20 20 0 8 0 99 1000 250 18446744073709551615 1",
			want: resourceUsage{cpu: 2500 * time.Millisecond, rss: 250 * page},
		},
		{
			name: "the program's name may contain parentheses and spaces",
			line: "7 (a) S 1 (b) S 1 7 7 0 -1 4194560 900 0 0 0 1 0 0 0 20 0 8 0 99 1000 3 18446744073709551615 1",
			want: resourceUsage{cpu: 10 * time.Millisecond, rss: 3 * page},
		},
		{name: "a truncated line is an error", line: "7 (slurmrestd) S 1 7", wantError: "too few fields"},
		{
			name:      "a time that is not a number is an error",
			line:      "7 (x) S 1 7 7 0 -1 4194560 900 0 0 0 x 50 30 20 20 0 8 0 99 1000 250 1 1",
			wantError: "invalid syntax",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseStat(test.line)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(resourceUsage{})); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if message := errorText(err); !strings.Contains(message, test.wantError) ||
				(err != nil) != (test.wantError != "") {
				t.Errorf("error = %q, want one with %q", message, test.wantError)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

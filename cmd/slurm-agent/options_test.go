package main

import (
	"strings"
	"testing"
)

func TestInvalidFlags(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"--check=/a --install=/b", "exclude each other"},
		{"--interval=0s", "--interval must be above 0"},
		{"--trial-timeout=-1s", "--trial-timeout must be above 0"},
		{"--apply-timeout=0s", "--apply-timeout must be above 0"},
		{"--daemon=munged", "--daemon must be slurmctld, slurmdbd, slurmd, sackd or slurmrestd"},
		{"--daemon=slurmrestd --check=/a", "--check is not for slurmrestd"},
		{"huh", "huh"},
	} {
		if _, err := parseFlags(strings.Fields(tc.args)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("of %s the error is %v", tc.args, err)
		}
	}
}

func TestWhatCannotBeDoneEndsWithOne(t *testing.T) {
	for _, args := range []string{"--check=/nonexistent", "--install=/nonexistent",
		"--listen-address=nonsense", "--daemon=slurmrestd --listen-address=nonsense",
		"--daemon=slurmrestd --tls-address=nonsense"} {
		if code := run(t.Context(), strings.Fields(args)); code != 1 {
			t.Errorf("%s ends with %d", args, code)
		}
	}
}

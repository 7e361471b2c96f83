package daemon

import (
	"os"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func TestStandby(t *testing.T) {
	const pair = "Slurmctld(primary) at ctld-0 is %0\nSlurmctld(backup) at ctld-1 is %1\n"
	const trio = "Slurmctld(primary) at ctld-0 is %0\nSlurmctld(backup1) at ctld-1 is %1\nSlurmctld(backup2) at ctld-2 is %2\n"
	for _, tc := range []struct {
		name, ping, up, host string
		standby, answers     bool
	}{
		{"the only one", "Slurmctld(primary) at ctld-0 is %0\n", "0", "ctld-0", false, true},
		{"the only one, by another name", "Slurmctld(primary) at ctld-0 is %0\n", "0", "node", false, true},
		{"the only one, which is down", "Slurmctld(primary) at ctld-0 is %0\n", "", "ctld-0", false, false},
		{"the primary", pair, "01", "ctld-0", false, true},
		{"the backup", pair, "01", "ctld-1", true, true},
		{"a backup that starts", pair, "0", "ctld-1", true, false},
		{"a backup that has taken over", pair, "1", "ctld-1", false, true},
		{"a primary that starts", pair, "1", "ctld-0", false, false},
		{"the second backup of a backup", trio, "12", "ctld-2", true, true},
		{"the second backup, which is active", trio, "2", "ctld-2", false, true},
		{"a host of which Slurm does not know", pair, "01", "node", false, false},
		{"nothing is said", "", "", "ctld-1", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ping := tc.ping
			for _, i := range []string{"0", "1", "2"} {
				state := "DOWN"
				if strings.Contains(tc.up, i) {
					state = "UP"
				}
				ping = strings.ReplaceAll(ping, "%"+i, state)
			}
			if got := isStandby(ping, tc.host); got != tc.standby {
				t.Errorf("in standby: %t", got)
			}
			if got := hasAnswered(ping, tc.host); got != tc.answers {
				t.Errorf("answers: %t", got)
			}
		})
	}
}

// TestASlurmctldInStandbyIsStartedAgain: scontrol would reach the active one, and this one would keep its keys.
func TestASlurmctldInStandbyIsStartedAgain(t *testing.T) {
	s, ended := startSlurmctld(t, obedient)
	s.Host = "ctl2"
	script := "#!/bin/sh\n[ $1 = ping ] || exit 1\necho 'Slurmctld(primary) at ctl is UP'\necho 'Slurmctld(backup) at ctl2 is UP'\n"
	if err := os.WriteFile(s.Scontrol, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); err != nil {
		t.Fatal(err)
	}
	<-ended
}

package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestAReconfigureThatScontrolDoesNotWaitFor: scontrol gives up after MessageTimeout, and slurmctld may execute itself nevertheless.
func TestAReconfigureThatScontrolDoesNotWaitFor(t *testing.T) {
	for name, tc := range map[string]struct {
		after    string // a line of shell
		isUnsure bool
	}{
		"slurmctld executes itself":         {"echo 2030-01-01T00:05:00 >%[1]s/boot", false},
		"slurmctld serves as before":        {"", true},
		"slurmctld does not say since when": {"rm %[1]s/boot", true},
		"slurmctld does not answer":         {"touch %[1]s/silent", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, ended := startSlurmctld(t, obedient)
			programs := partition.Programs{Scontrol: s.Scontrol}
			s.Gate = gate.Gate{Programs: programs, File: filepath.Join(s.Live, "closed"), Log: s.Log,
				Conf: partition.ConfStates{Programs: programs, Live: s.Live, File: filepath.Join(s.Live, "states")}}
			script := fmt.Sprintf(`#!/bin/sh
case $1 in
reconfigure) `+tc.after+`
  echo "slurm_reconfigure error: Socket timed out on send/recv operation" >&2; exit 1 ;;
show) echo "BOOT_TIME               = $(cat %[1]s/boot)" ;;
ping) [ -e %[1]s/silent ] || echo "Slurmctld(primary) at ctl is UP" ;;
esac
`, s.Live)
			for path, text := range map[string]string{s.Scontrol: script, filepath.Join(s.Live, "boot"): "2030-01-01T00:00:00",
				filepath.Join(s.Live, "sdiag"): "#!/bin/sh\n", filepath.Join(s.Live, "squeue"): "#!/bin/sh\n"} {
				if err := process.WriteProgram(path, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			err := s.Apply(t.Context(), slurmconf.NeedsReconfigure)
			var unsure *configagent.UnsureError
			if errors.As(err, &unsure) != tc.isUnsure || !tc.isUnsure && err != nil {
				t.Errorf("the error is %v", err)
			}
			select {
			case <-ended:
				t.Error("slurmctld was ended")
			case <-time.After(100 * time.Millisecond):
			}
		})
	}
}

//go:build e2e

package config

import (
	"net"
	"strings"
	"testing"
)

// undoScript starts a slurmctld again whenever it ends, as the kubelet does. Its argument is a port that a process has.
const undoScript = `flags=(--apply-timeout=10s) undone='*"applied":"A"*"error"*'
kill $(cat /inst/run/slurmctld.pid)
(while [ ! -e $D/stop ]; do (as slurmctld -D) >>$D/ctld.log 2>&1; sleep 0.5; done) &
for i in $(seq 100); do
  job=$(sbatch --parsable --mem=1 -o /dev/null --chdir=/ --wrap 'sleep 600' 2>/dev/null) && break; sleep 0.1
done
start; isApplied A
want port "SlurmctldPort=$1
"; await "$undone" "a taken port is undone"; scontrol ping
want A ''; isApplied A
want plugin "JobCompType=jobcomp/nothing
"; await "$undone" "a missing plugin is undone or refused"; scontrol ping
kill -9 $agent; wait $agent 2>/dev/null; start; await "$undone" "the next agent knows it"
want A ''; isApplied A
scontrol ping; squeue --noheader --format='job %i %T' --jobs=$job
touch $D/stop; kill $agent $(cat /inst/run/slurmctld.pid); wait
`

// TestAChangeThatFailsIsUndone: the trial accepts it, slurmctld ends with it, and runs with what was in force before. The
// administrator goes back, and an agent that is killed in between changes nothing.
func TestAChangeThatFailsIsUndone(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, release string, tr trial) {
		taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close() //nolint:errcheck // it was only held
		_, port, _ := net.SplitHostPort(taken.Addr().String())
		out := runBesideAgent(t, tr, undoScript, port)
		if strings.Contains(out, "NEVER") || strings.Contains(out, "REFUSED") || strings.Count(out, " is UP") != 3 ||
			!strings.Contains(out, "RUNNING") || !strings.Contains(out, `"stateRelease":"`+release+`"`) {
			t.Errorf("%s: the change is not undone", release)
		}
	})
}

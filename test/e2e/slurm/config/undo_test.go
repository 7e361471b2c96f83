//go:build e2e

package config

import (
	"net"
	"strings"
	"testing"
)

// restartScript restarts slurmctld whenever it ends, as the kubelet does, until the file stop exists. It also submits a job that takes some
// seconds.
const restartScript = `kill $(cat /inst/run/slurmctld.pid)
(while [ ! -e $D/stop ]; do (as slurmctld -D) >>$D/ctld.log 2>&1; sleep 0.5; done) &
submit() {
  for i in $(seq 100); do
    job=$(sbatch --parsable --mem=1 -o /dev/null --chdir=/ --wrap "sleep $1" 2>/dev/null) && break; sleep 0.1
  done
}
end() { touch $D/stop; kill $agent $(cat /inst/run/slurmctld.pid); wait; }
`

// undoScript follows restartScript. Its argument is a port that another process uses.
const undoScript = `flags=(--apply-timeout=10s) undone='*"applied":"A"*"error"*'
submit 600; start; isApplied A
want port "SlurmctldPort=$1
"; await "$undone" "a taken port is undone"; scontrol ping
want A ''; isApplied A
want plugin "JobCompType=jobcomp/nothing
"; await "$undone" "a missing plugin is undone or refused"; scontrol ping
kill -9 $agent; wait $agent 2>/dev/null; start; await "$undone" "the next agent knows it"
want A ''; isApplied A
scontrol ping; squeue --noheader --format='job %i %T' --jobs=$job
end
`

// TestAChangeThatFailsIsUndone: the trial accepts a change, but slurmctld ends with it, and then runs with the former configuration. The
// administrator reverts the change. An agent that is killed in between changes nothing.
func TestAChangeThatFailsIsUndone(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, release string, tr trial) {
		taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close() //nolint:errcheck // it was only held
		_, port, _ := net.SplitHostPort(taken.Addr().String())
		out := runBesideAgent(t, tr, restartScript+undoScript, port)
		if strings.Contains(out, "NEVER") || strings.Contains(out, "REFUSED") || strings.Count(out, " is UP") != 3 ||
			!strings.Contains(out, "RUNNING") || !strings.Contains(out, `"stateRelease":"`+release+`"`) {
			t.Errorf("%s: the change is not undone", release)
		}
	})
}

// handOutScript follows restartScript. Its argument is a free port.
const handOutScript = `submit 10; start; isApplied A
for i in $(seq 100); do [[ $(squeue --noheader --format=%T --jobs=$job) == RUNNING ]] && break; sleep 0.1; done
want port "SlurmctldPort=$1
"; isApplied port
for i in $(seq 300); do
  s=$(scontrol show job $job --oneliner 2>&1)
  [[ $s != *JobState=COMPLETED* || $s != *Restarts=0* ]] || { echo "the job has ended after $((i/10)) s"; break; }
  sleep 0.1
done
echo "$s"
end
`

// TestWhatARestartAppliesIsHandedOut: slurmctld listens on another port after its restart, where the node reports its job.
func TestWhatARestartAppliesIsHandedOut(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, release string, tr trial) {
		free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(free.Addr().String())
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
		out := runBesideAgent(t, tr, restartScript+handOutScript, port)
		if strings.Contains(out, "NEVER") || strings.Contains(out, "REFUSED") || !strings.Contains(out, "the job has ended") {
			t.Errorf("%s: the node does not know where slurmctld is", release)
		}
	})
}

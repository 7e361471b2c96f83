//go:build e2e

package config

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// undoScript starts slurm-agent beside a slurmctld that is started again whenever it ends, as the kubelet does. Its
// arguments are a free port for the agent, and one that a process has.
const undoScript = `set -u
D=/inst/scratch/undo port=$1 taken=$2
mkdir -p $D/wanted $D/accepted $D/tmp; cp -a /etc/slurm/. $D/wanted/; cp $D/wanted/slurm.conf $D/A; chown -R slurm $D
as() { exec setpriv --reuid slurm --regid slurm --init-groups "$@"; }
start() {
  (as $D/slurm-agent --wanted=$D/wanted --live=/etc/slurm --accepted=$D/accepted --state=/inst/spool/slurmctld \
    --temp-dir=$D/tmp --pid-file=/inst/run/slurmctld.pid --listen-address=127.0.0.1:$port --apply-timeout=10s) \
    >>$D/agent.log 2>&1 & agent=$!
}
status() { exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET /status HTTP/1.0\r\n\r\n' >&3; tail -n1 <&3; exec 3>&-; }
await() {
  for i in $(seq 600); do
    s=$(status 2>/dev/null)
    case $s in $1) echo "$2 after $((i/10)) s: $s"; return;; esac
    sleep 0.1
  done
  echo "NEVER $2: $s"; tail -20 $D/agent.log $D/ctld.log
}
want() { cp $D/A $D/wanted/.new; printf '%s' "$2" >>$D/wanted/.new; mv $D/wanted/.new $D/wanted/slurm.conf
  printf %s "$1" >$D/wanted/slurmtide.revision; }
isA='*"wanted":"A","applied":"A","appliedAt":*[0-9]Z","stateRelease"*' undone='*"applied":"A"*"error"*'

kill $(cat /inst/run/slurmctld.pid)
(while [ ! -e $D/stop ]; do (as slurmctld -D) >>$D/ctld.log 2>&1; sleep 0.5; done) &
for i in $(seq 100); do
  job=$(sbatch --parsable --mem=1 -o /dev/null --chdir=/ --wrap 'sleep 600' 2>/dev/null) && break; sleep 0.1
done
want A ''; start; await "$isA" "A is in force"
want port "SlurmctldPort=$taken
"; await "$undone" "a taken port is undone"; scontrol ping
want A ''; await "$isA" "A is in force again"
want plugin "JobCompType=jobcomp/nothing
"; await "$undone" "a missing plugin is undone or refused"; scontrol ping
kill -9 $agent; wait $agent 2>/dev/null; start; await "$undone" "the next agent knows it"
want A ''; await "$isA" "A is in force after all"
scontrol ping; squeue --noheader --format='job %i %T' --jobs=$job
touch $D/stop; kill $agent $(cat /inst/run/slurmctld.pid); wait
`

// TestAChangeThatFailsIsUndone: the trial accepts it, slurmctld ends with it, and runs with what was in force before. The
// administrator goes back, and an agent that is killed in between changes nothing.
func TestAChangeThatFailsIsUndone(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, release string, tr trial) {
		dir := filepath.Join(tr.cluster.Dir, "scratch", "undo")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := process.Build(t.Context(), dir, "slurm-agent"); err != nil {
			t.Fatal(err)
		}
		taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close() //nolint:errcheck // it was only held
		_, port, _ := net.SplitHostPort(taken.Addr().String())
		out, err := tr.cluster.Run(t.Context(), "", "bash", "-c", undoScript, "undo", strconv.Itoa(int(tr.port)), port)
		t.Log(out)
		if err != nil || strings.Contains(out, "NEVER") || strings.Count(out, " is UP") != 3 ||
			!strings.Contains(out, "RUNNING") || !strings.Contains(out, `"stateRelease":"`+release+`"`) {
			t.Errorf("on %s: %v", release, err)
		}
	})
}

//go:build e2e

package config

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// agentScript contains functions for scripts with slurm-agent beside the slurmctld of a cluster. They start the agent, set the wanted
// revision, and await a status. A is the slurm.conf of the cluster. The script's argument is a free port for the agent.
const agentScript = `set -u
D=/inst/scratch/program port=$1 flags=() wanted=; shift
mkdir -p $D/wanted $D/accepted $D/tmp; cp -a /etc/slurm/. $D/wanted/; cp $D/wanted/slurm.conf $D/A; chown -R slurm $D
as() { exec setpriv --reuid slurm --regid slurm --init-groups "$@"; }
start() {
  (as $D/slurm-agent --wanted=$D/wanted --live=/etc/slurm --accepted=$D/accepted --state=/inst/spool/slurmctld \
    --temp-dir=$D/tmp --pid-file=/inst/run/slurmctld.pid --listen-address=127.0.0.1:$port "${flags[@]}") \
    >>$D/agent.log 2>&1 & agent=$!
}
status() { exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET /status HTTP/1.0\r\n\r\n' >&3; tail -n1 <&3; exec 3>&-; }
await() {
  for i in $(seq 1800); do
    s=$(status 2>/dev/null)
    [[ $s != $1 ]] || { echo "$2 after $((i/10)) s: $s"; return; }
    [[ $s != *'"wanted":"'$wanted'"'*'"error"'* || $s == *retryAt* ]] || { echo "REFUSED, not $2: $s"; return; }
    sleep 0.1
  done
  echo "NEVER $2: $s"; tail -20 $D/agent.log $D/ctld.log 2>/dev/null
}
want() { cp $D/A $D/wanted/.new; printf '%s' "$2" >>$D/wanted/.new; mv $D/wanted/.new $D/wanted/slurm.conf
  wanted=$1; printf %s "$1" >$D/wanted/slurmtide.revision; }
isApplied() { await '*"wanted":"'$1'","applied":"'$1'","appliedAt":*[0-9]Z","gresTypes":*"stateRelease"*' "$1 is in force"; }
isRetried() { await '*"wanted":"'$1'","applied":"A"*"error"*"retryAt"*' "$1 is tried again"; }
want A ''
`

// runBesideAgent runs a script that begins with agentScript, in its own mount namespace, and returns its output.
func runBesideAgent(t *testing.T, tr trial, script string, args ...string) string {
	t.Helper()
	dir := filepath.Join(tr.cluster.Dir, "scratch", "program")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Build(t.Context(), dir, "slurm-agent"); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"unshare", "-m", "bash", "-c", agentScript + script, "agent", strconv.Itoa(int(tr.port))}, args...)
	out, err := tr.cluster.Run(t.Context(), "", argv...)
	t.Log(out)
	if err != nil {
		t.Error(err)
	}
	return out
}

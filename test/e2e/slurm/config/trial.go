package config

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// trial starts a daemon with its own configuration beside the daemons of a cluster.
type trial struct {
	cluster *realslurm.Cluster
	port    int32
}

// newTrial returns a trial on a free port.
func newTrial(ctx context.Context, cluster *realslurm.Cluster) (trial, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return trial{}, err
	}
	address, _ := listener.Addr().(*net.TCPAddr)
	return trial{cluster, int32(address.Port)}, listener.Close()
}

// startScript starts a daemon in a folder with the cluster's keys and waits until it serves or has ended. It then runs
// a command, and prints the output of both. Its arguments are the daemon, the words in its log that mean it serves, and
// the command.
const startScript = `set -u
daemon=$1 serves=$2; shift 2
cp -a /etc/slurm/*.key /inst/scratch/trial/
chown -R slurm /inst/scratch/trial
mount --bind /inst/scratch/trial /etc/slurm
mount -t tmpfs -o mode=777 tmpfs /var/spool
log=/inst/scratch/trial.log; : >$log
setpriv --reuid slurm --regid slurm --init-groups "$daemon" -D >$log 2>&1 & pid=$!
for i in $(seq 150); do
  if ! kill -0 $pid 2>/dev/null || grep -q "$serves" $log; then break; fi
  sleep 0.2
done
if grep -q "$serves" $log; then timeout 20 "$@" 2>&1; fi
kill $pid 2>/dev/null; wait $pid
cat $log
`

// run writes the files, by name, starts the daemon with them and returns the output of the daemon and the command.
func (tr trial) run(ctx context.Context, files map[string]string, daemon, serves string, command ...string) (string, error) {
	dir := filepath.Join(tr.cluster.Dir, "scratch", "trial")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// slurm-agent adds a key set, which the configuration names (package configagent).
	err := os.WriteFile(filepath.Join(dir, slurmconf.JWKSFile), []byte(`{"keys":[]}`), 0o600)
	if err != nil {
		return "", err
	}
	for name, text := range files {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			return "", err
		}
	}
	out, err := tr.cluster.Run(ctx, "", append([]string{"unshare", "-m", "bash", "-c", startScript, "trial", daemon, serves},
		command...)...)
	if err != nil && strings.TrimSpace(out) == "" {
		return "", fmt.Errorf("starting %s: %w", daemon, err)
	}
	return out, nil
}

//go:build e2e

package config

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// realSlurmctld is a slurmctld with /etc/slurm/slurm.conf. It keeps its state.
type realSlurmctld struct {
	port  int
	cmd   *exec.Cmd
	ended chan struct{}
	log   string
}

// start ends the running slurmctld and starts one with a slurm.conf. It returns an error with the reason if slurmctld does not serve.
func (r *realSlurmctld) start(ctx context.Context, conf string) error {
	r.kill()
	if err := writeConf(conf); err != nil {
		return err
	}
	if err := os.MkdirAll(slurmconf.StateDir, 0o700); err != nil {
		return err
	}
	r.log = filepath.Join(os.TempDir(), "slurmctld.log")
	log, err := os.Create(r.log)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // slurmctld writes it
	r.cmd = exec.CommandContext(ctx, "slurmctld", "-D")
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	r.ended = make(chan struct{})
	cmd, ended := r.cmd, r.ended
	go func() {
		_ = cmd.Wait() // the log contains the reason
		close(ended)
	}()
	return r.awaitServing(0)
}

// reconfigure makes the running slurmctld read a slurm.conf, as scontrol reconfigure does.
func (r *realSlurmctld) reconfigure(_ context.Context, conf string) error {
	if err := writeConf(conf); err != nil {
		return err
	}
	mark := len(r.said())
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return r.awaitServing(mark)
}

// describeEnd returns the last lines of a slurmctld that has ended, and "" for a running one.
func (r *realSlurmctld) describeEnd() string {
	select {
	case <-r.ended:
		return fmt.Sprintf("slurmctld ended (%s): %s", r.cmd.ProcessState, lastLines(r.said()))
	default:
		return ""
	}
}

// kill ends slurmctld, which keeps its state as of its last save.
func (r *realSlurmctld) kill() {
	if r.cmd == nil {
		return
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-r.ended
	r.cmd = nil
}

func (r *realSlurmctld) removeState() {
	r.kill()
	_ = os.RemoveAll(slurmconf.StateDir)
}

func (r *realSlurmctld) said() string {
	content, _ := os.ReadFile(r.log)
	return string(content)
}

// How long slurmctld may take to serve, how long a silent one may take, and how long it must keep running.
const (
	servingTimeout = 30 * time.Second
	silentDelay    = 3 * time.Second
	settleDelay    = 150 * time.Millisecond
)

// awaitServing waits until slurmctld logs after a mark that it serves, or accepts connections without such a log line.
func (r *realSlurmctld) awaitServing(mark int) error {
	begin := time.Now()
	for {
		said := r.said()[mark:]
		listens := time.Since(begin) > silentDelay && r.listens()
		if listens || strings.Contains(said, "Running as primary controller") {
			select {
			case <-r.ended:
			case <-time.After(settleDelay):
				return nil
			}
		}
		if why := r.describeEnd(); why != "" {
			return errors.New(why)
		}
		time.Sleep(20 * time.Millisecond)
		if time.Since(begin) > servingTimeout {
			return fmt.Errorf("slurmctld does not serve: %s", lastLines(said))
		}
	}
}

func (r *realSlurmctld) listens() bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", r.port), time.Second)
	return err == nil && conn.Close() == nil
}

// lastLines returns the last errors of a log.
func lastLines(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "error:") || strings.Contains(line, "fatal:") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out[max(0, len(out)-4):], "; ")
}

// writeConf replaces slurm.conf in one step.
func writeConf(conf string) error {
	file := filepath.Join(slurmconf.Dir, "slurm.conf")
	return errors.Join(os.WriteFile(file+".new", []byte(conf), 0o644), os.Rename(file+".new", file))
}

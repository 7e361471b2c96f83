package configagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// RefusedError reports that the daemon would not start with a configuration: the daemon refused it, or the files show it. If
// a trial cannot finish, such as on a full disk, the error is another one, and the files are tried again.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Checker runs trials.
type Checker struct {
	// Daemon is the daemon whose configuration is checked, and Program its program.
	Daemon  trial.Daemon
	Program string
	// Scontrol is the program that parses slurm.conf unchanged before the trial, which replaces some of its options. It is
	// empty if the image has no scontrol.
	Scontrol string
	// TempDir is where trials keep their files. Keys are among them.
	TempDir string
	// Timeout is how long the daemon may take to start. slurmctld waits a minute for an included file that
	// does not exist.
	Timeout time.Duration
}

// Check runs a daemon with the files until it has read them or ends, and stops it. The error is *RefusedError if the files
// cause it, and another error if no trial was possible. It blocks up to the timeout for each trial, and once more.
func (c Checker) Check(ctx context.Context, files Files) (err error) {
	defer func() { err = files.hideSecrets(err) }()
	readable := files.texts(func(name string) bool { return name == c.Daemon.Conf || !IsKey(name) })
	if err := c.Daemon.CheckFiles(readable); err != nil {
		return &RefusedError{err.Error()}
	}
	if err := checkScripts(files); err != nil {
		return &RefusedError{err.Error()}
	}
	if err := files.checkKeySet(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.TempDir, "trial-")
	if err != nil {
		return fmt.Errorf("making a folder for a trial: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	settings, err := newSettings(ctx, dir)
	if err != nil {
		return err
	}
	etc := filepath.Join(dir, "etc")
	if err := c.parse(ctx, etc, files, readable); err != nil {
		return err
	}
	for _, next := range c.Daemon.Trials(readable, settings) {
		if err := files.writeTrial(etc, next.Confs); err != nil {
			return err
		}
		verdict, reason, err := c.run(ctx, dir, settings)
		reason = strings.ReplaceAll(reason, etc+"/", slurmconf.Dir+"/")
		switch {
		case err != nil:
			return err
		case verdict == trial.Impeded:
			return fmt.Errorf("%s could not be tried: %s", c.Daemon.Name, reason)
		case verdict != trial.Accepted:
			return &RefusedError{trial.Locate(next.Checked, readable[next.Checked], reason)}
		}
	}
	return nil
}

// newSettings returns the settings of a trial on a free port.
func newSettings(ctx context.Context, dir string) (trial.Settings, error) {
	host, err := os.Hostname()
	if err != nil {
		return trial.Settings{}, fmt.Errorf("finding the name of this host: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return trial.Settings{}, fmt.Errorf("finding a free port: %w", err)
	}
	address, _ := listener.Addr().(*net.TCPAddr)
	host, _, _ = strings.Cut(host, ".")
	return trial.Settings{Dir: dir, Host: host, Port: address.Port}, listener.Close()
}

// run starts the daemon and returns the reading of its log when the daemon serves, ends, or the time is over.
func (c Checker) run(ctx context.Context, dir string, settings trial.Settings) (trial.Verdict, string, error) {
	state := filepath.Join(dir, "state")
	if err := errors.Join(os.RemoveAll(state), os.Mkdir(state, 0o700)); err != nil {
		return trial.Undecided, "", fmt.Errorf("making a folder for a trial: %w", err)
	}
	log := &syncBuffer{}
	slurmConf := filepath.Join(dir, "etc", "slurm.conf")
	cmd := exec.CommandContext(ctx, c.Program, c.Daemon.Arguments(slurmConf)...) //nolint:gosec // see Checker
	// slurmdbd has no such argument, and looks for its files in the folder of this one.
	cmd.Env = append(os.Environ(), "SLURM_CONF="+slurmConf)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end the children as well
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return trial.Undecided, "", fmt.Errorf("starting a trial: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log has the reason
		close(ended)
	}()
	defer func() {
		_ = cmd.Cancel() // its state is thrown away, and it may have ended
		<-ended
	}()
	verdict, reason, err := c.awaitVerdict(ctx, cmd, log, ended)
	if verdict == trial.Accepted && c.Daemon.Serves {
		c.awaitService(ctx, settings, ended)
		verdict, reason = c.Daemon.ReadLog(log.String())
	}
	return verdict, reason, errors.Join(err, ctx.Err())
}

// awaitVerdict waits until the log of a daemon has a verdict, and returns an error if the daemon has ended or taken too long
// without.
func (c Checker) awaitVerdict(ctx context.Context, cmd *exec.Cmd, log *syncBuffer, ended <-chan struct{}) (
	trial.Verdict, string, error) {
	timeout, tick := time.After(c.Timeout), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		verdict, reason := c.Daemon.ReadLog(log.String())
		if verdict != trial.Undecided {
			return verdict, reason, nil
		}
		select {
		case <-ctx.Done():
			return trial.Undecided, "", ctx.Err()
		case <-ended:
			if verdict, reason := c.Daemon.ReadLog(log.String()); verdict != trial.Undecided {
				return verdict, reason, nil
			}
			return trial.Undecided, "", fmt.Errorf("the trial of %s ended without a verdict (%s): %s", c.Daemon.Name,
				cmd.ProcessState, c.Daemon.Explain(log.String()))
		case <-timeout:
			return trial.Undecided, "", fmt.Errorf("%s does not start within %s: %s", c.Daemon.Name, c.Timeout,
				c.Daemon.Explain(log.String()))
		case <-tick.C:
		}
	}
}

// syncBuffer is a buffer for concurrent use.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Slurmctld is the running slurmctld.
type Slurmctld struct {
	// Scontrol is the program, PidFile the file with the process id of slurmctld, and Host its name in slurm.conf.
	Scontrol, PidFile, Host string
	// Live is the folder of slurm.conf. State is the folder of StateSaveLocation.
	Live, State string
	// Gate keeps jobs from starting while slurmctld executes itself again.
	Gate gate.Gate
	// Timeout is how long slurmctld may take to answer again.
	Timeout time.Duration
	// InStandby remembers that the slurmctld which was ended last was in standby. nil remembers nothing.
	InStandby *atomic.Bool
	// FirstSaved remembers when slurmctld was last made to save its first state, in seconds since 1970. nil remembers nothing.
	FirstSaved *atomic.Int64
	// Log gets a message about each slurmctld that had to be ended.
	Log *slog.Logger
}

// killDelay is the time that slurmctld gets to end after SIGTERM. A hung slurmctld does not end; a slow one saves its state first.
const killDelay = 30 * time.Second

// slurmdbdDelay is the time that a change waits for slurmdbd, which restarts within seconds unless it is down.
const slurmdbdDelay = 10 * time.Second

// Apply makes slurmctld read its configuration again, and returns when it answers. For a restart it ends
// slurmctld, which Kubernetes starts again.
//
// scontrol reaches only the active slurmctld, and waits while it executes itself again. A standby would take over with the keys from
// its start, so it is restarted instead, which interrupts nothing. If this slurmctld does not answer while another one does, the agent
// waits for it, then ends it.
//
// On a reconfigure slurmctld saves its state and executes itself again. If it does not answer after that, it is ended, as sometimes
// happens with 24.11 when it registers with slurmdbd. Nothing is lost, since it has answered nothing. That was seen while slurmdbd was
// away, so Apply waits for slurmdbd before, no longer than slurmdbdDelay. No job starts meanwhile.
//
// configagent.ErrNotHandedOut reports that slurmctld was started again instead of a reconfigure.
func (s Slurmctld) Apply(ctx context.Context, effect slurmconf.Effect) error {
	switch effect {
	case slurmconf.NoEffect:
		return nil
	case slurmconf.NeedsReconfigure:
		return s.reconfigure(ctx)
	case slurmconf.NeedsRestart:
		if !s.IsRunning() {
			return errNotRunning
		}
		serves := s.CheckServes(ctx) == nil
		if serves { // in standby it starts no jobs
			defer s.closeGate(ctx)()
		}
		s.noteStandby(!serves)
		if err := s.end(ctx, s.Timeout); err != nil {
			return err
		}
	}
	return s.awaitAnswer(ctx)
}

// errNotRunning is the error for a slurmctld that reads its files when it starts.
var errNotRunning = &configagent.StartingError{Message: "slurmctld does not run and reads its files when it starts"}

// reconfigure makes slurmctld read its configuration again without a restart, if possible. It returns nil if a reconfigure of this
// very slurmctld has ended, and configagent.ErrNotHandedOut if it was started again instead and answers.
func (s Slurmctld) reconfigure(ctx context.Context) error {
	ping := s.ping(ctx)
	switch {
	case areOnlyOthersUp(ping, s.Host) && !isStandby(ping, s.Host): // it takes the control back when it has started
		if !s.IsRunning() {
			return errNotRunning
		}
		if err := s.awaitAnswer(ctx); err != nil {
			return s.endHanging(ctx, err)
		}
	case s.isServedByAnother(ping):
		s.noteStandby(true)
		if !s.IsRunning() {
			return errNotRunning
		}
		return s.startAgain(ctx)
	}
	s.noteStandby(false)
	s.awaitSlurmdbd(ctx)
	defer s.closeGate(ctx)()
	before, _ := readPid("slurmctld", s.PidFile)
	started := s.startTime(ctx)
	refused := s.run(ctx, "reconfigure")
	if refused != nil && !s.IsRunning() {
		return errNotRunning
	}
	err := s.awaitAnswer(ctx)
	switch {
	case refused != nil && (err != nil || !s.hasStartedSince(ctx, started)):
		return &configagent.UnsureError{Err: refused} // it may read them yet
	case err != nil:
		return s.endHanging(ctx, err)
	}
	// In the foreground it keeps its process id. scontrol exits with 0 also if it ends.
	if after, err := readPid("slurmctld", s.PidFile); err == nil && after != before {
		return configagent.ErrNotHandedOut
	}
	return nil
}

// startTime returns when slurmctld started or executed itself, or zero if unknown.
func (s Slurmctld) startTime(ctx context.Context) time.Time {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	at, err := s.Gate.Programs.StartTime(ctx)
	if err != nil {
		return time.Time{}
	}
	return at
}

// hasStartedSince reports whether slurmctld has executed itself since an earlier startTime. If so, it has read its configuration, even
// if scontrol gave up after MessageTimeout.
func (s Slurmctld) hasStartedSince(ctx context.Context, earlier time.Time) bool {
	now := s.startTime(ctx)
	return !earlier.IsZero() && !now.IsZero() && !now.Equal(earlier)
}

// endHanging ends a running slurmctld if the error of awaitAnswer reports no answer, and returns any other error.
func (s Slurmctld) endHanging(ctx context.Context, err error) error {
	var starting *configagent.StartingError
	if !errors.As(err, &starting) {
		return err
	}
	s.Log.Error("slurmctld hangs and is ended", "err", err)
	s.noteStandby(false)
	return s.startAgain(ctx)
}

// noteStandby remembers whether the slurmctld that is ended is in standby.
func (s Slurmctld) noteStandby(is bool) {
	if s.InStandby != nil {
		s.InStandby.Store(is)
	}
}

// startDelay is how long slurmctld may take to run again after it was ended. Kubernetes waits up to five minutes before it restarts a
// container that ended several times, as a standby does in each step of a rotation. Meanwhile another slurmctld serves.
func (s Slurmctld) startDelay() time.Duration {
	if s.InStandby != nil && s.InStandby.Load() {
		return standbyStartDelay
	}
	return s.Timeout
}

const standbyStartDelay = 6 * time.Minute

// startAgain ends slurmctld, and returns configagent.ErrNotHandedOut when the next one answers.
func (s Slurmctld) startAgain(ctx context.Context) error {
	if err := s.end(ctx, killDelay); err != nil {
		return err
	}
	if err := s.awaitAnswer(ctx); err != nil {
		return err
	}
	return configagent.ErrNotHandedOut
}

// questionTimeout is how long slurmctld may take to answer one question.
const questionTimeout = 10 * time.Second

// Confirm returns nil if slurmctld answers after it received its configuration at the given time. *configagent.StartingError reports
// that slurmctld runs but does not answer, as during the recovery of a large state, or had no time to start. Any other error reports
// that it does not run, or ends at each start.
func (s Slurmctld) Confirm(ctx context.Context, given time.Time) error {
	limited, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.askForAnswer(limited)
	switch {
	case err == nil:
		s.noteStandby(false)
		s.saveFirstState(ctx)
		return nil
	case !s.IsRunning() && time.Since(given) > s.startDelay():
		return err
	}
	return &configagent.StartingError{Message: err.Error()}
}

// HandOut makes slurmctld send its configuration to slurmds, slurmrestds and sackds by a reconfigure: slurmctld sends it only then.
// Before that, slurmds report to the old port and address, and finished jobs stay RUNNING (measured, docs/development/slurm.md, "What
// configless hands out"). configagent.ErrStandby reports that another slurmctld would get the request.
func (s Slurmctld) HandOut(ctx context.Context) error {
	if err := s.CheckServes(ctx); err != nil {
		return err
	}
	return s.reconfigure(ctx)
}

// CheckServes returns configagent.ErrStandby if another slurmctld serves.
func (s Slurmctld) CheckServes(ctx context.Context) error {
	if ping := s.ping(ctx); s.isServedByAnother(ping) || areOnlyOthersUp(ping, s.Host) {
		return configagent.ErrStandby
	}
	return nil
}

// IsStandby reports whether another slurmctld serves. This one may not run.
func (s Slurmctld) IsStandby(ctx context.Context) bool {
	return s.isServedByAnother(s.ping(ctx))
}

// isServedByAnother reports whether another slurmctld serves, by a ping and the last heartbeat. While this slurmctld does not run,
// scontrol has no socket to authenticate with and prints nothing; then a fresh heartbeat decides.
func (s Slurmctld) isServedByAnother(ping string) bool {
	now := time.Now()
	heartbeat := func(age time.Duration) int { return lastHeartbeat(s.State, now, age) }
	if pingLine.MatchString(ping) {
		return isServedByAnother(ping, s.Host, heartbeat)
	}
	return isHeartbeatOfAnother(heartbeat(freshHeartbeatAge), slurmctldHosts(s.Live), s.Host)
}

const firstStateInterval = 10 * time.Minute

// saveFirstState makes a slurmctld that never saved the usage of its associations save all of its state, by a reconfigure. 26.05 does
// not start if only that file is missing from the state, so a slurmctld killed before would never start again
// (docs/development/slurm.md, "A killed slurmctld"). It retries after firstStateInterval: on a full volume a reconfigure does not help.
func (s Slurmctld) saveFirstState(ctx context.Context) {
	_, err := os.Stat(filepath.Join(s.State, "assoc_usage"))
	if s.State == "" || !errors.Is(err, fs.ErrNotExist) || !hasSlurmdbd(s.Live) || s.IsStandby(ctx) {
		return
	}
	if s.FirstSaved != nil {
		if time.Since(time.Unix(s.FirstSaved.Load(), 0)).Abs() < firstStateInterval {
			return
		}
		s.FirstSaved.Store(time.Now().Unix())
	}
	if err := s.reconfigure(ctx); err != nil {
		s.Log.Warn("slurmctld has not saved its first state: if it is killed within minutes, it may not start again", "err", err)
	}
}

// IsRunning reports whether a slurmctld runs.
func (s Slurmctld) IsRunning() bool {
	pid, err := readPid("slurmctld", s.PidFile)
	return err == nil && isAlive(pid)
}

// openDelay limits the time to open the gate once the agent ends.
const openDelay = 10 * time.Second

// closeGate keeps jobs from starting until the returned function is called. A gate that does not close is only logged: the
// change is made nevertheless.
func (s Slurmctld) closeGate(ctx context.Context) (open func()) {
	stop := s.Gate.KeepClosed(ctx)
	if err := s.Gate.Close(ctx); err != nil {
		s.Log.Warn("jobs may start while slurmctld executes itself again", "err", err)
	}
	return func() {
		defer stop()
		ctx, cancel := outlive(ctx, openDelay)
		defer cancel()
		if err := s.Gate.Open(ctx); err != nil {
			s.Log.Error("partitions are still DOWN for a reconfigure", "err", err)
		}
	}
}

// outlive returns a context that ends a delay after its parent.
func outlive(parent context.Context, delay time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(delay, cancel) })
	return ctx, func() { stop(); cancel() }
}

// end ends slurmctld, which Kubernetes starts again, with SIGKILL if SIGTERM has not ended it after a delay.
func (s Slurmctld) end(ctx context.Context, delay time.Duration) error {
	pid, err := readPid("slurmctld", s.PidFile)
	if err != nil {
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending slurmctld (process %d): %w", pid, err)
		}
		for begin := time.Now(); time.Since(begin) < delay; {
			if !isAlive(pid) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return fmt.Errorf("slurmctld (process %d) does not end", pid)
}

// awaitSlurmdbd waits until slurmdbd, if configured, accepts connections or the time is over.
func (s Slurmctld) awaitSlurmdbd(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, slurmdbdDelay)
	defer cancel()
	for !reachesSlurmdbd(ctx, s.Live) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// maxDead is the number of slurmctlds that may end, counting the first one with the new files, before one answers.
const maxDead = 3

// awaitAnswer waits until slurmctld answers. *configagent.StartingError reports that it runs and has not answered in time,
// any other error that it does not run or ends whenever it starts.
func (s Slurmctld) awaitAnswer(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	dead := map[int]bool{}
	for {
		err := s.askForAnswer(limited)
		if err == nil {
			return nil
		}
		pid, readErr := readPid("slurmctld", s.PidFile)
		runs := readErr == nil && isAlive(pid)
		if readErr == nil && !runs {
			dead[pid] = true
		}
		if len(dead) >= maxDead {
			return fmt.Errorf("slurmctld ends when it starts: %w", err)
		}
		select {
		case <-limited.Done():
			err = fmt.Errorf("slurmctld does not answer %s after it was given the configuration: %w", s.Timeout, err)
			if ctx.Err() == nil && (runs || s.startDelay() > s.Timeout) {
				return &configagent.StartingError{Message: err.Error()}
			}
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// askForAnswer returns nil if the slurmctld of this host answers. Otherwise the output of scontrol is the error.
func (s Slurmctld) askForAnswer(ctx context.Context) error {
	out, err := s.scontrol(ctx, "ping").CombinedOutput()
	if hasAnswered(string(out), s.Host) {
		return nil
	}
	return fmt.Errorf("scontrol ping: %s", cmp.Or(strings.Join(strings.Fields(string(out)), " "), fmt.Sprint(err)))
}

// pingTimeout is the time limit of scontrol ping. It asks one slurmctld after the other, each for MessageTimeout, which is 10 s by
// default and may be minutes, and prints only at its end. The limit must leave time for an answer of the serving slurmctld beside two
// hung standbys. Several pings and questions must come within inuse.silenceGap.
const pingTimeout = 25 * time.Second

// ping returns scontrol's lines about all slurmctlds, or an empty string if it does not end within pingTimeout. scontrol ping also
// fails if one slurmctld is down.
func (s Slurmctld) ping(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	out, _ := s.scontrol(ctx, "ping").Output()
	if ctx.Err() != nil {
		return "" // the slurmctlds that it has not named may be up
	}
	return string(out)
}

// run runs scontrol. Its output is the error.
func (s Slurmctld) run(ctx context.Context, command string) error {
	out, err := s.scontrol(ctx, command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("scontrol %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// scontrol returns a command of scontrol.
func (s Slurmctld) scontrol(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Scontrol, command) //nolint:gosec // see Slurmctld
	cmd.Env = slurmconf.CommandEnvironment(os.Environ())
	return cmd
}

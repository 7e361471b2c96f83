package configagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Status is what the agent has done. It contains no secret.
type Status struct {
	// Wanted is the revision of the files that the agent has last seen, Applied that of the files that
	// the daemon has. Both are empty if there is none.
	Wanted  string `json:"wanted"`
	Applied string `json:"applied"`
	// Keys is the key set of auth/slurm that the daemon has, by the ids of the keys (slurmconf.KeySetFile). It is
	// empty for a slurm.key.
	Keys string `json:"keys,omitempty"`
	// JWTKeys are the keys of auth/jwt that the daemon has, by their ids (slurmconf.JWTKeysFile). It is empty for those of
	// users.
	JWTKeys string `json:"jwtKeys,omitempty"`
	// Sessions is how many connections users have to the pod. It is nil where there are none to count, and where
	// they cannot be counted.
	Sessions *int `json:"sessions,omitempty"`
	// AppliedAt is when the daemon got them.
	AppliedAt time.Time `json:"appliedAt,omitzero"`
	// Error says why Wanted is not applied. It is empty while the agent works on it.
	Error string `json:"error,omitempty"`
	// Held says what Wanted waits for although the daemon would start with it, nil if it does not wait.
	Held *Held `json:"held,omitempty"`
	// Accounts is what the agent beside slurmdbd has done with accounts, nil if there are none.
	Accounts *AccountsStatus `json:"accounts,omitempty"`
}

// Config contains the settings of an agent. All but Hold, Accounts and CountSessions are required.
type Config struct {
	// Daemon is the daemon beside which the agent runs.
	Daemon Daemon
	// Wanted is the folder with what is wanted, Live the directory of slurm.conf, Accepted a folder that
	// outlives the pod, for the files that were accepted last.
	Wanted, Live, Accepted string
	// Interval is how often the agent looks at the wanted folder.
	Interval time.Duration
	// Check returns nil if the daemon would start with the files, and *RefusedError if not.
	Check func(context.Context, Files) error
	// Hold returns *HeldError if checked files must wait before they replace those in force, and any other error if that
	// cannot be decided. Nothing has been written yet. It is called again every few seconds as long as it returns an
	// error. Before the daemon has started, inForce are the files that were accepted last, without keys; the daemon
	// then starts with them, so Hold must return *HeldError where only a running daemon could answer. It is not called
	// if nothing was ever in force. It is nil if nothing has to wait.
	Hold func(ctx context.Context, inForce, wanted Files) error
	// BeforeStart returns an error if the daemon must not start yet. It is called until the daemon may.
	BeforeStart func(context.Context) error
	// Apply makes the running daemon read the live folder.
	Apply func(context.Context, slurmconf.Effect) error
	// Accounts applies accounts beside slurmdbd.
	Accounts *AccountsAgent
	// CountSessions returns how many connections users have to the pod. It is nil if there are none to count.
	CountSessions func() (int, error)
	Log           *slog.Logger
	Now           func() time.Time
}

// Agent applies configuration. New returns one.
type Agent struct {
	cfg Config

	mu      sync.Mutex
	status  Status
	started bool

	// decided are the wanted files that were applied or refused last, applied those that the daemon has.
	decided, applied Files
	// checked are the files that Check has accepted last.
	checked Files
	// inherited says that applied was found at the start, so that the daemon may not have read it.
	inherited bool
	retryAt   time.Time
}

// retryDelay is how long the agent waits after an error that is not the fault of the files.
const retryDelay = 5 * time.Second

// New returns an agent. If the live folder has a configuration, the daemon is running with it, or with
// an earlier one.
func New(cfg Config) *Agent {
	a := &Agent{cfg: cfg}
	if files, err := ReadFiles(cfg.Live); err == nil && files.text(cfg.Daemon.Conf) != "" {
		a.applied, a.started, a.inherited = files, true, true // which keys it has is not known
	}
	return a
}

// Status returns what the agent has done, and counts the sessions of now.
func (a *Agent) Status() Status {
	a.mu.Lock()
	out := a.status
	a.mu.Unlock()
	if a.cfg.Accounts != nil {
		out.Accounts = a.cfg.Accounts.Status()
	}
	if a.cfg.CountSessions == nil {
		return out
	}
	if sessions, err := a.cfg.CountSessions(); err != nil {
		a.cfg.Log.Error("the sessions of users are not known", "err", err)
	} else {
		out.Sessions = &sessions
	}
	return out
}

// HasStarted reports whether the daemon has a configuration, with which it can start.
func (a *Agent) HasStarted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.started
}

// Run applies configuration and accounts until the context ends.
func (a *Agent) Run(ctx context.Context) error {
	var accounts sync.WaitGroup
	if a.cfg.Accounts != nil {
		accounts.Go(func() { a.cfg.Accounts.Run(ctx) })
	}
	defer accounts.Wait()
	tick := time.NewTicker(a.cfg.Interval)
	defer tick.Stop()
	for {
		a.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look applies the wanted files if they are others than at the last attempt.
func (a *Agent) look(ctx context.Context) {
	wanted, err := ReadFiles(a.cfg.Wanted)
	if err != nil {
		a.fail("", fmt.Errorf("reading the wanted files: %w", err))
		return
	}
	if a.decided != nil && wanted.Equal(a.decided) || a.cfg.Now().Before(a.retryAt) {
		return
	}
	revision := wanted.text(slurmconf.RevisionFile)
	a.setWanted(revision)
	if !a.HasStarted() {
		err = a.cfg.BeforeStart(ctx)
	}
	if err == nil {
		err = a.apply(ctx, wanted, revision)
	}
	var refused *RefusedError
	var held *HeldError
	switch {
	case errors.As(err, &held):
		a.retryAt = a.cfg.Now().Add(retryDelay)
		a.setHeld(revision, held)
		a.startWithAccepted(wanted)
	case err == nil:
		a.decided = wanted
		a.cfg.Log.Info("configuration is in force", "revision", revision)
	case errors.As(err, &refused):
		a.decided = wanted // the same files would be refused again
		a.fail(revision, err)
		a.startWithAccepted(wanted)
	case ctx.Err() == nil:
		a.retryAt = a.cfg.Now().Add(retryDelay)
		a.fail(revision, err)
	}
}

// apply checks the wanted files, puts them in the live folder, and makes the daemon read them.
func (a *Agent) apply(ctx context.Context, wanted Files, revision string) error {
	files, err := a.cfg.Daemon.Assemble(wanted)
	if err != nil {
		return err
	}
	if a.checked == nil || !files.Equal(a.checked) {
		if err := a.cfg.Check(ctx, files); err != nil {
			return err
		}
		a.checked = files
	}
	if err := a.hold(ctx, files); err != nil {
		return err
	}
	kept := files
	if !a.cfg.Daemon.KeepsKeys {
		kept = files.withoutKeys()
	}
	if err := errors.Join(WriteFiles(a.cfg.Live, files), WriteFiles(a.cfg.Accepted, kept)); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	if a.HasStarted() {
		effect := a.cfg.Daemon.effectOf(a.applied, files)
		if a.inherited {
			effect = max(effect, slurmconf.NeedsReconfigure)
		}
		if err := a.cfg.Apply(ctx, effect); err != nil {
			return err
		}
	}
	a.applied, a.inherited = files, false
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = true
	a.status = Status{Wanted: revision, Applied: revision, Keys: files.keySet(), JWTKeys: files.jwtKeys(),
		AppliedAt: a.cfg.Now()}
	return nil
}

// effectOf returns what the daemon needs to read changed files.
func (d Daemon) effectOf(before, after Files) slurmconf.Effect {
	effect := d.Compare(before.text(d.Conf), after.text(d.Conf))
	a, b := Files{}, Files{}
	for name, file := range before {
		if name != d.Conf && name != slurmconf.RevisionFile {
			a[name] = file
		}
	}
	for name, file := range after {
		if name != d.Conf && name != slurmconf.RevisionFile {
			b[name] = file
		}
	}
	if !a.Equal(b) {
		effect = max(effect, d.KeyEffect)
	}
	return effect
}

// startWithAccepted lets a daemon that has not started yet start with the files that were accepted
// last, and with the keys of now.
func (a *Agent) startWithAccepted(wanted Files) {
	if a.HasStarted() {
		return
	}
	files, err := ReadFiles(a.cfg.Accepted)
	if err != nil || files.text(a.cfg.Daemon.Conf) == "" {
		return // there is none
	}
	if assembled, err := a.cfg.Daemon.Assemble(wanted); err == nil {
		wanted = assembled
	}
	for name, file := range wanted {
		if (IsKey(name) || isOfKeys(name)) && name != a.cfg.Daemon.Conf {
			files[name] = file
		}
	}
	if err := WriteFiles(a.cfg.Live, files); err != nil {
		a.cfg.Log.Error("writing the configuration that was accepted last", "err", err)
		return
	}
	a.applied = files
	revision := files.text(slurmconf.RevisionFile)
	a.cfg.Log.Warn("the daemon starts with the configuration that was accepted last", "revision", revision)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = true
	a.status.Applied, a.status.AppliedAt = revision, a.cfg.Now()
	a.status.Keys, a.status.JWTKeys = files.keySet(), files.jwtKeys()
}

// isOfKeys reports whether a file belongs to the keys although it is no secret.
func isOfKeys(name string) bool {
	return name == slurmconf.KeySetFile || name == slurmconf.JWTKeysFile || name == slurmconf.JWKSFile
}

// setWanted notes that the agent works on a revision.
func (a *Agent) setWanted(revision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status.Wanted != revision {
		a.status.Held = nil
	}
	a.status.Wanted, a.status.Error = revision, ""
}

// fail notes why a revision is not applied.
func (a *Agent) fail(revision string, err error) {
	a.mu.Lock()
	changed := a.status.Error != err.Error()
	a.status.Error, a.status.Held = err.Error(), nil
	a.mu.Unlock()
	if changed {
		a.cfg.Log.Error("configuration is not applied", "revision", revision, "err", err)
	}
}

// Install copies a file, the running program, into a folder, from which other containers run it.
func Install(program, dir string) error {
	content, err := os.ReadFile(program) //nolint:gosec // it is the running program
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, filepath.Base(program)), File{content, 0o755})
}

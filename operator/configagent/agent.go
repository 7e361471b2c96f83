package configagent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Config contains the settings of an agent. All but Hold, Confirm, HandOut, CheckServes,
// Accounts, CountSessions and StateRelease are required.
type Config struct {
	// Daemon is the daemon that the agent configures.
	Daemon Daemon
	// Wanted is the folder with the wanted files. Live is the directory of slurm.conf. Accepted is a folder that outlives the pod and
	// keeps the files accepted last.
	Wanted, Live, Accepted string
	// Interval is the interval of reads of the wanted folder.
	Interval time.Duration
	// Check returns nil if the daemon would start with the files, and *RefusedError if not.
	Check func(context.Context, Files) error
	// Hold returns *HeldError if checked files must wait before they replace the files in force, and any other error if that cannot be
	// decided. Nothing has been written yet. It is called again every few seconds as long as it returns an error. Before the daemon has
	// started, inForce are the files accepted last, without keys. The daemon then starts with them, so Hold must return *HeldError
	// where only a running daemon could answer. It is not called if nothing was ever in force. Before HandOut, inForce are the files
	// handed out last, without keys, and wanted the daemon's files. It is nil if nothing has to wait.
	Hold func(ctx context.Context, inForce, wanted Files) error
	// BeforeStart returns an error if the daemon must not start yet. It is called until the daemon may.
	BeforeStart func(context.Context) error
	// Apply makes the running daemon read the live folder and returns nil when it has. After a reconfigure it has handed the
	// files out as well. ErrNotHandedOut reports that the daemon was started again instead, *StartingError that it is still
	// reading the folder, and any other error that it has failed.
	Apply func(context.Context, slurmconf.Effect) error
	// Confirm returns nil if the daemon has read the files that it received at the given time. It returns *StartingError if the daemon
	// may still be reading them, and any other error if it failed. It returns within seconds. If Confirm is nil, a daemon that starts
	// has its files at once.
	Confirm func(ctx context.Context, given time.Time) error
	// HandOut passes the configuration that the daemon started with to the users of that configuration. It is called once the daemon
	// has started with different files and Hold allows it, and again after an error. ErrStandby reports that another daemon has to do
	// it while this one does not serve. It is nil if the daemon hands out no files.
	HandOut func(context.Context) error
	// CheckServes returns ErrStandby while HandOut would, so that Hold is not asked in vain, which may drain partitions. It may be nil.
	CheckServes func(context.Context) error
	// IsStandby reports whether another daemon of the same state serves, even if this one does not run: jobs depend on the serving
	// daemon's files. It may be nil.
	IsStandby func(context.Context) bool
	// Accounts applies accounts beside slurmdbd.
	Accounts *AccountsAgent
	// CountSessions returns the number of user connections to the pod. It is nil if the pod has no users.
	CountSessions func() (int, error)
	// StateRelease returns the release that wrote the state of slurmctld. It is nil for other daemons.
	StateRelease func() string
	Log          *slog.Logger
	Now          func() time.Time
}

// Agent applies configuration. New returns one.
type Agent struct {
	cfg   Config
	write fileWriter

	// mu guards the fields below. Only look changes them; calls of look never overlap.
	mu      sync.Mutex
	inForce inForce
	last    attempt
	handOut handOut
	// started reports whether the live folder is complete, so that the daemon can start.
	started bool
	// mayServeSince is when the daemon received inForce.Given, or when this agent found that an earlier agent had given them. It is set
	// as long as the daemon may serve with them. It is zero once they are in force, or the daemon cannot serve with them.
	mayServeSince time.Time
	// restoreHeld is the reason that was logged last why the files in force are not restored.
	restoreHeld string
	// brought is the revision that the kubelet has brought.
	brought string
	// follows reports whether the daemon was in standby at the last check, see followServing.
	follows bool
	// keepsKeySet reports whether the daemon keeps a key set that is no longer wanted.
	keepsKeySet bool
}

// New returns an agent. If the live folder has a configuration, the daemon runs with it, or with an earlier one.
func New(cfg Config) *Agent {
	a := &Agent{cfg: cfg, write: newFileWriter()}
	a.inForce, a.started = loadInForce(cfg.Live, cfg.Daemon.Conf)
	if a.started && a.inForce.Given != nil {
		a.mayServeSince = cfg.Now()
	}
	return a
}

// HasStarted reports whether the daemon has a configuration to start with.
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

// Install copies the running program into a folder, where other containers run it.
func Install(program, dir string) error {
	content, err := os.ReadFile(program) //nolint:gosec // it is the running program
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, filepath.Base(program)), File{content, 0o755})
}

package configagent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/accounts"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// AccountsState is the progress of an AccountsAgent with its accounts.
type AccountsState string

const (
	// AccountsWaiting means that slurmdbd is not ready yet.
	AccountsWaiting AccountsState = "Waiting"
	// AccountsApplied means that the database has the accounts.
	AccountsApplied AccountsState = "Applied"
	// AccountsTried means that a dry run listed the changes.
	AccountsTried AccountsState = "Tried"
	// AccountsRefused means that the accounts cannot be applied without a change.
	AccountsRefused AccountsState = "Refused"
)

// AccountsStatus is the last result of an AccountsAgent.
type AccountsStatus struct {
	// Revision is the revision of the accounts (slurmconf.Accounts).
	Revision string        `json:"revision"`
	State    AccountsState `json:"state"`
	// Message lists what changed or would change, or gives the reason why the accounts are not applied.
	Message string `json:"message,omitempty"`
	// At is when the state began.
	At time.Time `json:"at"`
}

// AccountsConfig contains the settings of an AccountsAgent. All are required.
type AccountsConfig struct {
	// Wanted is the folder with slurmconf.AccountsFile. Accepted is a folder that outlives the container, for the
	// status.
	Wanted, Accepted string
	// Interval is the interval of reads of the wanted folder.
	Interval time.Duration
	// Load brings accounts into the database (accounts.Loader).
	Load func(context.Context, slurmconf.Accounts) (string, error)
	Log  *slog.Logger
	Now  func() time.Time
}

// AccountsAgent applies accounts. NewAccountsAgent returns one.
type AccountsAgent struct {
	cfg AccountsConfig

	mu      sync.Mutex
	status  *AccountsStatus
	retryAt time.Time
}

const (
	// accountsStatusFile has the revision of the accounts applied last.
	accountsStatusFile = ".accounts-revision"
	// refusedRetryDelay is the pause before refused accounts are tried again: jobs, a QOS or another cluster may
	// have prevented them.
	refusedRetryDelay = time.Minute
	// loadTimeout is how long sacctmgr may take.
	loadTimeout = 10 * time.Minute
)

// NewAccountsAgent returns an agent. After a restart of its container, it does not apply the same accounts again.
func NewAccountsAgent(cfg AccountsConfig) *AccountsAgent {
	a := &AccountsAgent{cfg: cfg}
	path := filepath.Join(cfg.Accepted, accountsStatusFile)
	if revision, err := os.ReadFile(path); err == nil { //nolint:gosec // see AccountsConfig
		a.status = &AccountsStatus{Revision: string(revision), State: AccountsApplied, At: cfg.Now()}
		if info, err := os.Stat(path); err == nil {
			a.status.At = info.ModTime()
		}
	}
	return a
}

// Status returns the last result, or nil without accounts.
func (a *AccountsAgent) Status() *AccountsStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

// Run applies accounts until the context ends.
func (a *AccountsAgent) Run(ctx context.Context) {
	tick := time.NewTicker(a.cfg.Interval)
	defer tick.Stop()
	for {
		a.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look applies the wanted accounts if they differ from the accounts applied last. It retries after a while if
// slurmdbd was not ready or the accounts were refused.
func (a *AccountsAgent) look(ctx context.Context) {
	text, err := os.ReadFile(filepath.Join(a.cfg.Wanted, slurmconf.AccountsFile))
	if errors.Is(err, os.ErrNotExist) {
		a.set(nil)
		return
	}
	if err != nil {
		a.cfg.Log.Error("reading the wanted accounts", "err", err)
		return
	}
	wanted, err := slurmconf.ParseAccounts(string(text))
	if err != nil {
		a.report(AccountsStatus{State: AccountsRefused, Message: err.Error()})
		return
	}
	last := a.Status()
	if last != nil && last.Revision == wanted.Revision {
		isDone := last.State == AccountsApplied || last.State == AccountsTried
		if isDone || a.cfg.Now().Before(a.retryAt) {
			return
		}
	}
	a.load(ctx, wanted)
}

// load brings accounts into the database and notes the result.
func (a *AccountsAgent) load(ctx context.Context, wanted slurmconf.Accounts) {
	limited, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	changes, err := a.cfg.Load(limited, wanted)
	status := AccountsStatus{Revision: wanted.Revision, State: AccountsApplied, Message: changes}
	var refused *accounts.RefusedError
	var waiting *accounts.WaitingError
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &refused):
		status.State, status.Message = AccountsRefused, refused.Reason
		a.retryAt = a.cfg.Now().Add(refusedRetryDelay)
	case err != nil:
		status.State, status.Message = AccountsWaiting, err.Error()
		a.retryAt = a.cfg.Now().Add(retryDelay)
		if errors.As(err, &waiting) && waiting.IsOfCluster { // the files of others are tried again as well
			a.retryAt = a.cfg.Now().Add(refusedRetryDelay)
		}
	case wanted.DryRun:
		status.State = AccountsTried
	}
	a.report(status)
	a.remember(status)
}

// remember keeps the revision of accounts that are applied for the next agent of the pod.
func (a *AccountsAgent) remember(status AccountsStatus) {
	path := filepath.Join(a.cfg.Accepted, accountsStatusFile)
	var err error
	if status.State == AccountsApplied {
		err = os.MkdirAll(a.cfg.Accepted, 0o755) //nolint:gosec // as WriteFiles does
		if err == nil {
			err = writeFile(path, File{[]byte(status.Revision), 0o600})
		}
	} else if err = os.Remove(path); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		a.cfg.Log.Error("keeping the revision of the accounts", "err", err)
	}
}

// report sets the status and logs it if it is another one.
func (a *AccountsAgent) report(status AccountsStatus) {
	last := a.Status()
	if last != nil && last.Revision == status.Revision && last.State == status.State && last.Message == status.Message {
		return
	}
	status.At = a.cfg.Now()
	a.set(&status)
	log := a.cfg.Log.Info
	if status.State == AccountsRefused {
		log = a.cfg.Log.Error
	}
	log("accounts", "revision", status.Revision, "state", status.State, "message", status.Message)
}

func (a *AccountsAgent) set(status *AccountsStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

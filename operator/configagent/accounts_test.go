package configagent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/accounts"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// accountsEnv is an agent with its folders and a clock.
type accountsEnv struct {
	*testing.T
	cfg   AccountsConfig
	agent *AccountsAgent
	now   time.Time
	// loads counts the attempts, and err is how they end.
	loads int
	err   error
}

func newAccountsEnv(t *testing.T) *accountsEnv {
	t.Helper()
	e := &accountsEnv{T: t, now: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}
	load := func(context.Context, slurmconf.Accounts) (string, error) {
		e.loads++
		return "adds accounts a", e.err
	}
	e.cfg = AccountsConfig{Wanted: t.TempDir(), Accepted: filepath.Join(t.TempDir(), "new"), Load: load,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return e.now }}
	e.agent = NewAccountsAgent(e.cfg)
	return e
}

// want makes accounts wanted and lets the agent look.
func (e *accountsEnv) want(accounts slurmconf.Accounts) {
	e.Helper()
	text, err := accounts.Render()
	if err == nil {
		err = os.WriteFile(filepath.Join(e.cfg.Wanted, slurmconf.AccountsFile), []byte(text), 0o600)
	}
	if err != nil {
		e.Fatal(err)
	}
	e.agent.look(e.Context())
}

// check compares the status and the number of attempts.
func (e *accountsEnv) check(step, revision string, state AccountsState, loads int) {
	e.Helper()
	s := e.agent.Status()
	if s == nil || s.Revision != revision || s.State != state || e.loads != loads {
		e.Errorf("%s: after %d attempts the status is %+v", step, e.loads, s)
	}
}

func TestAccountsAreAppliedOnce(t *testing.T) {
	e := newAccountsEnv(t)
	e.agent.look(t.Context())
	if s := e.agent.Status(); s != nil || e.loads > 0 {
		t.Errorf("without accounts the status is %+v", s)
	}
	e.want(slurmconf.Accounts{Revision: "1"})
	e.check("new", "1", AccountsApplied, 1)
	e.agent.look(t.Context())
	e.check("unchanged", "1", AccountsApplied, 1)
	e.agent = NewAccountsAgent(e.cfg)
	e.agent.look(t.Context())
	e.check("after a restart", "1", AccountsApplied, 1)
	e.want(slurmconf.Accounts{Revision: "2", DryRun: true})
	e.check("a dry run", "2", AccountsTried, 2)
	e.agent = NewAccountsAgent(e.cfg)
	e.want(slurmconf.Accounts{Revision: "1"})
	e.check("changed back", "1", AccountsApplied, 3)
	if err := os.Remove(filepath.Join(e.cfg.Wanted, slurmconf.AccountsFile)); err != nil {
		t.Fatal(err)
	}
	e.agent.look(t.Context())
	if s := e.agent.Status(); s != nil {
		t.Errorf("without accounts any more the status is %+v", s)
	}
}

func TestRefusedAccountsAreTriedAgain(t *testing.T) {
	e := newAccountsEnv(t)
	e.err = &accounts.RefusedError{Reason: "line 2"}
	e.want(slurmconf.Accounts{Revision: "1"})
	e.now = e.now.Add(refusedRetryDelay - 1)
	e.agent.look(t.Context())
	e.check("refused", "1", AccountsRefused, 1)
	e.now = e.now.Add(1)
	e.agent.look(t.Context())
	e.check("refused again", "1", AccountsRefused, 2)
	if got := e.agent.Status().Message; got != "line 2" {
		t.Errorf("the message is %q", got)
	}
	e.err = nil
	e.want(slurmconf.Accounts{Revision: "2"})
	e.check("corrected", "2", AccountsApplied, 3)
}

func TestAccountsWaitForSlurmdbd(t *testing.T) {
	e := newAccountsEnv(t)
	for _, err := range []error{&accounts.WaitingError{Reason: "late"}, errors.New("the disk is full")} {
		e.err = err
		e.now, e.loads = e.now.Add(time.Hour), 0
		e.want(slurmconf.Accounts{Revision: "1"})
		e.agent.look(t.Context())
		e.check("too early", "1", AccountsWaiting, 1)
	}
	e.now, e.err = e.now.Add(retryDelay), nil
	e.agent.look(t.Context())
	e.check("there", "1", AccountsApplied, 2)
}

func TestAccountsAreNoPartOfTheConfiguration(t *testing.T) {
	wanted := Files{"slurmdbd.conf": {[]byte("DbdPort=1\n"), 0o600}, slurmconf.StoragePasswordFile: {[]byte("x"), 0o600}}
	before, err := SlurmdbdDaemon().Assemble(wanted)
	if err != nil {
		t.Fatal(err)
	}
	wanted[slurmconf.AccountsFile] = File{[]byte("{}"), 0o600}
	wanted[slurmconf.RevisionFile] = File{[]byte("2"), 0o600}
	after, err := SlurmdbdDaemon().Assemble(wanted)
	if err != nil {
		t.Fatal(err)
	}
	if effect := SlurmdbdDaemon().effectOf(before, after); effect != slurmconf.NoEffect {
		t.Errorf("slurmdbd is disturbed by accounts: %v", effect)
	}
}

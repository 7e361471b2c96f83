package configagent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// env is an agent with its folders. Files with "broken" in their slurm.conf are refused.
type env struct {
	t      *testing.T
	cfg    Config
	agent  *Agent
	now    time.Time
	checks int
	// effects are the effects passed to Apply. Apply returns applyError, always or only for the conf with these words.
	effects     []slurmconf.Effect
	applyError  error
	failingConf string
	// confirmed is the result of Confirm.
	confirmed error
	// handedOut counts the calls of HandOut, which returns handOutError.
	handedOut    int
	handOutError error
	// mustWait is the result of BeforeStart.
	mustWait error
	// held is the error of Hold, always or only for the wanted revision heldRevision. holds are the revisions that it was asked
	// about, as "in force>wanted".
	held         error
	heldRevision string
	holds        []string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	dir := t.TempDir()
	e := &env{t: t, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	e.cfg = Config{
		Daemon: SlurmctldDaemon(),
		Wanted: filepath.Join(dir, "wanted"), Live: filepath.Join(dir, "live"), Accepted: filepath.Join(dir, "accepted"),
		Check: func(_ context.Context, files Files) error {
			e.checks++
			if strings.Contains(files.text("slurm.conf"), "broken") {
				return &RefusedError{"line 1: broken"}
			}
			return nil
		},
		Hold: func(_ context.Context, inForce, wanted Files) error {
			e.holds = append(e.holds, inForce.text(slurmconf.RevisionFile)+">"+wanted.text(slurmconf.RevisionFile))
			if e.heldRevision != "" && wanted.text(slurmconf.RevisionFile) != e.heldRevision {
				return nil
			}
			return e.held
		},
		BeforeStart: func(context.Context) error { return e.mustWait },
		Apply: func(_ context.Context, effect slurmconf.Effect) error {
			e.effects = append(e.effects, effect)
			live, err := os.ReadFile(filepath.Join(e.cfg.Live, "slurm.conf"))
			if err == nil && e.failingConf != "" && !strings.Contains(string(live), e.failingConf) {
				return nil
			}
			return e.applyError
		},
		Confirm: func(context.Context, time.Time) error { return e.confirmed },
		HandOut: func(context.Context) error { e.handedOut++; return e.handOutError },
		Log:     slog.New(slog.DiscardHandler), Now: func() time.Time { return e.now },
	}
	e.agent = New(e.cfg)
	return e
}

// want writes the wanted files and lets the agent look.
func (e *env) want(revision, conf string, more ...string) {
	e.t.Helper()
	files := Files{slurmconf.RevisionFile: {[]byte(revision), 0o555}, "slurm.conf": {[]byte(conf), 0o555},
		"slurm.key": {[]byte("key of " + revision), 0o440}}
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = File{[]byte(more[i+1]), 0o555}
	}
	if err := WriteFiles(e.cfg.Wanted, files); err != nil {
		e.t.Fatal(err)
	}
	e.agent.look(e.t.Context())
}

// check checks the revision that is applied, the error, and slurm.conf in the live folder.
func (e *env) check(applied, problem, conf string) {
	e.t.Helper()
	s := e.agent.Status()
	live, err := os.ReadFile(filepath.Join(e.cfg.Live, "slurm.conf"))
	if err != nil && conf != "" {
		e.t.Fatal(err)
	}
	if s.Applied != applied || s.Error != problem || string(live) != conf {
		e.t.Errorf("the status is %+v, slurm.conf %q", s, live)
	}
}

func TestConfigurationIsAppliedOnceItIsChecked(t *testing.T) {
	e := newEnv(t)
	if e.agent.HasStarted() {
		t.Error("slurmctld could start without a configuration")
	}
	e.want("1", "TreeWidth=1")
	e.check("1", "", "TreeWidth=1")
	if !e.agent.HasStarted() || len(e.effects) > 0 {
		t.Errorf("started: %t, effects %v: a slurmctld that starts reads its files by itself", e.agent.HasStarted(),
			e.effects)
	}
	e.agent.look(t.Context())
	if e.checks != 1 {
		t.Errorf("the same files were checked %d times", e.checks)
	}
	e.want("2", "TreeWidth=2")
	e.want("3", "TreeWidth=2\nSlurmctldPort=1")
	e.want("4", "TreeWidth=2\nSlurmctldPort=1", "gres.conf", "AutoDetect=off")
	e.check("4", "", "TreeWidth=2\nSlurmctldPort=1")
	e.want("5", "GresTypes=nic\nInclude more.conf", "more.conf", "GresTypes=gpu,nic")
	e.check("5", "", "GresTypes=nic\nInclude more.conf")
	if got := e.agent.Status().GresTypes; !slices.Equal(got, []string{"gpu", "nic"}) {
		t.Errorf("the kinds of GRES in force are %q", got)
	}
	e.effects = e.effects[:3]
	want := []slurmconf.Effect{slurmconf.NeedsReconfigure, slurmconf.NeedsRestart, slurmconf.NeedsReconfigure}
	if len(e.effects) != 3 || e.effects[0] != want[0] || e.effects[1] != want[1] || e.effects[2] != want[2] {
		t.Errorf("the effects are %v, not %v", e.effects, want)
	}
}

func TestARefusedConfigurationLeavesTheOtherInForce(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.want("2", "broken")
	e.check("1", "line 1: broken", "TreeWidth=1")
	e.agent.look(t.Context())
	if e.checks != 2 {
		t.Errorf("the refused files were checked %d times", e.checks-1)
	}
	e.want("3", "TreeWidth=3")
	e.check("3", "", "TreeWidth=3")
}

// TestAMovedPodStartsWithWhatWasAccepted: the pod has a new live folder, and the wanted files are broken.
func TestAMovedPodStartsWithWhatWasAccepted(t *testing.T) {
	e := newEnv(t)
	e.want("0", "broken")
	if e.agent.HasStarted() {
		t.Error("slurmctld could start with a broken configuration")
	}
	e.want("1", "TreeWidth=1")
	if _, err := os.Stat(filepath.Join(e.cfg.Accepted, "slurm.key")); err == nil {
		t.Error("a key is kept beside the state")
	}
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		t.Fatal(err)
	}
	e.agent = New(e.cfg)
	e.want("2", "broken")
	e.check("1", "line 1: broken", "TreeWidth=1")
	key, err := os.ReadFile(filepath.Join(e.cfg.Live, "slurm.key"))
	if !e.agent.HasStarted() || string(key) != "key of 2" || err != nil {
		t.Errorf("started: %t with the key %q, %v", e.agent.HasStarted(), key, err)
	}
}

func TestADaemonThatMustNotStartWaits(t *testing.T) {
	e := newEnv(t)
	e.mustWait = errors.New("the state is newer")
	e.want("1", "TreeWidth=1")
	e.check("", "the state is newer", "")
	if e.agent.HasStarted() {
		t.Error("slurmctld starts")
	}
	e.mustWait = nil
	e.agent.look(t.Context())
	e.check("", "the state is newer", "")
	e.now = e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("1", "", "TreeWidth=1")
	e.mustWait = errors.New("the state is newer")
	e.want("2", "TreeWidth=2")
	e.check("2", "", "TreeWidth=2") // it runs already
}

func TestARestartedAgentLeavesTheDaemonAlone(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.want("2", "broken")
	e.agent = New(e.cfg)
	if !e.agent.HasStarted() {
		t.Error("the agent does not see that slurmctld has a configuration")
	}
	e.agent.look(t.Context())
	e.check("1", "line 1: broken", "TreeWidth=1")
	e.want("1", "TreeWidth=1")
	e.check("1", "", "TreeWidth=1")
	if len(e.effects) != 0 {
		t.Errorf("the effects are %v", e.effects)
	}
}

// TestAnAgentOfAnEarlierVersionKeptNoRecord: its slurmctld may not have read the live files.
func TestAnAgentOfAnEarlierVersionKeptNoRecord(t *testing.T) {
	for _, wanted := range []string{"TreeWidth=1", "broken"} {
		e := newEnv(t)
		files := Files{slurmconf.RevisionFile: {[]byte("1"), 0o555}, "slurm.conf": {[]byte("TreeWidth=1"), 0o555},
			"slurm.key": {[]byte("key of 1"), 0o440}}
		if err := errors.Join(WriteFiles(e.cfg.Live, files), WriteFiles(e.cfg.Accepted, files.withoutKeys())); err != nil {
			t.Fatal(err)
		}
		e.agent = New(e.cfg)
		if s := e.agent.Status(); s.Applied != "" || s.Given != "1" || !e.agent.HasStarted() {
			t.Errorf("the status is %+v", s)
		}
		e.want("1", wanted)
		if s := e.agent.Status(); s.Applied != "1" || len(e.effects) != 1 || e.effects[0] != slurmconf.NeedsReconfigure {
			t.Errorf("the effects are %v, the status %+v", e.effects, s)
		}
	}
}

func TestFilesThatAreNotWantedGo(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1", "gres.conf", "AutoDetect=off")
	e.want("2", "TreeWidth=1")
	if _, err := os.Stat(filepath.Join(e.cfg.Live, "gres.conf")); err == nil {
		t.Error("gres.conf is still there")
	}
	info, err := os.Stat(filepath.Join(e.cfg.Live, "slurm.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %v: %v", info.Mode(), err)
	}
}

func TestHandler(t *testing.T) {
	e := newEnv(t)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		e.agent.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	e.want("0", "broken")
	if code, text := get("/started"); code != http.StatusServiceUnavailable || !strings.Contains(text, "line 1: broken") {
		t.Errorf("before it starts: %d, %q", code, text)
	}
	e.want("1", "TreeWidth=1")
	if code, _ := get("/started"); code != http.StatusOK {
		t.Errorf("after it has started: %d", code)
	}
	want := `{"wanted":"1","applied":"1","appliedAt":"2030-01-01T12:00:00Z","gresTypes":[]}`
	if code, text := get("/status"); code != http.StatusOK || strings.TrimSpace(text) != want {
		t.Errorf("the status is %d, %s", code, text)
	}
}

// TestSlurmdbdGetsThePasswordInItsConfiguration, and a password that Slurm cannot read is refused without
// naming it.
func TestSlurmdbdGetsThePasswordInItsConfiguration(t *testing.T) {
	daemon := SlurmdbdDaemon()
	wanted := Files{"slurmdbd.conf": {[]byte("DbdPort=1\n"), 0o555}, "storage-password": {[]byte("a b"), 0o440}}
	files, err := daemon.Assemble(wanted)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := WriteFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "slurmdbd.conf"))
	if err != nil || info.Mode().Perm() != 0o600 || len(files) != 2 ||
		files.text("slurmdbd.conf") != "DbdPort=1\n\nStoragePass=\"a b\"\n" {
		t.Errorf("the files are %q, the mode %v: %v", files, info.Mode(), err)
	}
	wanted["storage-password"] = File{[]byte("secret\nword"), 0o440}
	var refused *RefusedError
	if _, err := daemon.Assemble(wanted); !errors.As(err, &refused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

// TestWhatADowngradedAgentAccepted: an earlier version keeps accepted files as plain files, and leaves this version's record. A
// later version must find the files accepted last: removed partitions are judged by them.
func TestWhatADowngradedAgentAccepted(t *testing.T) {
	dir := t.TempDir()
	at := time.Now().Add(-time.Hour)
	accept := func(write func() error, name, want string) {
		t.Helper()
		if err := write(); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
		if got := readAccepted(dir, "slurm.conf").text("slurm.conf"); got != want {
			t.Errorf("slurm.conf of the earlier pod is %q, want %q", got, want)
		}
	}
	files := func(conf string) Files { return Files{"slurm.conf": {[]byte(conf), 0o644}} }
	accept(func() error { return newFileWriter().writeAccepted(dir, files("first"), nil) }, inForceFile, "first")
	accept(func() error { return WriteFiles(dir, files("downgraded")) }, "slurm.conf", "downgraded")
	accept(func() error { return newFileWriter().writeAccepted(dir, files("again"), nil) }, inForceFile, "again")
}

package configagent

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func TestAHeldRevisionWaits(t *testing.T) {
	e := newEnv(t)
	e.held = &HeldError{"PartitionInUse", "partition a has job 5"}
	e.want("1", "TreeWidth=1")
	e.check("1", "", "TreeWidth=1")
	e.want("2", "TreeWidth=2")
	e.check("1", "", "TreeWidth=1")
	checkHeld(t, e, &Held{"PartitionInUse", "partition a has job 5"})
	e.agent.look(t.Context())
	if len(e.holds) != 1 {
		t.Errorf("Hold was asked %d times at once", len(e.holds))
	}
	e.held, e.now = &HeldError{"PartitionInUse", "partition a has job 6"}, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	checkHeld(t, e, &Held{"PartitionInUse", "partition a has job 6"})
	e.held, e.now = nil, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("2", "", "TreeWidth=2")
	checkHeld(t, e, nil)
	if want := []string{"1>2", "1>2", "1>2"}; !slices.Equal(e.holds, want) || e.checks != 2 || len(e.effects) != 1 {
		t.Errorf("Hold was asked %v, there were %d checks, the effects are %v", e.holds, e.checks, e.effects)
	}
}

func TestAHeldRevisionIsReplacedByAnother(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.held = &HeldError{"PartitionInUse", "partition a has job 5"}
	e.want("2", "TreeWidth=2")
	e.held, e.now = nil, e.now.Add(retryDelay)
	e.want("3", "broken")
	e.check("1", "line 1: broken", "TreeWidth=1")
	checkHeld(t, e, nil)
	e.want("1", "TreeWidth=1")
	e.check("1", "", "TreeWidth=1")
}

// TestAMovedPodHoldsToo: a restart with other files costs the same jobs as a reconfigure.
func TestAMovedPodHoldsToo(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		t.Fatal(err)
	}
	e.agent = New(e.cfg)
	e.held = &HeldError{"PartitionInUse", "slurmctld does not answer"}
	e.want("2", "TreeWidth=2")
	e.check("1", "", "TreeWidth=1")
	checkHeld(t, e, &Held{"PartitionInUse", "slurmctld does not answer"})
	if !e.agent.HasStarted() {
		t.Error("slurmctld does not start with the files that were in force")
	}
	e.held, e.now = nil, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("2", "", "TreeWidth=2")
}

// TestWhatAnotherPodAppliedCounts: of two slurmctlds of one state the other one has applied revision 2 already, which this one
// has never had.
func TestWhatAnotherPodAppliedCounts(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.acceptByAnother("2", "TreeWidth=2", nil)
	e.want("3", "TreeWidth=3")
	e.check("3", "", "TreeWidth=3")
	if want := []string{"2>3", "1>3"}; !slices.Equal(e.holds, want) {
		t.Errorf("Hold was asked %v, want %v", e.holds, want)
	}
}

// acceptByAnother has another daemon of the same state apply a revision, which still has to hand it out to users that have handedOut.
func (e *env) acceptByAnother(revision, conf string, handedOut Files) {
	e.t.Helper()
	files := Files{slurmconf.RevisionFile: {[]byte(revision), 0o444}, "slurm.conf": {[]byte(conf), 0o444}}
	if err := newFileWriter().writeAccepted(e.cfg.Accepted, files, handedOut); err != nil {
		e.t.Fatal(err)
	}
}

// TestAStandbyFollowsTheOneThatServes: until then jobs may depend on what the revision takes away, and would end in a takeover.
func TestAStandbyFollowsTheOneThatServes(t *testing.T) {
	e := newEnv(t)
	standby := false
	e.cfg.IsStandby = func(context.Context) bool { return standby }
	e.agent = New(e.cfg)
	want := func(revision string) { e.want(revision, "TreeWidth="+revision, "slurm.key", "k") }
	want("1")
	standby = true
	want("2")
	e.check("1", "", "TreeWidth=1")
	if len(e.holds) > 0 || e.checks != 1 {
		t.Errorf("Hold was asked %v, and there were %d checks", e.holds, e.checks)
	}
	e.acceptByAnother("2", "TreeWidth=2", nil)
	e.agent.look(t.Context())
	e.check("2", "", "TreeWidth=2")
	want("3")
	e.check("2", "", "TreeWidth=2")
	standby = false // it has taken over
	e.agent.look(t.Context())
	e.check("3", "", "TreeWidth=3")
	standby = true
	e.acceptByAnother("4", "TreeWidth=4", nil)
	e.applyError, e.confirmed = &StartingError{"it starts"}, &StartingError{"it starts"}
	e.agent.look(t.Context()) // the kubelet is away
	e.agent.look(t.Context())
	e.applyError, e.confirmed = nil, nil
	e.agent.look(t.Context())
	e.check("4", "", "TreeWidth=4")
	if len(e.effects) != 3 {
		t.Errorf("the effects are %v", e.effects)
	}
	if live, err := ReadFiles(e.cfg.Live); err != nil || live.text("slurm.key") != "k" {
		t.Errorf("the key is %q, %v", live.text("slurm.key"), err)
	}
	want("4")
	e.check("4", "", "TreeWidth=4")
}

// TestADaemonThatHangsGetsItsCorrection: the only slurmctld does not answer with the revision that an earlier pod had.
func TestADaemonThatHangsGetsItsCorrection(t *testing.T) {
	e := newEnv(t)
	e.cfg.IsStandby = func(context.Context) bool { return false }
	e.agent = New(e.cfg)
	e.want("1", "TreeWidth=1")
	e.agent.look(t.Context())
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		t.Fatal(err)
	}
	e.confirmed, e.agent = &StartingError{"no answer"}, New(e.cfg)
	e.agent.look(t.Context())
	e.want("2", "TreeWidth=2")
	live, err := ReadFiles(e.cfg.Live)
	if err != nil || live.text("slurm.conf") != "TreeWidth=2" {
		t.Errorf("slurm.conf is %q, %v", live.text("slurm.conf"), err)
	}
}

// TestUndecidedFilesWait: their cost in jobs is unknown.
func TestUndecidedFilesWait(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.held = errors.New("no answer")
	e.want("2", "TreeWidth=2")
	e.check("1", "no answer", "TreeWidth=1")
}

func checkHeld(t *testing.T, e *env, want *Held) {
	t.Helper()
	got := e.agent.Status().Held
	if (got == nil) != (want == nil) || got != nil && *got != *want {
		t.Errorf("Held is %+v, want %+v", got, want)
	}
}

// TestTheWayBackFromAHeldRevision: the files in force need no trial, and wait for nothing.
func TestTheWayBackFromAHeldRevision(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.held = &HeldError{"PartitionInUse", "partition a has job 5"}
	e.want("2", "TreeWidth=2")
	checkHeld(t, e, &Held{"PartitionInUse", "partition a has job 5"})
	e.want("1", "TreeWidth=1")
	e.check("1", "", "TreeWidth=1")
	checkHeld(t, e, nil)
	if len(e.effects) != 0 {
		t.Errorf("the effects are %v", e.effects)
	}
}

// TestAForcedRevisionIsTheSameRevision: the file that forces it is not given to the daemon, and its end changes nothing.
func TestAForcedRevisionIsTheSameRevision(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.held = &HeldError{"PartitionInUse", "partition a has job 5"}
	e.want("2", "TreeWidth=2")
	e.held, e.now = nil, e.now.Add(retryDelay)
	e.want("2", "TreeWidth=2", slurmconf.ForcedRevisionFile, "2")
	e.check("2", "", "TreeWidth=2")
	e.want("2", "TreeWidth=2")
	e.check("2", "", "TreeWidth=2")
	live, err := ReadFiles(e.cfg.Live)
	if _, has := live[slurmconf.ForcedRevisionFile]; has || err != nil || len(e.effects) != 1 || e.checks != 2 {
		t.Errorf("there were %d checks, the effects are %v, the live files %v, %v", e.checks, e.effects, live, err)
	}
}

// giveUnconfirmed has slurmctld get revision B after A by an agent that ends before slurmctld confirms it. Another agent follows.
func (e *env) giveUnconfirmed() {
	e.t.Helper()
	e.want("A", "MaxJobCount=100")
	e.confirmed = &StartingError{"it starts"}
	e.applyError, e.failingConf = &StartingError{"it starts"}, "MaxJobCount=10000"
	e.want("B", "MaxJobCount=10000")
	if s := e.agent.Status(); s.Given != "B" {
		e.t.Fatalf("the status is %+v", s)
	}
	e.confirmed, e.applyError, e.holds = nil, nil, nil
	e.agent = New(e.cfg)
}

// TestFilesOfAnEarlierAgentAreJudged: slurmctld may have served with them, so that jobs depend on them.
func TestFilesOfAnEarlierAgentAreJudged(t *testing.T) {
	t.Run("before other files replace them", func(t *testing.T) {
		e := newEnv(t)
		e.giveUnconfirmed()
		e.want("C", "MaxJobCount=100\nTreeWidth=3")
		e.check("C", "", "MaxJobCount=100\nTreeWidth=3")
		if want := []string{"A>C", "B>C"}; !slices.Equal(e.holds, want) {
			t.Errorf("Hold was asked %v, want %v", e.holds, want)
		}
	})
	t.Run("before those in force are restored", func(t *testing.T) {
		e := newEnv(t)
		e.giveUnconfirmed()
		e.held, e.heldRevision = &HeldError{"TooManyJobs", "there are too many jobs"}, "A"
		e.want("C", "broken")
		e.check("", "line 1: broken", "MaxJobCount=10000")
		e.held, e.now = nil, e.now.Add(retryDelay)
		e.agent.look(t.Context())
		e.check("A", "line 1: broken", "MaxJobCount=100")
		if want := []string{"B>A", "B>A"}; !slices.Equal(e.holds, want) {
			t.Errorf("Hold was asked %v, want %v", e.holds, want)
		}
	})
	t.Run("while slurmctld does not answer Hold", func(t *testing.T) {
		e := newEnv(t)
		e.giveUnconfirmed()
		e.held = &HeldError{"TooManyJobs", "slurmctld does not say"}
		e.want("B", "MaxJobCount=10000")
		e.check("", "", "MaxJobCount=10000")
		e.held, e.now = nil, e.now.Add(retryDelay)
		e.agent.look(t.Context())
		e.check("B", "", "MaxJobCount=10000")
	})
}

// TestASilentSlurmctldOfAnEarlierAgentIsRestored: it may be starting, and is restored at once if it has ended.
func TestASilentSlurmctldOfAnEarlierAgentIsRestored(t *testing.T) {
	for _, tc := range []struct {
		name      string
		confirmed error
		delay     time.Duration
	}{
		{"it has ended", errors.New("it does not run"), 0},
		{"it hangs", &StartingError{"it does not answer"}, undoDelay},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t)
			e.giveUnconfirmed()
			e.confirmed = tc.confirmed
			e.want("C", "broken")
			if tc.delay > 0 {
				e.check("", "line 1: broken", "MaxJobCount=10000")
			}
			e.now = e.now.Add(tc.delay)
			e.agent.look(t.Context())
			e.check("A", "line 1: broken", "MaxJobCount=100")
		})
	}
}

// TestTheFolderOfADaemonHasWhatJobsDependOn: slurmctld reads B after its agent has given up waiting, and does not answer the reconfigure
// that gives A back either. Then a job begins in partition b. Whenever slurmctld starts again, it reads the folder.
func TestTheFolderOfADaemonHasWhatJobsDependOn(t *testing.T) {
	e := newEnv(t)
	e.want("A", confA)
	e.cfg.Apply = func(context.Context, slurmconf.Effect) error {
		return &UnsureError{errors.New("scontrol reconfigure: Socket timed out")}
	}
	e.agent = New(e.cfg)
	e.want("B", confB)
	e.held, e.heldRevision = &HeldError{"PartitionInUse", "partition b has job 5"}, "A"
	lacks := 0
	for range 100 {
		e.now = e.now.Add(retryDelay)
		e.agent.look(t.Context())
		live, err := ReadFiles(e.cfg.Live)
		if err != nil {
			t.Fatal(err)
		}
		if lacks++; strings.Contains(live.text("slurm.conf"), "PartitionName=b") {
			lacks = 0
		}
		if lacks > 1 {
			t.Fatalf("it would start again with %q", live.text("slurm.conf"))
		}
	}
}

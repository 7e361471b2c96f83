package configagent

import (
	"errors"
	"os"
	"slices"
	"testing"

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
	other := Files{slurmconf.RevisionFile: {[]byte("2"), 0o444}, "slurm.conf": {[]byte("TreeWidth=2"), 0o444}}
	if err := newFileWriter().writeAccepted(e.cfg.Accepted, other, nil); err != nil {
		t.Fatal(err)
	}
	e.want("3", "TreeWidth=3")
	e.check("3", "", "TreeWidth=3")
	if want := []string{"2>3", "1>3"}; !slices.Equal(e.holds, want) {
		t.Errorf("Hold was asked %v, want %v", e.holds, want)
	}
}

// TestUndecidedFilesWait: nobody knows whether they cost jobs.
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

// TestTheWayBackFromAHeldRevision: what is in force needs no trial, and waits for nothing.
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

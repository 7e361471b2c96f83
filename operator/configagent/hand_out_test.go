package configagent

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// movePod has another pod with another agent continue.
func (e *env) movePod() {
	e.t.Helper()
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		e.t.Fatal(err)
	}
	e.agent = New(e.cfg)
}

// TestAStandbyJudgesNoHandOut: judging may drain partitions.
func TestAStandbyJudgesNoHandOut(t *testing.T) {
	e := newEnv(t)
	var standby error
	e.cfg.CheckServes = func(context.Context) error { return standby }
	e.agent = New(e.cfg)
	e.want("1", "TreeWidth=1")
	e.holds, standby = nil, ErrStandby
	e.want("2", "SlurmctldPort=7001")
	e.lookEveryMinute(1)
	e.expectHandedOut(0, "in standby")
	if len(e.holds) != 1 || e.agent.Status().Error != "" {
		t.Errorf("Hold was asked %v, the status is %+v", e.holds, e.agent.Status())
	}
	standby = nil
	e.lookEveryMinute(1)
	e.expectHandedOut(1, "after a takeover")
}

// lookEveryMinute lets the agent look once a minute.
func (e *env) lookEveryMinute(minutes int) {
	for range minutes {
		e.now = e.now.Add(time.Minute)
		e.agent.look(e.t.Context())
	}
}

func (e *env) expectHandedOut(want int, when string) {
	e.t.Helper()
	if e.handedOut != want {
		e.t.Errorf("%s the configuration was handed out %d times, want %d", when, e.handedOut, want)
	}
}

// TestWhatADaemonStartsWithIsHandedOut: after a restart, and in a pod that starts with other files than its predecessor.
func TestWhatADaemonStartsWithIsHandedOut(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.lookEveryMinute(1)
	e.expectHandedOut(0, "after the first start")
	e.want("2", "TreeWidth=2")
	e.expectHandedOut(0, "after a reconfigure")
	e.want("3", "TreeWidth=2\nSlurmctldPort=7000")
	e.expectHandedOut(1, "after a restart")
	e.movePod()
	e.want("3", "TreeWidth=2\nSlurmctldPort=7000")
	e.lookEveryMinute(1)
	e.expectHandedOut(1, "after a move")
	e.movePod()
	e.want("4", "TreeWidth=2\nSlurmctldPort=7001")
	e.lookEveryMinute(1)
	e.expectHandedOut(2, "after a move with other files")
}

// TestHandingOutIsTriedAgain, more and more rarely, since each time interrupts slurmctld.
func TestHandingOutIsTriedAgain(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	e.want("2", "SlurmctldPort=7001")
	e.expectHandedOut(1, "at first")
	if s := e.agent.Status(); s.Applied != "2" || !strings.Contains(s.Error, "hand its configuration out: no answer") || !s.RetryAt.After(e.now) {
		t.Errorf("the status is %+v", s)
	}
	e.lookEveryMinute(60)
	if e.handedOut > 10 {
		t.Errorf("it was handed out %d times in an hour", e.handedOut)
	}
	e.handOutError = nil
	e.agent = New(e.cfg) // the agent has ended
	e.lookEveryMinute(1)
	e.check("2", "", "SlurmctldPort=7001")
	tries := e.handedOut
	e.lookEveryMinute(120)
	e.expectHandedOut(tries, "once it has succeeded")
}

// TestAReconfigureHandsOut: nothing is left to hand out after one, and another restart does not wait for earlier failures.
func TestAReconfigureHandsOut(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	e.want("2", "TreeWidth=1\nSlurmctldPort=7001")
	e.lookEveryMinute(30)
	e.handOutError = nil
	tries := e.handedOut
	e.want("3", "TreeWidth=3\nSlurmctldPort=7001")
	e.check("3", "", "TreeWidth=3\nSlurmctldPort=7001")
	e.lookEveryMinute(120)
	e.expectHandedOut(tries, "after a reconfigure")
	e.handOutError = errors.New("no answer")
	e.want("4", "TreeWidth=3\nSlurmctldPort=7002")
	e.lookEveryMinute(30)
	e.handOutError = nil
	tries = e.handedOut
	e.want("5", "TreeWidth=3\nSlurmctldPort=7003")
	e.expectHandedOut(tries+1, "after another restart")
}

// TestHandingOutDoesNotWaitForTheNextRevision: the next revision is refused or held before slurmctld has confirmed its files.
func TestHandingOutDoesNotWaitForTheNextRevision(t *testing.T) {
	for name, next := range map[string]string{"refused": "broken", "held": "TreeWidth=3\nSlurmctldPort=7001"} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.want("1", "TreeWidth=1")
			e.movePod()
			e.confirmed = &StartingError{"recovers"}
			e.want("2", "SlurmctldPort=7001")
			e.expectHandedOut(0, "before it is confirmed")
			e.confirmed = nil
			if name == "held" {
				e.held, e.heldRevision = &HeldError{"PartitionInUse", "partition a has job 5"}, "3"
			}
			e.want("3", next)
			e.lookEveryMinute(20)
			e.expectHandedOut(1, "beside the next revision")
		})
	}
}

// TestHandOutIsHeld: a job has started between the restart and the hand-out, whose slurmd could end with the new gres.conf.
func TestHandOutIsHeld(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	e.want("2", "TreeWidth=1\nSlurmctldPort=7001", "gres.conf", "Name=gpu File=/dev/nvidia9")
	e.held, e.handOutError = &HeldError{"GresInUse", "a job has started"}, nil
	tries := e.handedOut
	e.lookEveryMinute(120)
	e.expectHandedOut(tries, "while Hold refuses it")
	checkHeld(t, e, &Held{"GresInUse", "slurmctld has started with it, and hands it out later: a job has started"})
	if got := e.holds[len(e.holds)-1]; got != "1>2" {
		t.Errorf("Hold was asked %s last, want what slurmds have and what they get", got)
	}
	e.held, e.now = nil, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.expectHandedOut(tries+1, "once Hold allows it")
	checkHeld(t, e, nil)
	e.check("2", "", "TreeWidth=1\nSlurmctldPort=7001")
	e.lookEveryMinute(120)
	e.expectHandedOut(tries+1, "once it has succeeded")
}

// TestUndecidedHandOutWaits: its cost in jobs is unknown.
func TestUndecidedHandOutWaits(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	e.want("2", "SlurmctldPort=7001")
	e.held, e.handOutError = errors.New("squeue ends"), nil
	e.lookEveryMinute(120)
	e.expectHandedOut(1, "while Hold does not decide")
	if s := e.agent.Status(); !strings.Contains(s.Error, "squeue ends") || s.RetryAt.Sub(e.now) > time.Minute {
		t.Errorf("the status is %+v", s)
	}
	e.held = nil
	e.lookEveryMinute(1)
	e.expectHandedOut(2, "once Hold decides")
}

// TestHoldComparesWithWhatSlurmdsHave: the reconfigure of revision 3 also hands out the changes of revision 2.
func TestHoldComparesWithWhatSlurmdsHave(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	gres := "Name=gpu File=/dev/nvidia9"
	e.want("2", "TreeWidth=1\nSlurmctldPort=7001", "gres.conf", gres)
	e.holds = nil
	e.want("3", "TreeWidth=3\nSlurmctldPort=7001", "gres.conf", gres)
	if want := []string{"1>3", "2>3"}; !slices.Equal(e.holds, want) {
		t.Errorf("Hold was asked %v, want %v", e.holds, want)
	}
}

// TestADueHandOutOutlivesThePod: the next pod starts slurmctld with the same files.
func TestADueHandOutOutlivesThePod(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	e.want("2", "TreeWidth=1\nSlurmctldPort=7001")
	tries := e.handedOut
	e.handOutError = nil
	e.movePod()
	e.holds = nil
	e.want("2", "TreeWidth=1\nSlurmctldPort=7001")
	e.lookEveryMinute(120)
	e.expectHandedOut(tries+1, "after a move")
	if got := e.holds[len(e.holds)-1]; got != "1>2" {
		t.Errorf("Hold was asked %s last", got)
	}
	e.movePod()
	e.want("2", "TreeWidth=1\nSlurmctldPort=7001")
	e.lookEveryMinute(120)
	e.expectHandedOut(tries+1, "after a move later")
}

// TestWhatIsHandedOutIsKeptWithoutKeys: slurmds do not get keys from slurmctld, and the records have them no more often than needed.
func TestWhatIsHandedOutIsKeptWithoutKeys(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.handOutError = errors.New("no answer")
	e.want("2", "SlurmctldPort=7001")
	for _, dir := range []string{e.cfg.Live, e.cfg.Accepted} {
		record, err := readRecord(dir)
		if _, hasKey := record.HandedOut["slurm.key"]; err != nil || hasKey || record.HandedOut.text("slurm.conf") != "TreeWidth=1" {
			t.Errorf("%s has the handed out files %v, %v", dir, record.HandedOut, err)
		}
	}
	e.handOutError = nil
	e.lookEveryMinute(60)
	for _, dir := range []string{e.cfg.Live, e.cfg.Accepted} {
		if record, err := readRecord(dir); err != nil || record.HandedOut != nil {
			t.Errorf("once it has succeeded %s has the handed out files %v, %v", dir, record.HandedOut, err)
		}
	}
}

// TestAMoveDuringAReconfigure: slurmds may have the new files, and the administrator restores the old ones before the next pod
// starts.
func TestAMoveDuringAReconfigure(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	apply := e.cfg.Apply
	e.agent.cfg.Apply = func(context.Context, slurmconf.Effect) error { panic("the pod ends") }
	func() {
		defer func() { _ = recover() }()
		e.want("2", "TreeWidth=2")
	}()
	e.cfg.Apply = apply
	e.movePod()
	e.want("1", "TreeWidth=1")
	e.lookEveryMinute(1)
	e.check("1", "", "TreeWidth=1")
	e.expectHandedOut(1, "after the move")
}

// TestAReconfigureThatIsAStart: slurmctld reads its files when it starts, and hands nothing out.
func TestAReconfigureThatIsAStart(t *testing.T) {
	t.Run("slurmctld does not run", func(t *testing.T) {
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		e.applyError = &StartingError{"it does not run"}
		e.want("2", "TreeWidth=2")
		e.applyError = nil
		e.lookEveryMinute(120)
		e.expectHandedOut(1, "after the start")
		e.check("2", "", "TreeWidth=2")
	})
	t.Run("only a key has changed", func(t *testing.T) { // which slurmds read at a reconfigure
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		e.applyError = &StartingError{"it does not run"}
		e.want("1", "TreeWidth=1", "slurm.key", "another key")
		e.applyError = nil
		e.lookEveryMinute(120)
		e.expectHandedOut(1, "after the start")
	})
	t.Run("slurmctld hangs and is ended", func(t *testing.T) {
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		e.applyError = ErrNotHandedOut
		e.want("2", "TreeWidth=2")
		e.check("2", "", "TreeWidth=2")
		e.lookEveryMinute(120)
		e.expectHandedOut(1, "after the start")
	})
	t.Run("slurmctld hangs while it hands out", func(t *testing.T) {
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		e.handOutError = ErrNotHandedOut
		e.want("2", "SlurmctldPort=7001")
		e.lookEveryMinute(60)
		if s := e.agent.Status(); e.handedOut < 2 || e.handedOut > 10 || !strings.Contains(s.Error, "was started again") {
			t.Errorf("it was handed out %d times, the status is %+v", e.handedOut, s)
		}
	})
	t.Run("it was taken back", func(t *testing.T) { // slurmds may have the failed files
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		e.applyError, e.failingConf = errors.New("no answer"), "TreeWidth=2"
		apply := e.agent.cfg.Apply
		e.agent.cfg.Apply = func(ctx context.Context, effect slurmconf.Effect) error {
			return cmp.Or(apply(ctx, effect), ErrNotHandedOut)
		}
		e.want("2", "TreeWidth=2")
		e.check("1", "no answer", "TreeWidth=1")
		e.expectHandedOut(1, "after the start with the files of before")
	})
}

// TestTheSlurmctldThatServesHandsOut: the standby does not, unless it takes over before the serving one has handed out.
func TestTheSlurmctldThatServesHandsOut(t *testing.T) {
	newStandby := func(t *testing.T) *env {
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		e.applyError, e.handOutError = ErrNotHandedOut, ErrStandby
		e.want("2", "TreeWidth=2")
		e.lookEveryMinute(10)
		e.check("2", "", "TreeWidth=2")
		if e.handedOut < 10 {
			t.Errorf("it was asked %d times in 10 minutes whether it serves", e.handedOut)
		}
		return e
	}
	t.Run("it takes over", func(t *testing.T) {
		e := newStandby(t)
		tries := e.handedOut
		e.handOutError = nil
		e.lookEveryMinute(120)
		e.expectHandedOut(tries+1, "after it has taken over")
	})
	t.Run("the other one has handed out", func(t *testing.T) {
		e := newStandby(t)
		tries := e.handedOut
		if err := newFileWriter().writeAccepted(e.cfg.Accepted, e.agent.inForce.Files.withoutKeys(), nil); err != nil {
			t.Fatal(err)
		}
		e.handOutError = nil
		e.lookEveryMinute(120)
		e.expectHandedOut(tries, "after the other one has")
	})
	t.Run("the other one was first", func(t *testing.T) {
		e := newEnv(t)
		e.want("1", "TreeWidth=1")
		other := Files{slurmconf.RevisionFile: {[]byte("2"), 0o444}, "slurm.conf": {[]byte("TreeWidth=2"), 0o444}}
		if err := newFileWriter().writeAccepted(e.cfg.Accepted, other, nil); err != nil {
			t.Fatal(err)
		}
		e.applyError, e.handOutError = ErrNotHandedOut, ErrStandby
		e.want("2", "TreeWidth=2")
		if record, _ := readAcceptedRecord(e.cfg.Accepted, "slurm.conf"); record.HandedOut != nil || e.handedOut != 0 {
			t.Errorf("the standby says that %v is handed out, and was asked %d times", record.HandedOut, e.handedOut)
		}
	})
}

// TestHandingOutNeedsNoAcceptedFolder: slurmds need the files, even if they cannot be kept for other pods.
func TestHandingOutNeedsNoAcceptedFolder(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	full := true
	e.agent.write.prepare = func(path string, file File) error {
		if full && strings.HasPrefix(path, e.cfg.Accepted) {
			return errors.New("no space left on device")
		}
		return prepareFile(path, file)
	}
	e.want("2", "SlurmctldPort=7001")
	e.lookEveryMinute(120)
	e.expectHandedOut(1, "while the accepted folder is full")
	if s := e.agent.Status(); !strings.Contains(s.Error, "no space left") {
		t.Errorf("the status is %+v", s)
	}
	full = false
	e.lookEveryMinute(1)
	e.check("2", "", "SlurmctldPort=7001")
	e.movePod()
	e.want("2", "SlurmctldPort=7001")
	e.lookEveryMinute(1)
	e.expectHandedOut(1, "after a move")
}

// TestRecordsOfAnEarlierVersion: they have no HandedOut, which then equals the files in force.
func TestRecordsOfAnEarlierVersion(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	for _, dir := range []string{e.cfg.Live, e.cfg.Accepted} {
		path := filepath.Join(dir, inForceFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.TrimSuffix(string(text), "}") + `,"handsOut":true}`)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.agent = New(e.cfg)
	e.lookEveryMinute(1)
	e.expectHandedOut(0, "with the record in the live folder")
	e.movePod()
	e.want("2", "TreeWidth=2")
	e.lookEveryMinute(1)
	e.check("2", "", "TreeWidth=2")
	e.expectHandedOut(1, "after a move with other files")
}

// TestAnAgentThatIsKilledAtAnyWriteHandsOut: the next agent, in this pod or another one, hands out the files that the killed one did
// not.
func TestAnAgentThatIsKilledAtAnyWriteHandsOut(t *testing.T) {
	for _, moves := range []bool{false, true} {
		for writes := range 60 {
			e := newEnv(t)
			e.want("1", "TreeWidth=1")
			if !e.killAfter(writes, func() { e.want("2", "TreeWidth=1\nSlurmctldPort=7001") }) {
				break
			}
			if e.agent = New(e.cfg); moves {
				e.movePod()
			}
			e.want("2", "TreeWidth=1\nSlurmctldPort=7001")
			e.lookEveryMinute(2)
			e.check("2", "", "TreeWidth=1\nSlurmctldPort=7001")
			accepted, _ := readAcceptedRecord(e.cfg.Accepted, "slurm.conf")
			isReconfigured := slices.Contains(e.effects, slurmconf.NeedsReconfigure) // which hands out, too
			if e.handedOut == 0 && !isReconfigured || e.agent.inForce.HandedOut != nil || accepted.HandedOut != nil {
				t.Errorf("moves: %t, killed after %d writes: handed out %d times, the effects are %v, left are %v and %v", moves, writes,
					e.handedOut, e.effects, e.agent.inForce.HandedOut, accepted.HandedOut)
			}
		}
	}
}

package configagent

import (
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

// TestAChangeThatFailsIsUndone: the trial accepts it, and slurmctld does not come back with it.
func TestAChangeThatFailsIsUndone(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	e.applyError, e.failingConf = errors.New("slurmctld does not answer"), "TreeWidth=2"
	e.want("B", "TreeWidth=2")
	e.check("A", "slurmctld does not answer", "TreeWidth=1")
	if s := e.agent.Status(); s.RetryAt != e.now.Add(time.Minute) || s.Given != "" {
		t.Errorf("the status is %+v", s)
	}
	if accepted := readAccepted(e.cfg.Accepted, "slurm.conf"); accepted.text("slurm.conf") != "TreeWidth=1" {
		t.Errorf("what failed is kept for other pods: %v", accepted)
	}
	e.want("A", "TreeWidth=1") // the administrator restores A
	e.check("A", "", "TreeWidth=1")
	if len(e.effects) != 2 { // B and A again
		t.Errorf("the effects are %v", e.effects)
	}
	e.want("C", "TreeWidth=3")
	e.check("C", "", "TreeWidth=3")
}

// TestAChangeThatFailedIsTriedAgainMoreAndMoreSeldom: each attempt interrupts slurmctld.
func TestAChangeThatFailedIsTriedAgainMoreAndMoreSeldom(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	e.applyError, e.failingConf = errors.New("slurmctld does not answer"), "TreeWidth=2"
	e.want("B", "TreeWidth=2")
	for _, minutes := range []time.Duration{1, 2, 4} {
		before := len(e.effects)
		e.now = e.now.Add(minutes*time.Minute - time.Second)
		e.agent.look(t.Context())
		if len(e.effects) != before {
			t.Errorf("it is tried again before %d minutes", minutes)
		}
		e.now = e.now.Add(time.Second)
		e.agent.look(t.Context())
		if len(e.effects) != before+2 || e.checks != 2 {
			t.Errorf("after %d minutes there were %d effects and %d checks", minutes, len(e.effects)-before, e.checks)
		}
		e.check("A", "slurmctld does not answer", "TreeWidth=1")
	}
	e.applyError, e.now = nil, e.now.Add(8*time.Minute)
	e.agent.look(t.Context())
	e.check("B", "", "TreeWidth=2")
}

// TestASlurmctldThatIsAwayIsAskedAgain: its files are unknown until it answers.
func TestASlurmctldThatIsAwayIsAskedAgain(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	e.applyError = errors.New("no answer")
	e.want("B", "TreeWidth=2")
	e.check("", "no answer", "TreeWidth=1")
	if s := e.agent.Status(); s.Given != "B" || s.Keys != "" || !s.AppliedAt.IsZero() {
		t.Errorf("the status is %+v", s)
	}
	asked := len(e.effects)
	e.agent.look(t.Context())
	if len(e.effects) != asked {
		t.Error("it is asked again at once")
	}
	e.applyError, e.now = nil, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("A", "no answer", "TreeWidth=1")
	e.now = e.now.Add(time.Minute)
	e.agent.look(t.Context())
	e.check("B", "", "TreeWidth=2")
}

// TestAChangeIsTriedAgainOnlyAfterItsUndoing: slurmctld serves in between. The kubelet takes minutes to start one again that has
// ended several times.
func TestAChangeIsTriedAgainOnlyAfterItsUndoing(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	e.applyError = errors.New("no answer")
	e.want("B", "TreeWidth=2")
	for range 58 { // restored in vain every five seconds
		e.now = e.now.Add(retryDelay)
		e.agent.look(t.Context())
		e.check("", "no answer", "TreeWidth=1")
	}
	e.applyError, e.now = nil, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("A", "no answer", "TreeWidth=1")
	e.now = e.now.Add(time.Minute - time.Second)
	e.agent.look(t.Context())
	e.check("A", "no answer", "TreeWidth=1")
	e.now = e.now.Add(time.Second)
	e.agent.look(t.Context())
	e.check("B", "", "TreeWidth=2")
}

// TestAChangeIsTriedAgainIfItCannotBeUndone: the earlier files may never be restored.
func TestAChangeIsTriedAgainIfItCannotBeUndone(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	e.applyError = errors.New("no answer")
	e.want("B", "TreeWidth=2")
	e.applyError, e.failingConf = errors.New("no answer"), "TreeWidth=1"
	e.now = e.now.Add(undoDelay)
	e.agent.look(t.Context())
	e.check("B", "", "TreeWidth=2")
}

// TestASlurmctldThatStartsIsWaitedFor, as one with a large state, and a change meanwhile does not wait.
func TestASlurmctldThatStartsIsWaitedFor(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	e.applyError, e.confirmed = &StartingError{"starting"}, &StartingError{"starting"}
	e.want("B", "TreeWidth=2")
	for range 10 {
		e.now = e.now.Add(time.Hour)
		e.agent.look(t.Context())
	}
	e.check("", "", "TreeWidth=2")
	e.confirmed = nil
	e.agent.look(t.Context())
	e.check("B", "", "TreeWidth=2")
	e.confirmed = &StartingError{"starting"}
	e.want("C", "TreeWidth=3")
	e.applyError = nil
	e.want("A", "TreeWidth=1")
	e.check("A", "", "TreeWidth=1")
}

// TestTheFirstStartFails: no earlier files exist, and the next change is applied.
func TestTheFirstStartFails(t *testing.T) {
	e := newEnv(t)
	e.confirmed = errors.New("it does not run")
	e.want("B", "TreeWidth=2")
	e.agent.look(t.Context())
	e.check("", "it does not run", "TreeWidth=2")
	if readAccepted(e.cfg.Accepted, "slurm.conf") != nil {
		t.Error("what never ran is kept for other pods")
	}
	e.confirmed = nil
	e.want("C", "TreeWidth=3")
	e.check("C", "", "TreeWidth=3")
}

// TestAMovedPodGoesBackToo: the wanted files pass the trial, and slurmctld does not start with them.
func TestAMovedPodGoesBackToo(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		t.Fatal(err)
	}
	e.agent = New(e.cfg)
	e.confirmed = &StartingError{"starting"}
	e.want("B", "TreeWidth=2")
	e.check("", "", "TreeWidth=2")
	e.confirmed, e.applyError = errors.New("it ends when it starts"), &StartingError{"starting"}
	e.agent.look(t.Context())
	e.check("", "it ends when it starts", "TreeWidth=1")
	e.confirmed = nil
	e.now = e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("A", "it ends when it starts", "TreeWidth=1")
	key, err := os.ReadFile(filepath.Join(e.cfg.Live, "slurm.key"))
	if err != nil || string(key) != "key of B" {
		t.Errorf("it has the key %q, %v", key, err)
	}
}

// TestATrialThatIsNotPossibleIsTriedAgain: meanwhile slurmctld starts with its earlier files.
func TestATrialThatIsNotPossibleIsTriedAgain(t *testing.T) {
	e := newEnv(t)
	e.want("A", "TreeWidth=1")
	var impeded error = errors.New("no space left on device")
	check := e.cfg.Check
	e.cfg.Check = func(ctx context.Context, files Files) error { return errors.Join(impeded, check(ctx, files)) }
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		t.Fatal(err)
	}
	e.agent = New(e.cfg)
	e.want("B", "TreeWidth=2")
	e.check("A", "no space left on device", "TreeWidth=1")
	for _, wait := range []time.Duration{5, 10, 20, 40, 60, 60} {
		if got := e.agent.Status().RetryAt.Sub(e.now); got != wait*time.Second {
			t.Errorf("it is tried again after %s, want %d s", got, wait)
		}
		e.now = e.now.Add(wait * time.Second)
		e.agent.look(t.Context())
	}
	impeded, e.now = nil, e.now.Add(time.Minute)
	e.agent.look(t.Context())
	e.check("B", "", "TreeWidth=2")
}

// TestAnAgentThatIsKilledAtAnyWrite: the next one recovers, whether B works or not. The administrator may have restored A meanwhile.
func TestAnAgentThatIsKilledAtAnyWrite(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for _, next := range []string{"A", "B"} {
			for writes := range 60 {
				e := newEnv(t)
				e.want("A", "TreeWidth=1", "gres.conf", "AutoDetect=off")
				if fails {
					e.applyError, e.failingConf = errors.New("no answer"), "TreeWidth=2"
				}
				if !e.killAfter(writes, func() { e.want("B", "TreeWidth=2") }) {
					break
				}
				e.agent = New(e.cfg)
				if s := e.agent.Status(); s.Applied != "" && s.Applied != liveRevision(t, e) {
					t.Errorf("killed after %d writes, it says that %s is in force, and has given %s", writes, s.Applied,
						liveRevision(t, e))
				}
				if next == "A" {
					e.want("A", "TreeWidth=1", "gres.conf", "AutoDetect=off")
				} else {
					e.want("B", "TreeWidth=2")
				}
				want := next
				if fails {
					want = "A"
				}
				e.now = e.now.Add(retryDelay)
				e.agent.look(t.Context())
				files, err := ReadFiles(e.cfg.Live)
				_, hasGres := files["gres.conf"]
				accepted := readAccepted(e.cfg.Accepted, "slurm.conf").text(slurmconf.RevisionFile)
				if got := e.agent.Status().Applied; got != want || liveRevision(t, e) != want || hasGres != (want == "A") ||
					accepted != want || err != nil {
					t.Errorf("B fails: %t, killed after %d writes, %s is wanted: %q is in force, live is %q, accepted %q: %v",
						fails, writes, next, got, liveRevision(t, e), accepted, err)
				}
			}
		}
	}
}

func liveRevision(t *testing.T, e *env) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(e.cfg.Live, slurmconf.RevisionFile))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// killAfter runs a function of an agent that is killed after a number of writes, and reports whether it was.
func (e *env) killAfter(writes int, run func()) (killed bool) {
	type kill struct{}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(kill); !ok {
				panic(r)
			}
			killed = true
		}
	}()
	count := func() {
		if writes--; writes < 0 {
			panic(kill{})
		}
	}
	e.agent.write = fileWriter{
		prepare: func(path string, file File) error { count(); return prepareFile(path, file) },
		replace: func(prepared, path string) error { count(); return os.Rename(prepared, path) },
	}
	run()
	return false
}

// TestWhatIsRetriedIsNotRefused: a full disk, or an unreadable folder, proves nothing about the files.
func TestWhatIsRetriedIsNotRefused(t *testing.T) {
	t.Run("the accepted folder cannot be written", func(t *testing.T) {
		e := newEnv(t)
		e.want("A", "TreeWidth=1")
		full := true
		e.agent.write.prepare = func(path string, file File) error {
			if full && strings.HasPrefix(path, e.cfg.Accepted) {
				return errors.New("no space left on device")
			}
			return prepareFile(path, file)
		}
		e.want("B", "TreeWidth=2")
		if s := e.agent.Status(); !strings.Contains(s.Error, "no space left") || s.RetryAt.IsZero() || s.Applied != "B" {
			t.Errorf("the status is %+v", s)
		}
		full = false
		e.agent.look(t.Context())
		e.check("B", "", "TreeWidth=2")
	})
	t.Run("the wanted folder cannot be read", func(t *testing.T) {
		e := newEnv(t)
		e.want("A", "TreeWidth=1")
		if err := os.RemoveAll(e.cfg.Wanted); err != nil {
			t.Fatal(err)
		}
		e.agent.look(t.Context())
		if s := e.agent.Status(); !strings.Contains(s.Error, "reading the wanted files") || s.RetryAt.IsZero() {
			t.Errorf("the status is %+v", s)
		}
		e.want("A", "TreeWidth=1")
		e.check("A", "", "TreeWidth=1")
	})
}

// TestAFullDiskLeavesWhatIsInForce: the daemon may start again at any time, and must not find files of two revisions.
func TestAFullDiskLeavesWhatIsInForce(t *testing.T) {
	for writes := range 30 {
		e := newEnv(t)
		e.want("A", "TreeWidth=1", "gres.conf", "AutoDetect=off", "a.conf", "A")
		before, err := ReadFiles(e.cfg.Live)
		if err != nil {
			t.Fatal(err)
		}
		left := writes
		e.agent.write.prepare = func(path string, file File) error {
			if left--; left < 0 {
				return errors.New("no space left on device")
			}
			return prepareFile(path, file)
		}
		e.want("B", "TreeWidth=2", "a.conf", "B")
		live, err := ReadFiles(e.cfg.Live)
		if err != nil {
			t.Fatal(err)
		}
		revision := live.text(slurmconf.RevisionFile)
		if revision == "B" && live.text("a.conf") == "B" && live.text("slurm.conf") == "TreeWidth=2" {
			return // all of it was written
		}
		if !live.Equal(before) {
			t.Errorf("after %d writes the daemon finds %v", writes, live.texts(func(string) bool { return true }))
		}
	}
}

// TestWhatIsInForceIsNotUndone: B is in force and may have jobs in partitions that A lacks, even while B cannot be kept for other
// pods, or slurmctld has not been asked yet. A later refused revision changes nothing.
func TestWhatIsInForceIsNotUndone(t *testing.T) {
	t.Run("the accepted folder is full", func(t *testing.T) {
		e := newEnv(t)
		e.want("A", "TreeWidth=1")
		full := true
		e.agent.write.prepare = func(path string, file File) error {
			if full && strings.HasPrefix(path, e.cfg.Accepted) {
				return errors.New("no space left on device")
			}
			return prepareFile(path, file)
		}
		e.want("B", "TreeWidth=2")
		e.want("C", "broken")
		e.check("B", "line 1: broken", "TreeWidth=2")
		if got := readAccepted(e.cfg.Accepted, "slurm.conf").text(slurmconf.RevisionFile); got != "A" {
			t.Errorf("accepted is %q", got)
		}
		write := e.agent.write
		e.agent = New(e.cfg)
		e.agent.write = write
		e.want("C", "broken")
		e.check("B", "line 1: broken", "TreeWidth=2")
		full = false
		e.agent.look(t.Context())
		if got := readAccepted(e.cfg.Accepted, "slurm.conf").text(slurmconf.RevisionFile); got != "B" {
			t.Errorf("accepted is %q, want B", got)
		}
		e.check("B", "line 1: broken", "TreeWidth=2")
	})
	t.Run("slurmctld has recovered its state meanwhile", func(t *testing.T) {
		e := newEnv(t)
		e.want("A", "TreeWidth=1")
		e.applyError, e.confirmed = &StartingError{"no answer"}, &StartingError{"no answer"}
		e.want("B", "TreeWidth=2")
		e.applyError, e.confirmed = nil, nil
		e.want("C", "broken")
		e.check("B", "line 1: broken", "TreeWidth=2")
	})
}

// TestAnUndoIsJudged: slurmctld read revision 2 after scontrol had given up waiting for it, and jobs depend on it.
func TestAnUndoIsJudged(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.applyError, e.failingConf = &UnsureError{errors.New("Socket timed out")}, "PartitionName=new"
	e.held, e.heldRevision = &HeldError{"PartitionInUse", "partition new has job 5"}, "1"
	e.want("2", "TreeWidth=1\nPartitionName=new")
	e.check("", "Socket timed out", "TreeWidth=1\nPartitionName=new")
	e.held, e.now = nil, e.now.Add(retryDelay)
	e.agent.look(t.Context())
	e.check("1", "Socket timed out", "TreeWidth=1")
	if want := []string{"1>2", "2>1", "2>1"}; !slices.Equal(e.holds, want) {
		t.Errorf("Hold was asked %v, want %v", e.holds, want)
	}
}

// TestAnUndoOfWhatNeverServedIsNotJudged: the daemon has ended with it.
func TestAnUndoOfWhatNeverServedIsNotJudged(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.applyError, e.failingConf = errors.New("slurmctld ends when it starts"), "PartitionName=new"
	e.held, e.heldRevision = &HeldError{"PartitionInUse", "partition new has job 5"}, "1"
	e.want("2", "TreeWidth=1\nPartitionName=new")
	e.check("1", "slurmctld ends when it starts", "TreeWidth=1")
}

// TestTheNextRevisionIsJudgedByTheGivenOne: slurmctld serves with revision 2 by the time revision 3 is wanted, and did not confirm it
// in time.
func TestTheNextRevisionIsJudgedByTheGivenOne(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.applyError, e.failingConf = &StartingError{"it starts"}, "NodeName=new"
	e.confirmed = &StartingError{"no answer within 10s"}
	e.want("2", "TreeWidth=1\nNodeName=new")
	e.want("3", "TreeWidth=3")
	if want := []string{"1>2", "1>3", "2>3"}; !slices.Equal(e.holds, want) {
		t.Errorf("Hold was asked %v, want %v", e.holds, want)
	}
}

// TestADaemonThatNeverAnsweredHoldsNothing: after a while it hangs.
func TestADaemonThatNeverAnsweredHoldsNothing(t *testing.T) {
	e := newEnv(t)
	e.want("1", "TreeWidth=1")
	e.applyError, e.failingConf = &StartingError{"it starts"}, "NodeName=new"
	e.confirmed = &StartingError{"no answer within 10s"}
	e.want("2", "TreeWidth=1\nNodeName=new")
	e.now = e.now.Add(undoDelay)
	e.want("3", "TreeWidth=3")
	if want := []string{"1>2", "1>3"}; !slices.Equal(e.holds, want) {
		t.Errorf("Hold was asked %v, want %v", e.holds, want)
	}
}

// TestWhatMayServeIsKeptForOtherPods: slurmctld read revision B after scontrol had given up, and job 7 runs in its partition. So A is
// not restored before the job has ended.
func TestWhatMayServeIsKeptForOtherPods(t *testing.T) {
	serve := func(t *testing.T) (serving, standby *env) {
		t.Helper()
		serving, standby = newPair(t)
		serving.applyError, serving.failingConf = &UnsureError{errors.New("Socket timed out")}, "PartitionName=b"
		serving.held, serving.heldRevision = &HeldError{"PartitionInUse", "partition b has job 7"}, "A"
		serving.want("B", confB)
		serving.want("A", confA) // the administrator restores A
		serving.lookEveryMinute(20)
		checkHeld(t, serving, &Held{"PartitionInUse", "partition b has job 7"})
		serving.expectAccepted("B")
		return serving, standby
	}
	t.Run("the next pod starts with it", func(t *testing.T) {
		serving, _ := serve(t)
		serving.applyError = nil
		serving.movePod()
		serving.want("A", confA)
		serving.check("B", "", confB)
		serving.held = nil
		serving.lookEveryMinute(1)
		serving.check("A", "", confA)
	})
	t.Run("a standby follows", func(t *testing.T) {
		_, standby := serve(t)
		standby.want("A", confA)
		standby.check("B", "", confB)
	})
	t.Run("job 7 ends", func(t *testing.T) {
		serving, standby := serve(t)
		serving.held = nil
		serving.lookEveryMinute(1)
		serving.check("A", "", confA)
		serving.expectAccepted("A")
		standby.want("A", confA)
		standby.check("A", "", confA)
	})
}

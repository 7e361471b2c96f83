package configagent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// The revisions of a pair. Each one adds a partition.
const confA, confB, confC = "PartitionName=a", "PartitionName=a\nPartitionName=b", "PartitionName=a\nPartitionName=b\nPartitionName=c"

// newPair returns the agents of two slurmctlds of one state, which have revision A. The first one serves.
func newPair(t *testing.T) (serving, standby *env) {
	t.Helper()
	serving, standby = newEnv(t), newEnv(t)
	standby.cfg.Accepted = serving.cfg.Accepted
	serving.cfg.IsStandby = func(context.Context) bool { return false }
	standby.cfg.IsStandby = func(context.Context) bool { return true }
	serving.agent, standby.agent = New(serving.cfg), New(standby.cfg)
	serving.want("A", confA)
	standby.want("A", confA)
	return serving, standby
}

// expectAccepted checks which revision other pods find.
func (e *env) expectAccepted(want string) {
	e.t.Helper()
	if got := readAccepted(e.cfg.Accepted, "slurm.conf").text(slurmconf.RevisionFile); got != want {
		e.t.Errorf("other pods find revision %q, want %q", got, want)
	}
}

// TestAStandbyKeepsNothingForOtherPods: it gets revision B while the slurmctld that serves has C already, on whose partitions jobs depend.
func TestAStandbyKeepsNothingForOtherPods(t *testing.T) {
	checkC := func(t *testing.T, serving, standby *env) {
		t.Helper()
		for range 40 {
			standby.want("C", confC)
			serving.expectAccepted("C")
			standby.now = standby.now.Add(retryDelay)
		}
		standby.check("C", "", confC)
	}
	// startLate has each start of the standby be confirmed after a number of questions.
	startLate := func(e *env, questions int) {
		left := 0
		e.agent.cfg.Apply = func(context.Context, slurmconf.Effect) error {
			left = questions
			return &StartingError{"CrashLoopBackOff"}
		}
		e.agent.cfg.Confirm = func(context.Context, time.Time) error {
			if left--; left >= 0 {
				return &StartingError{"CrashLoopBackOff"}
			}
			return nil
		}
	}
	t.Run("it takes long to apply B", func(t *testing.T) {
		serving, standby := newPair(t)
		serving.want("B", confB)
		apply := standby.cfg.Apply
		standby.agent.cfg.Apply = func(ctx context.Context, effect slurmconf.Effect) error {
			standby.agent.cfg.Apply = apply
			serving.want("C", confC)
			return errors.Join(apply(ctx, effect), ErrNotHandedOut)
		}
		standby.want("B", confB)
		checkC(t, serving, standby)
	})
	t.Run("Kubernetes starts it later with B", func(t *testing.T) {
		for questions := 1; questions < 8; questions++ {
			serving, standby := newPair(t)
			serving.want("B", confB)
			startLate(standby, questions)
			standby.want("B", confB)
			serving.want("C", confC)
			checkC(t, serving, standby)
		}
	})
	t.Run("its volume was full", func(t *testing.T) {
		serving, standby := newPair(t)
		serving.want("B", confB)
		write := standby.agent.write
		standby.agent.write.replace = func(prepared, path string) error {
			if path == standby.cfg.Accepted+"/"+inForceFile {
				return errors.New("no space left on device")
			}
			return write.replace(prepared, path)
		}
		standby.want("B", confB)
		serving.want("C", confC)
		standby.agent.write = write
		startLate(standby, 4)
		checkC(t, serving, standby)
	})
}

// TestAStandbyThatDoesNotAnswerKeepsNothingForOtherPods: it has confirmed B while the other slurmctld serves with C. While it does not
// run, nothing shows that the other one serves.
func TestAStandbyThatDoesNotAnswerKeepsNothingForOtherPods(t *testing.T) {
	// newLatePair returns such a pair, and reports whether the standby runs.
	newLatePair := func(t *testing.T) (serving, standby *env, runs *bool) {
		serving, standby = newPair(t)
		runs = new(true)
		standby.cfg.IsStandby = func(context.Context) bool { return *runs }
		standby.cfg.Confirm = func(context.Context, time.Time) error {
			if !*runs {
				return &StartingError{"CrashLoopBackOff"}
			}
			return nil
		}
		serving.want("B", confB)
		apply := standby.cfg.Apply
		standby.cfg.Apply = func(ctx context.Context, effect slurmconf.Effect) error {
			if readAccepted(serving.cfg.Accepted, "slurm.conf").text(slurmconf.RevisionFile) == "C" {
				*runs = false
				return &StartingError{"CrashLoopBackOff"}
			}
			serving.want("C", confC)
			return errors.Join(apply(ctx, effect), ErrNotHandedOut)
		}
		standby.agent = New(standby.cfg)
		standby.want("B", confB)
		serving.expectAccepted("C")
		return serving, standby, runs
	}
	t.Run("Kubernetes starts it later with C", func(t *testing.T) {
		serving, standby, runs := newLatePair(t)
		for i := range 10 {
			*runs = *runs || i == 6
			standby.want("C", confC)
			serving.expectAccepted("C")
			standby.now = standby.now.Add(retryDelay)
		}
		standby.check("C", "", confC)
	})
	t.Run("its agent starts first", func(t *testing.T) {
		serving, standby, runs := newLatePair(t)
		*runs = false
		standby.agent = New(standby.cfg)
		standby.agent.look(t.Context())
		serving.expectAccepted("C")
	})
	t.Run("it would hand out what is handed out", func(t *testing.T) {
		serving, standby := newPair(t)
		standby.agent.cfg.IsStandby = func(context.Context) bool { return false }
		standby.agent.cfg.Confirm = func(context.Context, time.Time) error { return &StartingError{"CrashLoopBackOff"} }
		standby.agent.cfg.Apply = func(context.Context, slurmconf.Effect) error { return &StartingError{"CrashLoopBackOff"} }
		standby.want("B", confB)
		if accepted, err := readAcceptedRecord(serving.cfg.Accepted, "slurm.conf"); accepted.HandedOut != nil || err != nil {
			t.Errorf("other pods hand out what comes after revision %q, %v", accepted.HandedOut.text(slurmconf.RevisionFile), err)
		}
	})
}

// TestAStandbyThatTakesOverKeepsWhatItHas: it had confirmed B late, and serves with it from now on.
func TestAStandbyThatTakesOverKeepsWhatItHas(t *testing.T) {
	serving, standby := newPair(t)
	serving.want("B", confB)
	apply := standby.cfg.Apply
	standby.agent.cfg.Apply = func(ctx context.Context, effect slurmconf.Effect) error {
		serving.want("C", confC)
		return apply(ctx, effect)
	}
	standby.want("B", confB)
	standby.expectAccepted("C")
	standby.agent.cfg.IsStandby = func(context.Context) bool { return false }
	standby.held, standby.heldRevision = &HeldError{"PartitionInUse", "a job"}, "C"
	standby.want("C", confC)
	standby.expectAccepted("B")
	checkHeld(t, standby, &Held{"PartitionInUse", "a job"})
}

// TestAStandbyThatFollowsGetsTheWantedKeys: it would take over without them, and its report decides the next step of the rotation.
func TestAStandbyThatFollowsGetsTheWantedKeys(t *testing.T) {
	const bridge, users = `{"keys":[{"kid":"bridge"}]}`, `{"keys":[{"kid":"users"}]}`
	firstKeys, secondKeys := keySetOf(t, "k1*"), keySetOf(t, "k1,k2*")
	firstJWT := []string{slurmconf.RotatedJWTKeyFile, "k", slurmconf.JWTKeysFile, "first"}
	secondJWT := []string{slurmconf.RotatedJWTKeyFile, "k", slurmconf.JWTKeysFile, "first,b1", slurmconf.BridgeJWKSFile, bridge}
	usersJWT := []string{slurmconf.JWKSFile, users}
	for _, tc := range []struct {
		name          string
		before, after []string
		// status and jwks are the agent's report about the keys, and the file jwks.json in the live folder.
		status, jwks string
	}{
		{"a key set", firstKeys, secondKeys, "k1,k2* ", `{"keys":[]}`},
		{"a key set whose Secret was deleted", firstKeys, nil, "k1* ", `{"keys":[]}`},
		{"the bridge of auth/jwt", firstJWT, secondJWT, " first,b1", bridge},
		{"the bridge beside the keys of users", slices.Concat(firstJWT, usersJWT), slices.Concat(secondJWT, usersJWT), " first,b1",
			`{"keys":[{"kid":"users"},{"kid":"bridge"}]}`},
		{"a bridge that is retired", secondJWT, firstJWT, " first", `{"keys":[]}`},
		{"the keys of users again", secondJWT, nil, " ", `{"keys":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			serving, standby := newPair(t)
			for _, e := range []*env{serving, standby} {
				e.want("A", confA, tc.before...)
			}
			standby.want("B", confB, tc.after...) // B waits beside the serving slurmctld
			live, err := ReadFiles(standby.cfg.Live)
			s := standby.agent.Status()
			if got := s.Keys + " " + s.JWTKeys; got != tc.status || live.text(slurmconf.JWKSFile) != tc.jwks || err != nil {
				t.Errorf("the agent says %q, and the keys are %s, %v", got, live.text(slurmconf.JWKSFile), err)
			}
			standby.check("A", "", confA)
			starts := len(standby.effects)
			standby.agent.look(t.Context())
			if len(standby.effects) != starts {
				t.Error("it is started again for the same keys")
			}
		})
	}
}

// TestAStandbyTellsWhatItFollows, and the kubelet need not bring the wanted revision again.
func TestAStandbyTellsWhatItFollows(t *testing.T) {
	serving, standby := newPair(t)
	expect := func(wanted, applied, following string) {
		t.Helper()
		standby.agent.look(t.Context())
		if s := standby.agent.Status(); s.Wanted != wanted || s.Applied != applied || s.Following != following {
			t.Errorf("the status is %+v, want %s wanted, %s applied, %q followed", s, wanted, applied, following)
		}
	}
	expect("A", "A", "")
	standby.want("B", confB)
	expect("B", "A", "A")
	standby.want("C", confC, "slurm.key", "key of B") // the files that it follows are the same
	expect("C", "A", "A")
	serving.want("B", confB)
	expect("C", "B", "B")
	serving.want("C", confC)
	expect("C", "C", "")
}

// TestAStandbyIsNotGivenBackWhatTheServingOneHasNotAnyMore: the serving slurmctld has B, with jobs in partition b. The standby does not
// start with B at once, and may take over at any moment.
func TestAStandbyIsNotGivenBackWhatTheServingOneHasNotAnyMore(t *testing.T) {
	serving, standby := newPair(t)
	serving.want("B", confB)
	serving.expectAccepted("B")
	fails := true
	standby.agent.cfg.Apply = func(context.Context, slurmconf.Effect) error {
		if fails {
			fails = false
			return errors.New("slurmctld ends when it starts: no route to host")
		}
		return ErrNotHandedOut
	}
	standby.want("B", confB)
	for range 100 {
		standby.now = standby.now.Add(retryDelay)
		standby.agent.look(t.Context())
		live, err := ReadFiles(standby.cfg.Live)
		if err != nil || !strings.Contains(live.text("slurm.conf"), "PartitionName=b") {
			t.Fatalf("it would take over with %q, %v", live.text("slurm.conf"), err)
		}
	}
	standby.check("B", "", confB)
}

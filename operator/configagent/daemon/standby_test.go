package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestStandby(t *testing.T) {
	const pair = "Slurmctld(primary) at ctld-0 is %0\nSlurmctld(backup) at ctld-1 is %1\n"
	const trio = "Slurmctld(primary) at ctld-0 is %0\nSlurmctld(backup1) at ctld-1 is %1\nSlurmctld(backup2) at ctld-2 is %2\n"
	for _, tc := range []struct {
		name, ping, up, host string
		standby, answers     bool
		// onlyOthers: the slurmctld of the host is down, and another one is up.
		onlyOthers bool
	}{
		{"the only one", "Slurmctld(primary) at ctld-0 is %0\n", "0", "ctld-0", false, true, false},
		{"the only one, by another name", "Slurmctld(primary) at ctld-0 is %0\n", "0", "node", false, true, false},
		{"the only one, which is down", "Slurmctld(primary) at ctld-0 is %0\n", "", "ctld-0", false, false, false},
		{"the primary", pair, "01", "ctld-0", false, true, false},
		{"the primary, whose backup is down", pair, "0", "ctld-0", false, true, false},
		{"both are down", pair, "", "ctld-0", false, false, false},
		{"the backup", pair, "01", "ctld-1", true, true, false},
		{"a backup that starts", pair, "0", "ctld-1", true, false, true},
		{"a backup that has taken over", pair, "1", "ctld-1", false, true, false},
		{"a primary that starts", pair, "1", "ctld-0", false, false, true},
		{"the second backup of a backup", trio, "12", "ctld-2", true, true, false},
		{"the second backup, which is active", trio, "2", "ctld-2", false, true, false},
		{"the first backup of an active second one", trio, "2", "ctld-1", false, false, true},
		{"a host of which Slurm does not know", pair, "01", "node", false, false, false},
		{"nothing is said", "", "", "ctld-1", false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ping := tc.ping
			for _, i := range []string{"0", "1", "2"} {
				state := "DOWN"
				if strings.Contains(tc.up, i) {
					state = "UP"
				}
				ping = strings.ReplaceAll(ping, "%"+i, state)
			}
			if got := isStandby(ping, tc.host); got != tc.standby {
				t.Errorf("in standby: %t", got)
			}
			if got := hasAnswered(ping, tc.host); got != tc.answers {
				t.Errorf("answers: %t", got)
			}
			if got := areOnlyOthersUp(ping, tc.host); got != tc.onlyOthers {
				t.Errorf("only others are up: %t", got)
			}
		})
	}
}

// TestASlurmctldInStandbyIsStartedAgain: scontrol would reach the active one, and this one would keep its keys.
func TestASlurmctldInStandbyIsStartedAgain(t *testing.T) {
	s, ended := startSlurmctld(t, obedient)
	s.Host = "ctl2"
	script := "#!/bin/sh\n[ $1 = ping ] || exit 1\necho 'Slurmctld(primary) at ctl is UP'\necho 'Slurmctld(backup) at ctl2 is UP'\n"
	if err := process.WriteProgram(s.Scontrol, []byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := s.HandOut(t.Context()); !errors.Is(err, configagent.ErrStandby) {
		t.Errorf("handing out ends with %v", err)
	}
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.Is(err, configagent.ErrNotHandedOut) {
		t.Fatal(err)
	}
	<-ended
}

// TestAnotherSlurmctldIsNotReconfigured: scontrol would reach the slurmctld that is up, which would hand out its own files.
func TestAnotherSlurmctldIsNotReconfigured(t *testing.T) {
	const script = `#!/bin/sh
echo "$*" >>%[1]s/log
[ "$1" = ping ] || exit 0
echo "Slurmctld(primary) at ctl is $([ -e %[1]s/up ] && echo UP || echo DOWN)"
echo "Slurmctld(backup) at ctl2 is UP"
`
	start := func(t *testing.T) Slurmctld {
		s, _ := startSlurmctld(t, obedient)
		s.Host = "ctl"
		if err := process.WriteProgram(s.Scontrol, fmt.Appendf(nil, script, s.Live)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(t *testing.T, s Slurmctld, want bool) {
		t.Helper()
		log, err := os.ReadFile(filepath.Join(s.Live, "log"))
		if err != nil || strings.Contains(string(log), "reconfigure") != want {
			t.Errorf("scontrol was called with %q, %v, reconfigured: want %t", log, err, want)
		}
	}
	var starting *configagent.StartingError
	t.Run("ours does not run", func(t *testing.T) {
		s := start(t)
		if err := s.end(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.As(err, &starting) {
			t.Errorf("Apply ends with %v", err)
		}
		check(t, s, false)
	})
	t.Run("ours hangs", func(t *testing.T) {
		s := start(t)
		if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); err == nil || errors.Is(err, configagent.ErrNotHandedOut) {
			t.Errorf("Apply ends with %v", err)
		}
		if s.IsRunning() {
			t.Error("it still runs")
		}
		check(t, s, false)
	})
	t.Run("ours starts", func(t *testing.T) {
		s := start(t)
		s.Timeout = time.Minute
		time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(filepath.Join(s.Live, "up"), nil, 0o600) })
		if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); err != nil {
			t.Error(err)
		}
		check(t, s, true)
	})
	t.Run("it is asked to hand out", func(t *testing.T) {
		s := start(t)
		if err := s.HandOut(t.Context()); !errors.Is(err, configagent.ErrStandby) {
			t.Errorf("handing out ends with %v", err)
		}
		check(t, s, false)
	})
}

// TestAStandbyBesideASlurmctldThatExecutesItself: scontrol ping shows the serving slurmctld as DOWN, and a reconfigure waits for it and
// reaches it.
func TestAStandbyBesideASlurmctldThatExecutesItself(t *testing.T) {
	start := func(t *testing.T) (Slurmctld, <-chan struct{}) {
		s, ended := startSlurmctld(t, obedient)
		s.Host, s.State, s.InStandby = "ctl2", t.TempDir(), new(atomic.Bool)
		script := "#!/bin/sh\necho \"$*\" >>" + s.Live + "/log\n[ $1 = ping ] || exit 0\n" +
			"echo 'Slurmctld(primary) at ctl is DOWN'\necho 'Slurmctld(backup) at ctl2 is UP'\n"
		err := errors.Join(process.WriteProgram(s.Scontrol, []byte(script)),
			os.WriteFile(filepath.Join(s.State, "heartbeat"), heartbeatOf(0, time.Now()), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		return s, ended
	}
	isReconfigured := func(s Slurmctld) bool {
		log, _ := os.ReadFile(filepath.Join(s.Live, "log"))
		return strings.Contains(string(log), "reconfigure")
	}
	t.Run("it gets other files", func(t *testing.T) {
		s, ended := start(t)
		if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.Is(err, configagent.ErrNotHandedOut) || isReconfigured(s) {
			t.Fatalf("Apply ends with %v, reconfigured: %t", err, isReconfigured(s))
		}
		<-ended
	})
	t.Run("it is started again", func(t *testing.T) {
		s, ended := start(t)
		if err := s.Apply(t.Context(), slurmconf.NeedsRestart); err != nil || !s.InStandby.Load() {
			t.Fatalf("Apply ends with %v, in standby: %t", err, s.InStandby.Load())
		}
		<-ended
	})
	t.Run("it is asked to hand out", func(t *testing.T) {
		s, _ := start(t)
		if err := s.HandOut(t.Context()); !errors.Is(err, configagent.ErrStandby) || isReconfigured(s) {
			t.Errorf("HandOut ends with %v, reconfigured: %t", err, isReconfigured(s))
		}
	})
	t.Run("no state was saved yet", func(t *testing.T) {
		s, _ := start(t)
		conf := "AccountingStorageType=accounting_storage/slurmdbd\n"
		if err := os.WriteFile(filepath.Join(s.Live, "slurm.conf"), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Confirm(t.Context(), time.Now()); err != nil || isReconfigured(s) {
			t.Errorf("Confirm ends with %v, reconfigured: %t", err, isReconfigured(s))
		}
	})
}

// TestASlurmctldThatDoesNotRunKnowsWhetherAnotherServes: scontrol ping prints nothing, since auth/slurm needs a socket of slurmctld.
func TestASlurmctldThatDoesNotRunKnowsWhetherAnotherServes(t *testing.T) {
	const pair = "SlurmctldHost=ctl(10.0.0.1)\nSlurmctldHost=ctl2(10.0.0.2)\n"
	for _, tc := range []struct {
		name, conf, host string
		number           uint64
		age              time.Duration
		want             bool
	}{
		{"the first one serves", pair, "ctl2", 0, 20 * time.Second, true},
		{"the second one has taken over", pair, "ctl", 1, 20 * time.Second, true},
		{"it has served itself", pair, "ctl", 0, 20 * time.Second, false},
		{"none has served for minutes", pair, "ctl2", 0, 2 * time.Minute, false}, // it may need a correction
		{"the other one was removed", "SlurmctldHost=ctl(10.0.0.1)\n", "ctl", 1, 20 * time.Second, false},
		{"it is not in slurm.conf", pair, "ctl3", 0, 20 * time.Second, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, ended := startSlurmctld(t, obedient)
			s.Host, s.State = tc.host, t.TempDir()
			script := "#!/bin/sh\necho \"$*\" >>" + s.Live + "/log\necho 'scontrol: error: failed to connect to any sack sockets' >&2\nexit 1\n"
			err := errors.Join(process.WriteProgram(s.Scontrol, []byte(script)), s.end(t.Context(), time.Minute),
				os.WriteFile(filepath.Join(s.Live, "slurm.conf"), []byte(tc.conf), 0o600),
				os.WriteFile(filepath.Join(s.State, "heartbeat"), heartbeatOf(tc.number, time.Now().Add(-tc.age)), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			<-ended
			if got := s.IsStandby(t.Context()); got != tc.want {
				t.Errorf("IsStandby() = %t, want %t", got, tc.want)
			}
			var starting *configagent.StartingError
			if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.As(err, &starting) {
				t.Errorf("Apply ends with %v", err)
			}
		})
	}
}

// TestAStandbyThatKubernetesStartsLater: each step of a rotation ends it once more, and Kubernetes waits longer each time. It has not failed.
func TestAStandbyThatKubernetesStartsLater(t *testing.T) {
	s, _ := startSlurmctld(t, obedient)
	s.Host, s.InStandby = "ctl2", new(atomic.Bool)
	script := fmt.Sprintf(`#!/bin/sh
[ $1 = ping ] || exit 1
kill -0 "$(cat %s)" 2>/dev/null || { echo "failed to connect to any sack sockets" >&2; exit 1; }
echo 'Slurmctld(primary) at ctl is UP'
echo 'Slurmctld(backup) at ctl2 is UP'
`, s.PidFile)
	if err := process.WriteProgram(s.Scontrol, []byte(script)); err != nil {
		t.Fatal(err)
	}
	var starting *configagent.StartingError
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.As(err, &starting) {
		t.Fatalf("Apply ends with %v", err)
	}
	if err := s.Confirm(t.Context(), time.Now().Add(-5*time.Minute)); !errors.As(err, &starting) {
		t.Errorf("Confirm ends with %v after 5 minutes", err)
	}
	if err := s.Confirm(t.Context(), time.Now().Add(-7*time.Minute)); err == nil || errors.As(err, &starting) {
		t.Errorf("Confirm ends with %v after 7 minutes", err)
	}
	if err := os.WriteFile(s.PidFile, fmt.Append(nil, os.Getpid()), 0o600); err != nil { // it runs again
		t.Fatal(err)
	}
	if err := s.Confirm(t.Context(), time.Now()); err != nil || s.InStandby.Load() {
		t.Errorf("Confirm ends with %v", err)
	}
}

// TestAPingOfASlurmctldThatHangs: with MessageTimeout=100 scontrol waits for 100 s, and the agent would judge too rarely to see the
// silence of slurmctld (inuse.Silence).
func TestAPingOfASlurmctldThatHangs(t *testing.T) {
	t.Parallel()
	s, _ := startSlurmctld(t, obedient)
	script := "#!/bin/sh\necho 'Slurmctld(primary) at ctl is UP'\nexec sleep 100\n"
	if err := process.WriteProgram(s.Scontrol, []byte(script)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if got := s.ping(t.Context()); got != "" {
		t.Errorf("ping() = %q", got)
	}
	if took := time.Since(began); took > 2*pingTimeout {
		t.Errorf("ping() took %s, want %s", took, pingTimeout)
	}
}

// TestASlurmctldAnswersBesideOneThatHangs: scontrol ping prints nothing until the standby has taken MessageTimeout.
func TestASlurmctldAnswersBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	s, _ := startSlurmctld(t, obedient)
	s.Host, s.Timeout = "ctl", time.Second
	script := "#!/bin/sh\nsleep 11\necho 'Slurmctld(primary) at ctl is UP'\necho 'Slurmctld(backup) at ctl2 is DOWN'\nexit 1\n"
	conf := "SlurmctldHost=ctl\nSlurmctldHost=ctl2\nMessageTimeout=11\n"
	err := errors.Join(process.WriteProgram(s.Scontrol, []byte(script)),
		os.WriteFile(filepath.Join(s.Live, "slurm.conf"), []byte(conf), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if !s.answersWatch(t.Context()) {
		t.Error("it would be ended as one that hangs while it starts")
	}
	if err := s.Confirm(t.Context(), time.Now()); err != nil {
		t.Errorf("Confirm ends with %v", err)
	}
}

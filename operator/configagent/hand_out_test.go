package configagent

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// movePod has another pod with another agent continue.
func (e *env) movePod() {
	e.t.Helper()
	if err := os.RemoveAll(e.cfg.Live); err != nil {
		e.t.Fatal(err)
	}
	e.agent = New(e.cfg)
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

// TestWhatADaemonStartsWithIsHandedOut: after a restart, and in a pod that starts with other files than the one before.
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

// TestHandingOutDoesNotWaitForTheNextRevision, which is refused or held before slurmctld has confirmed what it has started with.
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
				e.held = &HeldError{"PartitionInUse", "partition a has job 5"}
			}
			e.want("3", next)
			e.lookEveryMinute(20)
			e.expectHandedOut(1, "beside the next revision")
		})
	}
}

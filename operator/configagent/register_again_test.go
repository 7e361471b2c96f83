package configagent

import (
	"errors"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func TestARequestToRegisterAgainWaitsForSteps(t *testing.T) {
	e, steps, broken := newEnv(t), true, error(nil)
	e.cfg.Daemon, e.cfg.Check = KeysDaemon("slurmd"), CheckKeys
	e.cfg.Hold = HoldForSteps(func() (bool, error) { return steps, broken })
	e.agent = New(e.cfg)
	expect := func(when string, effects int) {
		t.Helper()
		e.now = e.now.Add(retryDelay)
		e.agent.look(t.Context())
		if len(e.effects) != effects {
			t.Errorf("%s slurmd got %d signals, want %d: %+v", when, len(e.effects), effects, e.agent.Status())
		}
	}
	e.wantFiles("slurm.key", "a", slurmconf.RegisterAgainFile, "")
	expect("at the start", 0)
	e.wantFiles("slurm.key", "a", slurmconf.RegisterAgainFile, "1")
	expect("while a step runs", 0)
	broken = errors.New("no proc")
	expect("while steps are not known", 0)
	steps, broken = false, nil
	expect("when no step runs", 1)
	steps = true
	e.wantFiles("slurm.key", "b", slurmconf.RegisterAgainFile, "1")
	expect("with another key", 2)
	e.wantFiles("slurm.key", "c", slurmconf.RegisterAgainFile, "2")
	expect("with another key and a request", 2)
	steps = false
	expect("when no step runs any more", 3)
}

package configagent

import (
	"context"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// KeysDaemon returns the Daemon of a slurmd or a sackd. These daemons get their configuration from slurmctld, so
// that the agent only gives them keys.
func KeysDaemon(name string) Daemon {
	return Daemon{Daemon: trial.Daemon{Name: name, Conf: "slurm.key"}, KeepsKeys: true,
		KeyEffect: slurmconf.NeedsReconfigure, Assemble: func(wanted Files) (Files, error) { return wanted, nil },
		Compare: func(old, changed string) slurmconf.Effect {
			if old == changed {
				return slurmconf.NoEffect
			}
			return slurmconf.NeedsReconfigure
		}}
}

// CheckKeys returns a *RefusedError if slurm.key is missing, or a daemon would end with slurm.jwks. It is a
// Check of an agent, and the error contains no key.
func CheckKeys(_ context.Context, files Files) error {
	if files.text("slurm.key") == "" {
		return &RefusedError{"there is no slurm.key"}
	}
	return files.checkKeySet()
}

// checkKeySet returns a *RefusedError if slurm.jwks exists but does not match the keys in slurmtide.keys.
func (f Files) checkKeySet() error {
	text, has := f["slurm.jwks"]
	if !has {
		return nil
	}
	set, err := plan.ParseKeySet(f.text(slurmconf.KeySetFile))
	if err == nil {
		err = keyfile.Check(text.Content, set)
	}
	if err != nil {
		return &RefusedError{err.Error()}
	}
	return nil
}

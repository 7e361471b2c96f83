package configagent

import (
	"context"
	"encoding/json"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
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

// CheckKeys returns a *RefusedError if the files have no slurm.key, or a slurm.jwks with which no daemon starts. It
// is a Check of an agent, and the error contains no key.
func CheckKeys(_ context.Context, files Files) error {
	if files.text("slurm.key") == "" {
		return &RefusedError{"there is no slurm.key"}
	}
	if set, has := files["slurm.jwks"]; has && !json.Valid(set.Content) {
		return &RefusedError{"slurm.jwks is no JSON"}
	}
	return nil
}

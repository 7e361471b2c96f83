package configagent

import (
	"maps"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// keySetFiles are the key set of auth/slurm and its description.
var keySetFiles = []string{"slurm.jwks", slurmconf.KeySetFile}

// keepKeySet adds the daemon's key set to wanted files without one: its Secret or one of its files was deleted, or is damaged. The
// remaining slurm.key is older than the first rotation. Other daemons no longer accept it, and a holder of the old key must not regain
// access. It does not modify its argument.
func (a *Agent) keepKeySet(wanted Files) Files {
	had := a.inForce.Given
	if had.keySet() == "" {
		had = a.inForce.Files
	}
	isMissing := had.keySet() != "" && wanted.keySet() == ""
	if isMissing && !a.keepsKeySet {
		a.cfg.Log.Warn("the Secret with the key set of auth/slurm is missing or damaged, and the daemon keeps the set", "keys", had.keySet())
	}
	a.keepsKeySet = isMissing
	if !isMissing {
		return wanted
	}
	out := maps.Clone(wanted)
	for _, name := range keySetFiles {
		out[name] = had[name]
	}
	return out
}

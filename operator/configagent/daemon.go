package configagent

import (
	"encoding/json"
	"maps"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Daemon defines how the configuration of one of Slurm's daemons is checked and compared.
type Daemon struct {
	trial.Daemon
	// Compare returns the action that a changed configuration file needs. Both texts contain the lines of included files.
	Compare func(old, changed string) slurmconf.Effect
	// Assemble returns the files that the daemon reads, made of those that are wanted, which it does not
	// modify. An error contains no secret.
	Assemble func(wanted Files) (Files, error)
	// KeyEffect is the effect of changes in other files, such as keys.
	KeyEffect slurmconf.Effect
	// KeepsKeys keeps the keys of the files accepted last in memory.
	KeepsKeys bool
}

// SlurmctldDaemon returns the Daemon of slurmctld.
func SlurmctldDaemon() Daemon {
	return Daemon{Daemon: trial.Slurmctld(), Compare: slurmconf.CompareSlurmConf,
		Assemble: assembleJWTKeys, KeyEffect: slurmconf.NeedsReconfigure}
}

// SlurmdbdDaemon returns the Daemon of slurmdbd, whose configuration file contains the password of the
// database.
func SlurmdbdDaemon() Daemon {
	return Daemon{Daemon: trial.Slurmdbd(), Compare: slurmconf.CompareSlurmdbdConf, Assemble: assembleSlurmdbd,
		KeyEffect: slurmconf.NeedsRestart, KeepsKeys: true}
}

// effectOf returns the action that makes the daemon read changed files.
func (d Daemon) effectOf(before, after Files) slurmconf.Effect {
	effect := d.Compare(before.resolveIncludes(d.Conf), after.resolveIncludes(d.Conf))
	if !d.others(before).Equal(d.others(after)) {
		effect = max(effect, d.KeyEffect)
	}
	return effect
}

// resolveIncludes returns the lines of a file and of the files that it includes.
func (f Files) resolveIncludes(name string) string {
	return slurmconf.ResolveIncludes(f.texts(func(name string) bool { return !IsKey(name) }), f.text(name))
}

// others returns the files that the daemon reads besides its configuration file.
func (d Daemon) others(files Files) Files {
	out := maps.Clone(files)
	delete(out, d.Conf)
	delete(out, slurmconf.RevisionFile)
	return out
}

// assembleSlurmdbd adds the password to slurmdbd.conf and leaves out the accounts, which slurmdbd does not read. The keys are
// as with assembleJWTKeys.
func assembleSlurmdbd(wanted Files) (Files, error) {
	text, err := slurmconf.AddStoragePassword(wanted.text("slurmdbd.conf"), wanted.text(slurmconf.StoragePasswordFile))
	if err != nil {
		return nil, &RefusedError{err.Error()}
	}
	out, err := assembleJWTKeys(wanted)
	if err != nil {
		return nil, err
	}
	delete(out, slurmconf.StoragePasswordFile)
	delete(out, slurmconf.AccountsFile)
	out["slurmdbd.conf"] = File{[]byte(text), 0o600}
	return out, nil
}

// keySet is a JSON Web Key Set (RFC 7517, 5) whose keys are kept unchanged.
type keySet struct {
	Keys []json.RawMessage `json:"keys"`
}

// assembleJWTKeys replaces the user's key of auth/jwt by a rotated one, and adds the keys of a rotation to the user's key
// set. The result always has a key set, since slurm.conf names one. It does not modify its argument.
func assembleJWTKeys(wanted Files) (Files, error) {
	out := maps.Clone(wanted)
	delete(out, slurmconf.ForcedRevisionFile)
	delete(out, slurmconf.StateFile)
	if rotated, has := wanted[slurmconf.RotatedJWTKeyFile]; has {
		out[slurmconf.JWTKeyFile] = rotated
		delete(out, slurmconf.RotatedJWTKeyFile)
	}
	bridge, hasBridge := wanted[slurmconf.BridgeJWKSFile]
	users, hasUsers := wanted[slurmconf.JWKSFile]
	delete(out, slurmconf.BridgeJWKSFile)
	if hasUsers && !hasBridge {
		return out, nil // slurmctld reports the fault
	}
	merged := keySet{Keys: []json.RawMessage{}}
	for _, file := range []File{users, bridge} {
		var set keySet
		if len(file.Content) > 0 && json.Unmarshal(file.Content, &set) != nil {
			return nil, &RefusedError{slurmconf.JWKSFile + " is no JSON Web Key Set"}
		}
		merged.Keys = append(merged.Keys, set.Keys...)
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	out[slurmconf.JWKSFile] = File{text, 0o555}
	return out, nil
}

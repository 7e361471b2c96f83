package configagent

import (
	"encoding/json"
	"maps"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// keySet is a JSON Web Key Set (RFC 7517, 5) whose keys are kept as they are.
type keySet struct {
	Keys []json.RawMessage `json:"keys"`
}

// assembleJWTKeys puts a rotated key of auth/jwt in the place of the user's, and adds the keys of a rotation to the user's
// key set. There is always a key set, since slurm.conf names one. It does not modify its argument.
func assembleJWTKeys(wanted Files) (Files, error) {
	out := maps.Clone(wanted)
	if rotated, has := wanted[slurmconf.RotatedJWTKeyFile]; has {
		out[slurmconf.JWTKeyFile] = rotated
		delete(out, slurmconf.RotatedJWTKeyFile)
	}
	bridge, hasBridge := wanted[slurmconf.BridgeJWKSFile]
	users, hasUsers := wanted[slurmconf.JWKSFile]
	delete(out, slurmconf.BridgeJWKSFile)
	if hasUsers && !hasBridge {
		return out, nil // slurmctld says what is wrong with it
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

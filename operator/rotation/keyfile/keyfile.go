// Package keyfile reads and writes slurm.jwks, the keys of auth/slurm in the form of a JSON Web Key Set, and writes the key
// set of auth/jwt (docs/development/slurm.md, "Several keys of auth/slurm" and "Several keys of auth/jwt"). It is pure. Its
// errors contain no key.
package keyfile

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// webKey is a key of slurm.jwks.
type webKey struct {
	Algorithm string `json:"alg"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Key       string `json:"k"`
	// Use is useDefault for the key that signs.
	Use string `json:"use,omitempty"`
}

const (
	algorithm, keyType = "HS256", "oct"
	useDefault         = "default"
)

// Encode returns slurm.jwks with the keys of a set. It fails if the content of a key is not given, or for a
// slurm.key, whose key has no id.
func Encode(set plan.KeySet, keys map[string][]byte) ([]byte, error) {
	if set.IsPlain() {
		return nil, errors.New("a slurm.key is no key set")
	}
	list := []webKey{}
	for _, id := range set.IDs() {
		if len(keys[id]) == 0 {
			return nil, fmt.Errorf("there is no content of the key %q", id)
		}
		key := webKey{Algorithm: algorithm, Type: keyType, ID: id, Key: base64.RawURLEncoding.EncodeToString(keys[id])}
		if id == set.Default() {
			key.Use = useDefault
		}
		list = append(list, key)
	}
	return json.Marshal(map[string]any{"keys": list})
}

// Check returns an error if slurm.jwks does not match a set: a daemon ends with it, or has other keys than the set names
// (docs/development/slurm.md, "Several keys of auth/slurm").
func Check(text []byte, set plan.KeySet) error {
	keys, err := parseKeys(text)
	if err != nil {
		return err
	}
	var ids []string
	signs := ""
	for _, key := range keys {
		if key.Algorithm != algorithm || key.Type != keyType {
			return errors.New("slurm.jwks has a key that is not for HS256")
		}
		if ids = append(ids, key.ID); key.Use == useDefault {
			if signs != "" {
				return errors.New("slurm.jwks has two default keys")
			}
			signs = key.ID
		}
	}
	has, err := plan.NewKeySet(signs, ids...)
	if err != nil {
		return fmt.Errorf("slurm.jwks: %w", err)
	}
	if !has.Equal(set) {
		return fmt.Errorf("slurm.jwks has the keys %s instead of %s", has, set)
	}
	return nil
}

// Decode returns the keys of slurm.jwks by their ids.
func Decode(text []byte) (map[string][]byte, error) {
	keys, err := parseKeys(text)
	out := map[string][]byte{}
	for _, key := range keys {
		out[key.ID] = key.content
	}
	return out, err
}

// parsedKey is a key of slurm.jwks with its content.
type parsedKey struct {
	webKey
	content []byte
}

func parseKeys(text []byte) ([]parsedKey, error) {
	var set struct {
		Keys []webKey `json:"keys"`
	}
	if json.Unmarshal(text, &set) != nil {
		return nil, errors.New("slurm.jwks is no JSON Web Key Set")
	}
	var out []parsedKey
	for _, key := range set.Keys {
		content, err := base64.RawURLEncoding.DecodeString(key.Key)
		if err != nil || len(content) == 0 || key.ID == "" {
			return nil, errors.New("slurm.jwks has a key without an id or a content")
		}
		out = append(out, parsedKey{key, content})
	}
	return out, nil
}

// publicKey is a key for RS256 of a key set of auth/jwt (RFC 7518, 6.3.1).
type publicKey struct {
	Algorithm string `json:"alg"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
	Use       string `json:"use"`
}

// EncodePublic returns a key set of auth/jwt with the keys (slurm.conf(5), AuthAltParameters, jwks).
func EncodePublic(keys ...*rsa.PublicKey) ([]byte, error) {
	list := []publicKey{}
	for _, key := range keys {
		modulus, exponent := signing.RSAKeyNumbers(key)
		list = append(list, publicKey{"RS256", "RSA", signing.RSAKeyID(key), modulus, exponent, "sig"})
	}
	return json.Marshal(map[string]any{"keys": list})
}

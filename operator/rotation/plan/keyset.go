package plan

import (
	"fmt"
	"slices"
	"strings"
)

// FirstKey is the id that the key of a slurm.key gets in a key set.
const FirstKey = "first"

// KeySet is a set of keys by their ids. The zero value stands for a slurm.key, whose only key has no id.
type KeySet struct {
	// ids are the keys, the oldest first.
	ids []string
	// signs is the default key, which signs for a daemon. It is one of ids.
	signs string
}

// NewKeySet returns the set of keys, the oldest first, with signs as the default.
func NewKeySet(signs string, ids ...string) (KeySet, error) {
	seen := map[string]bool{}
	for _, id := range ids {
		if id == "" || seen[id] || strings.ContainsAny(id, "*, \n\"") {
			return KeySet{}, fmt.Errorf("%q cannot be the id of a key, or is there twice", id)
		}
		seen[id] = true
	}
	if !seen[signs] {
		return KeySet{}, fmt.Errorf("the default key %q is none of %q", signs, ids)
	}
	return KeySet{ids: slices.Clone(ids), signs: signs}, nil
}

// ParseKeySet parses the result of String.
func ParseKeySet(text string) (KeySet, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return KeySet{}, nil
	}
	signs := ""
	ids := strings.Split(text, ",")
	for i, id := range ids {
		plain, isDefault := strings.CutSuffix(id, "*")
		if isDefault && signs != "" {
			return KeySet{}, fmt.Errorf("the key set %q has two default keys", text)
		}
		if isDefault {
			ids[i], signs = plain, plain
		}
	}
	out, err := NewKeySet(signs, ids...)
	if err != nil {
		return KeySet{}, fmt.Errorf("parsing the key set %q: %w", text, err)
	}
	return out, nil
}

// String returns the ids, the oldest first, with a star at the default, such as "first*,k2". It is empty for a
// slurm.key.
func (s KeySet) String() string {
	out := make([]string, len(s.ids))
	for i, id := range s.ids {
		if out[i] = id; id == s.signs {
			out[i] += "*"
		}
	}
	return strings.Join(out, ",")
}

// Equal reports whether both have the same keys and the same default.
func (s KeySet) Equal(other KeySet) bool {
	return s.signs == other.signs && slices.Equal(s.ids, other.ids)
}

// IsPlain reports whether the set is a slurm.key.
func (s KeySet) IsPlain() bool { return len(s.ids) == 0 }

// IDs returns the ids of the keys, the oldest first. A slurm.key has no ids.
func (s KeySet) IDs() []string { return slices.Clone(s.ids) }

// Default returns the id of the key that signs.
func (s KeySet) Default() string {
	if s.IsPlain() {
		return FirstKey
	}
	return s.signs
}

// Accepts reports whether a daemon with this set accepts what a daemon with the other set has signed
// (docs/development/slurm.md, "Several keys of auth/slurm"). A signature of a slurm.key has no id, and is
// verified only with the default key.
func (s KeySet) Accepts(other KeySet) bool {
	if s.IsPlain() || other.IsPlain() {
		return s.Default() == other.Default()
	}
	return slices.Contains(s.ids, other.signs)
}

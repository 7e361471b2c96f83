package view

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// match is a record that a request selects.
type match[T any] struct {
	cluster *clusterRecords[T]
	record  *T
}

// continueToken is the position of a page: the record after which the next page begins.
type continueToken struct {
	// Version is the list's, of the frame with which it began; 0 means the newest frame.
	Version version `json:"v"`
	// Others are the versions of the frames with which other replicas continue the list.
	Others []version  `json:"o,omitempty"`
	Ref    ClusterRef `json:"h"`
	Key    string     `json:"k"`
}

// maxReplicas is the maximum number of replicas that continue a list.
const maxReplicas = 16

// encode returns the token as text.
func (p continueToken) encode() string {
	text, _ := json.Marshal(p) // strings and numbers only
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseContinueToken(token string) (continueToken, error) {
	var p continueToken
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Key == "" {
		return continueToken{}, apierrors.NewBadRequest("the continue token is not from this server")
	}
	return p, nil
}

// selectPage returns at most limit selected records after a position, and whether there are more.
// after is nil for the beginning.
func selectPage[T any](
	n *resource[T], f *frame[T], c criteria[T], v viewer, after *continueToken, limit int,
) (matches []match[T], more bool) {
	for _, p := range f.clusters {
		if !c.covers(p.ref) || after != nil && p.ref.Compare(after.Ref) < 0 {
			continue
		}
		items := p.records
		if after != nil && p.ref == after.Ref {
			items = recordsAfter(n, items, after.Key)
		}
		if c.name != "" {
			items = findByName(n, p, items, c.name)
		}
		for _, t := range items {
			if !v.sees(p.ref, p.private, func(user string) bool { return n.isOwnedBy(p, t, user) }) || !c.matches(p.ref,
				t) {
				continue
			}
			if len(matches) == limit {
				return matches, true
			}
			matches = append(matches, match[T]{p, t})
		}
	}
	return matches, false
}

// recordsAfter returns the records after the key, whether a record with the key exists or not.
func recordsAfter[T any](n *resource[T], items []*T, key string) []*T {
	at := n.withKey(key)
	i, found := slices.BinarySearchFunc(items, at, n.compare)
	if found {
		i++
	}
	return items[i:]
}

// findByName returns the record with the object's name, or none.
func findByName[T any](n *resource[T], p *clusterRecords[T], items []*T, name string) []*T {
	key, ok := strings.CutPrefix(name, p.prefix)
	if !ok {
		return nil
	}
	i, found := slices.BinarySearchFunc(items, n.withKey(key), n.compare)
	if !found || n.key(items[i]) != key {
		return nil
	}
	return items[i : i+1]
}

// countRemaining counts the records after the last match, if none of them is filtered out.
func countRemaining[T any](f *frame[T], c criteria[T], last match[T], n *resource[T]) int64 {
	count := 0
	for _, p := range f.clusters {
		switch order := p.ref.Compare(last.cluster.ref); {
		case !c.covers(p.ref) || order < 0:
		case order == 0:
			count += len(recordsAfter(n, p.records, n.key(last.record)))
		default:
			count += len(p.records)
		}
	}
	return int64(count)
}

package view

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// match is a record that a request selects.
type hit[T any] struct {
	in   *part[T]
	item *T
}

// continueToken is the position of a page: the record after which the next page begins.
type place struct {
	// Version is the version of the frame; 0 means the newest.
	Version uint64 `json:"v"`
	Home    Home   `json:"h"`
	Key     string `json:"k"`
}

// encode returns the token as text.
func (p place) token() string {
	text, _ := json.Marshal(p) // strings and numbers only
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePlace(token string) (place, error) {
	var p place
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Key == "" {
		return place{}, apierrors.NewBadRequest("the continue token is not from this server")
	}
	return p, nil
}

// selectPage returns at most limit selected records after a position, and whether there are more.
// after is nil for the beginning.
func pageOf[T any](
	n *noun[T], f *frame[T], c criteria[T], v viewer, after *place, limit int,
) (matches []hit[T], more bool) {
	for _, p := range f.parts {
		if !c.covers(p.home) || after != nil && p.home.Compare(after.Home) < 0 {
			continue
		}
		items := p.items
		if after != nil && p.home == after.Home {
			items = behind(n, items, after.Key)
		}
		if c.name != "" {
			items = named(n, p, items, c.name)
		}
		for _, t := range items {
			if !v.sees(p.home, p.private, func(user string) bool { return n.mayBeSeen(t, user) }) || !c.matches(p.home,
				t) {
				continue
			}
			if len(matches) == limit {
				return matches, true
			}
			matches = append(matches, hit[T]{p, t})
		}
	}
	return matches, false
}

// recordsAfter returns the records after the key, whether a record with the key exists or not.
func behind[T any](n *noun[T], items []*T, key string) []*T {
	at := n.blank(key)
	i, found := slices.BinarySearchFunc(items, at, n.compare)
	if found {
		i++
	}
	return items[i:]
}

// findByName returns the record with the object's name, or none.
func named[T any](n *noun[T], p *part[T], items []*T, name string) []*T {
	key, ok := strings.CutPrefix(name, p.prefix)
	if !ok {
		return nil
	}
	i, found := slices.BinarySearchFunc(items, n.blank(key), n.compare)
	if !found || n.key(items[i]) != key {
		return nil
	}
	return items[i : i+1]
}

// countRemaining counts the records after the last match, if none of them is filtered out.
func remaining[T any](f *frame[T], c criteria[T], last hit[T], n *noun[T]) int64 {
	count := 0
	for _, p := range f.parts {
		switch order := p.home.Compare(last.in.home); {
		case !c.covers(p.home) || order < 0:
		case order == 0:
			count += len(behind(n, p.items, n.key(last.item)))
		default:
			count += len(p.items)
		}
	}
	return int64(count)
}

package view

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// hit is a record that is shown.
type hit[T any] struct {
	in   *part[T]
	item *T
}

// place is where a list was left: behind a record.
type place struct {
	// Version is that of the frame; 0 for the newest, whatever it is.
	Version uint64 `json:"v"`
	Home    Home   `json:"h"`
	Key     string `json:"k"`
}

// token is the text of the place that clients send back.
func (p place) token() string {
	text, _ := json.Marshal(p) // of strings and numbers alone
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePlace(token string) (place, error) {
	var p place
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Key == "" {
		return place{}, apierrors.NewBadRequest("the continue token is none of this server's")
	}
	return p, nil
}

// pageOf returns the first records behind after, at most limit of them, and whether
// there are more. after may be nil for the beginning.
func pageOf[T any](n *noun[T], f *frame[T], c criteria[T], v viewer, after *place, limit int) (hits []hit[T], more bool) {
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
			if !v.sees(p.home, p.private, func(user string) bool { return n.mayBeSeen(t, user) }) || !c.matches(p.home, t) {
				continue
			}
			if len(hits) == limit {
				return hits, true
			}
			hits = append(hits, hit[T]{p, t})
		}
	}
	return hits, false
}

// behind returns the records that come after the key, whether it is still there or not.
func behind[T any](n *noun[T], items []*T, key string) []*T {
	at := n.blank(key)
	i, found := slices.BinarySearchFunc(items, at, n.compare)
	if found {
		i++
	}
	return items[i:]
}

// named returns the one record, of those, that has the object's name.
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

// remaining counts what follows the last hit, where nothing is left out.
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

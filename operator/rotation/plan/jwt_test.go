package plan_test

import (
	stdcmp "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// parseLoaded returns the daemons of words such as "name=keys" and "name!problem".
func parseLoaded(words []string) []plan.JWTDaemon {
	var out []plan.JWTDaemon
	for _, word := range words {
		if name, problem, ok := strings.Cut(word, "!"); ok {
			out = append(out, plan.JWTDaemon{Name: name, Problem: problem})
			continue
		}
		name, loaded, _ := strings.Cut(word, "=")
		out = append(out, plan.JWTDaemon{Name: name, Loaded: loaded})
	}
	return out
}

func TestNextJWT(t *testing.T) {
	learning := plan.JWTKeys{HS256: "old", Next: "new", Bridge: "b"}
	bridged := plan.JWTKeys{HS256: "old", Next: "new", Bridge: "b", SignsBridge: true}
	switched := plan.JWTKeys{HS256: "new", Bridge: "b", SignsBridge: true}
	returning := plan.JWTKeys{HS256: "new", Bridge: "b"}
	since := func(k plan.JWTKeys, before time.Duration) plan.JWTKeys {
		k.SignedSince = noon.Add(-before)
		return k
	}
	for _, tc := range []struct {
		name      string
		written   plan.JWTKeys
		requested bool
		daemons   string
		tokens    []plan.TokenUser
		want      plan.JWTKeys // the zero value if nothing is written
		phase     plan.Phase
		waiting   string
	}{
		{"nothing is asked for", plan.JWTKeys{}, false, "a=", nil, plan.JWTKeys{}, plan.Rotated, ""},
		{"the first rotation begins", plan.JWTKeys{}, true, "a= b=", nil,
			plan.JWTKeys{HS256: "first", Next: "n", Bridge: "r"}, plan.Distributing, ""},
		{"not before all daemons are known", plan.JWTKeys{}, true, "a= b!silent", nil, plan.JWTKeys{}, plan.NotBegun, "b"},
		{"the next rotation", plan.JWTKeys{HS256: "old"}, true, "a=old", nil,
			plan.JWTKeys{HS256: "old", Next: "n", Bridge: "r"}, plan.Distributing, ""},
		{"a daemon does not know the bridge", learning, false, "a=old b=old,b", nil, plan.JWTKeys{}, plan.Distributing, "a"},
		{"all do", learning, false, "a=old,b", nil, bridged, plan.Resigning, ""},
		{"another request waits for the end", learning, true, "a=old,b", nil, bridged, plan.Resigning, ""},
		{"there are no Tokens", bridged, false, "a=old,b", nil, switched, plan.Switching, ""},
		{"a Token has the old key", bridged, false, "a=old,b", []plan.TokenUser{{"t", false}, {"u", true}}, plan.JWTKeys{},
			plan.Resigning, "t"},
		{"all Tokens have the bridge", bridged, false, "a=old,b", []plan.TokenUser{{"t", true}}, since(bridged, 0),
			plan.Resigning, ""},
		{"those who use them may not have noticed", since(bridged, 59*time.Second), false, "a=old,b",
			[]plan.TokenUser{{"t", true}}, plan.JWTKeys{}, plan.Resigning, ""},
		{"they have", since(bridged, time.Minute), false, "a=old,b", []plan.TokenUser{{"t", true}}, switched, plan.Switching, ""},
		{"a daemon has the old key", switched, false, "a=old,b b=new,b", nil, plan.JWTKeys{}, plan.Switching, "a"},
		{"all have the new key", switched, false, "a=new,b", nil, returning, plan.Resigning, ""},
		{"a Token has the bridge", returning, false, "a=new,b", []plan.TokenUser{{"t", false}}, plan.JWTKeys{},
			plan.Resigning, "t"},
		{"all Tokens have the new key", since(returning, time.Minute), false, "a=new,b", []plan.TokenUser{{"t", true}},
			plan.JWTKeys{HS256: "new"}, plan.Retiring, ""},
		{"a daemon knows the bridge", plan.JWTKeys{HS256: "new"}, false, "a=new,b", nil, plan.JWTKeys{}, plan.Retiring, "a"},
		{"done", plan.JWTKeys{HS256: "new"}, false, "a=new", []plan.TokenUser{{"t", false}}, plan.JWTKeys{}, plan.Rotated, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			step := plan.NextJWT(plan.JWTInput{Now: noon, Written: tc.written, Requested: tc.requested,
				Daemons: parseLoaded(strings.Fields(tc.daemons)), Tokens: tc.tokens, PickUpDelay: time.Minute,
				NewID: "n", NewBridge: "r"})
			got := plan.JWTKeys{}
			if step.Write != nil {
				got = *step.Write
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if step.Phase != tc.phase || strings.Join(step.Waiting, " ") != tc.waiting {
				t.Errorf("the phase is %s, waiting for %v", step.Phase, step.Waiting)
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInvalidJWTKeys(t *testing.T) {
	for _, keys := range []plan.JWTKeys{{Bridge: "b"}, {HS256: "a", Next: "n"}, {HS256: "a", SignsBridge: true},
		{HS256: "a", Next: "a", Bridge: "b"}} {
		if keys.Check() == nil {
			t.Errorf("%+v is taken", keys)
		}
	}
}

// jwtWorld is a cluster during rotations of its key of auth/jwt: the written keys, each daemon's keys, the signing keys of
// tokens in Secrets and in use, and the number of rotations to begin.
type jwtWorld struct {
	written     plan.JWTKeys
	daemons     [2]string
	issued, has [2]string
	requests    int
}

// TestAllDaemonsAcceptAllTokens visits every world that two rotations can reach. Daemons learn the written keys, Tokens are
// signed and their users notice in any order and at any time, but users only within their time. In each world, all daemons
// accept all tokens in use, and the rotations can be finished from it.
func TestAllDaemonsAcceptAllTokens(t *testing.T) {
	start := jwtWorld{issued: [2]string{"first", "first"}, has: [2]string{"first", "first"}, requests: 2}
	visited, ends := visitWorlds(start, followingJWTWorlds, func(w jwtWorld, isEnd bool) {
		for _, daemon := range w.daemons {
			for _, token := range w.has {
				if !slices.Contains(strings.Split(stdcmp.Or(daemon, "first"), ","), token) {
					t.Fatalf("in %+v a daemon with %q refuses a token of %q", w, daemon, token)
				}
			}
		}
		isDone := w.requests == 0 && w.written.Bridge == "" && w.has == [2]string{w.written.HS256, w.written.HS256}
		if isEnd && !isDone {
			t.Errorf("nothing goes on in %+v", w)
		}
	})
	if visited < 70 || ends != 1 {
		t.Errorf("%d worlds were visited, of which %d are an end", visited, ends)
	}
}

// followingJWTWorlds returns the worlds that may follow one.
func followingJWTWorlds(w jwtWorld) []jwtWorld {
	var out []jwtWorld
	add := func(n jwtWorld) {
		if n != w {
			out = append(out, n)
		}
	}
	in := plan.JWTInput{Now: noon, Written: w.written, Requested: w.requests > 0, PickUpDelay: time.Minute,
		NewID: fmt.Sprint("k", w.requests), NewBridge: fmt.Sprint("r", w.requests)}
	for i := range w.daemons {
		n := w
		n.daemons[i] = w.written.Loaded()
		add(n)
		n = w
		n.issued[i] = w.written.Signer()
		add(n)
		n = w
		n.has[i] = w.issued[i]
		add(n)
		in.Daemons = append(in.Daemons, plan.JWTDaemon{Loaded: w.daemons[i]})
		in.Tokens = append(in.Tokens, plan.TokenUser{IsCurrent: w.issued[i] == w.written.Signer()})
	}
	if w.has == w.issued { // users of Tokens notice in time
		in.Now = noon.Add(time.Minute)
	}
	if step := plan.NextJWT(in); step.Write != nil {
		n := w
		n.written = *step.Write
		if !n.written.SignedSince.IsZero() {
			n.written.SignedSince = noon
		}
		if w.written.Bridge == "" && n.written.Bridge != "" {
			n.requests--
		}
		add(n)
	}
	return out
}

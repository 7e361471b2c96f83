package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

func parseSet(t *testing.T, text string) plan.KeySet {
	t.Helper()
	set, err := plan.ParseKeySet(text)
	if err != nil {
		t.Fatal(err)
	}
	if set.String() != text {
		t.Fatalf("%q is written as %q", text, set)
	}
	return set
}

// TestAccepts has the cells of the table in docs/development/slurm.md that were measured. The key of slurm.key is
// the first one.
func TestAccepts(t *testing.T) {
	for _, tc := range []struct {
		server, client string
		want           bool
	}{
		{"", "", true},
		{"", "first*,b", true},
		{"", "b*", false},
		{"first*,b", "", true},
		{"first*,b", "first*,b", true},
		{"first*,b", "first,b*", true},
		{"first*,b", "b*", true},
		{"first,b*", "", false},
		{"first,b*", "first*,b", true},
		{"first,b*", "b*", true},
		{"b*", "first*,b", false},
		{"b*", "first,b*", true},
		{"b*", "b*", true},
		{"b*", "", false},
	} {
		t.Run(tc.server+" "+tc.client, func(t *testing.T) {
			if got := parseSet(t, tc.server).Accepts(parseSet(t, tc.client)); got != tc.want {
				t.Errorf("a server with %q and a client with %q: accepted %t", tc.server, tc.client, got)
			}
		})
	}
}

func TestInvalidKeySets(t *testing.T) {
	for _, text := range []string{"a", "a*,b*", "a*,a", "a*,,b", "*", "a b*"} {
		if set, err := plan.ParseKeySet(text); err == nil {
			t.Errorf("%q is read as %q", text, set)
		}
	}
}

func TestNext(t *testing.T) {
	for _, tc := range []struct {
		name, written string
		requested     bool
		members       []string // "name=loaded", or "name!problem"
		write         string
		phase         plan.Phase
		waiting       string
	}{
		{"nothing is asked for", "", false, []string{"a="}, "", plan.Rotated, ""},
		{"the first rotation begins", "", true, []string{"a=", "b="}, "first*,new", plan.Distributing, "a b"},
		{"not before all daemons are known", "", true, []string{"a=", "b!silent"}, "", plan.NotBegun, "b"},
		{"one has not learned the new key", "first*,new", false, []string{"a=first*,new", "b="}, "",
			plan.Distributing, "b"},
		{"all have", "first*,new", false, []string{"a=first*,new"}, "first,new*", plan.Switching, "a"},
		{"another request waits for the end", "first*,k", true, []string{"a=first*,k"}, "first,k*",
			plan.Switching, "a"},
		{"one signs with the old key", "first,new*", false, []string{"a=first*,new", "b=first,new*"}, "",
			plan.Switching, "a"},
		{"all sign with the new one", "first,new*", false, []string{"a=first,new*"}, "new*", plan.Retiring, "a"},
		{"one has the old key", "new*", false, []string{"a=first,new*"}, "", plan.Retiring, "a"},
		{"done", "new*", false, []string{"a=new*"}, "", plan.Rotated, ""},
		{"the next rotation", "old*", true, []string{"a=old*"}, "old*,new", plan.Distributing, "a"},
		{"a cluster without daemons", "old*", true, nil, "old*,new", plan.Distributing, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := plan.Input{Written: parseSet(t, tc.written), Requested: tc.requested, NewID: "new"}
			for _, m := range tc.members {
				if name, problem, ok := strings.Cut(m, "!"); ok {
					in.Members = append(in.Members, plan.Member{Name: name, Problem: problem})
					continue
				}
				name, loaded, _ := strings.Cut(m, "=")
				in.Members = append(in.Members, plan.Member{Name: name, Loaded: parseSet(t, loaded)})
			}
			step := plan.Next(in)
			write := ""
			if step.Write != nil {
				write = step.Write.String()
			}
			var waiting []string
			for _, m := range step.Waiting {
				waiting = append(waiting, m.Name)
			}
			if write != tc.write || step.Phase != tc.phase || strings.Join(waiting, " ") != tc.waiting {
				t.Errorf("the step is %q, %s, waiting for %v", write, step.Phase, waiting)
			}
		})
	}
}

// world is a cluster during rotations: the written key set, each daemon's key set, and the number of rotations to
// begin. The operator has no memory of its own.
type world struct {
	written  string
	loaded   [3]string
	requests int
}

// TestAllDaemonsAcceptEachOther visits every world that two rotations can reach. Any daemon may load the written key
// set at any time, or never. The operator may read and write, or be killed before its write, at any time. In each
// world, all daemons accept each other, and the rotations can be finished from it.
func TestAllDaemonsAcceptEachOther(t *testing.T) {
	start := world{requests: 2}
	following := func(w world) []world { return followingWorlds(t, w) }
	visited, ends := visitWorlds(start, following, func(w world, isEnd bool) {
		checkAccepted(t, w)
		same := [3]string{w.written, w.written, w.written}
		if isDone := w.requests == 0 && !strings.Contains(w.written, ",") && w.loaded == same; isEnd && !isDone {
			t.Errorf("nothing goes on in %+v", w)
		}
	})
	if visited < 40 || ends != 1 {
		t.Errorf("%d worlds were visited, of which %d are an end", visited, ends)
	}
}

// visitWorlds calls visit once for each world that may follow a first one. It returns the number of worlds, and the
// number of worlds without a successor.
func visitWorlds[W comparable](first W, following func(W) []W, visit func(w W, isEnd bool)) (visited, ends int) {
	seen, queue := map[W]bool{first: true}, []W{first}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		next := following(w)
		visit(w, len(next) == 0)
		if len(next) == 0 {
			ends++
		}
		for _, n := range next {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return len(seen), ends
}

// checkAccepted checks that each daemon accepts each other.
func checkAccepted(t *testing.T, w world) {
	t.Helper()
	for _, server := range w.loaded {
		for _, client := range w.loaded {
			if !parseSet(t, server).Accepts(parseSet(t, client)) {
				t.Fatalf("in %+v a daemon with %q refuses one with %q", w, server, client)
			}
		}
	}
}

// followingWorlds returns the worlds that may follow one.
func followingWorlds(t *testing.T, w world) []world {
	t.Helper()
	var out []world
	add := func(n world) {
		if n != w && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for i := range w.loaded {
		n := w
		n.loaded[i] = w.written
		add(n)
	}
	in := plan.Input{Written: parseSet(t, w.written), Requested: w.requests > 0, NewID: fmt.Sprintf("k%d", w.requests)}
	for _, loaded := range w.loaded {
		in.Members = append(in.Members, plan.Member{Loaded: parseSet(t, loaded)})
	}
	if step := plan.Next(in); step.Write != nil {
		n := w
		n.written = step.Write.String()
		if len(step.Write.IDs()) == 2 && len(in.Written.IDs()) < 2 {
			n.requests--
		}
		add(n)
	}
	return out
}

// TestHostsOutside: a step that cuts off hosts without the written key set waits for a confirmation of this very set.
func TestHostsOutside(t *testing.T) {
	seen, unknown := plan.Outside{Signs: []string{"slurm node n1"}}, plan.Outside{Unknown: "no route"}
	confirmed := func(o plan.Outside, value string) plan.Outside { o.Confirmed = value; return o }
	for _, tc := range []struct {
		name, written string
		outside       plan.Outside
		waits         bool
	}{
		{"none are there", "a*,b", plan.Outside{}, false},
		{"a rotation begins with some", "a*", seen, false},
		{"and where it is not known", "", unknown, false},
		{"some are there before the switch", "a*,b", seen, true},
		{"and before the end", "a,b*", seen, true},
		{"it is not known", "a*,b", unknown, true},
		{"the added key is confirmed", "a*,b", confirmed(seen, "b/added"), false},
		{"it is not known, and confirmed", "a*,b", confirmed(unknown, "b/added"), false},
		{"the added key is confirmed before the end", "a,b*", confirmed(seen, "b/added"), true},
		{"the default key is confirmed", "a,b*", confirmed(seen, "b/default"), false},
		{"another rotation is confirmed", "b*,c", confirmed(seen, "b/added"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			written, err := plan.ParseKeySet(tc.written)
			if err != nil {
				t.Fatal(err)
			}
			step := plan.Next(plan.Input{Written: written, Requested: true, NewID: "new", Outside: tc.outside,
				Members: []plan.Member{{Name: "w-0", Loaded: written}}})
			if step.WaitsForOutside != tc.waits || (step.Write == nil) != tc.waits {
				t.Errorf("the step is %+v", step)
			}
		})
	}
}

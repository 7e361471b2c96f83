package hostlist_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// The names match the output of scontrol of 26.05.
func TestExpandLikeScontrolShowHostnames(t *testing.T) {
	for name, test := range map[string]struct{ expr, want string }{
		"nothing has no names":               {"", ""},
		"a name stands for itself":           {"n1", "n1"},
		"ranges and numbers in brackets":     {"n[1-3,7],x5", "n1 n2 n3 n7 x5"},
		"the last bracket counts fastest":    {"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
		"three dimensions and a suffix":      {"r[1-2]-[3-4]x", "r1-3x r1-4x r2-3x r2-4x"},
		"text after the bracket":             {"n[1-3]a", "n1a n2a n3a"},
		"zeros are kept":                     {"n[08-11]", "n08 n09 n10 n11"},
		"the first number sets the width":    {"n[001-3]", "n001 n002 n003"},
		"the last number does not":           {"n[1-03]", "n1 n2 n3"},
		"a range may outgrow its width":      {"n[9-11]", "n9 n10 n11"},
		"only numbers":                       {"[0-2]", "0 1 2"},
		"separators may be many, and blanks": {",n1,,n2,\tn3\n", "n1 n2 n3"},
		"order and repetitions stay":         {"n[3,1-2,1]", "n3 n1 n2 n1"},
		"dots and dashes are text":           {"n-1.example.com", "n-1.example.com"},
		"wide numbers are complete": {"n[999999999999999998-999999999999999999]",
			"n999999999999999998 n999999999999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := hostlist.Expand(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.expr, diff)
			}
			if count, err := hostlist.Count(test.expr); count != len(got) || err != nil {
				t.Errorf("Count is %d, %v, want %d", count, err, len(got))
			}
		})
	}
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	long := strings.Repeat("a", hostlist.MaxNameLength)
	for name, test := range map[string]struct {
		expr   string
		offset int
		reason string
	}{
		"a bracket that is never closed":       {"x,n[1-3", 3, `"[" without "]"`},
		"a bracket that is never opened":       {"n1,n2]", 5, `"]" without "["`},
		"a bracket in a bracket":               {"n[[1-2]]", 2, `'[' instead of a number, a comma or "]"`},
		"an empty bracket":                     {"n[]", 2, `']' instead of a number, a comma or "]"`},
		"an empty place in a bracket":          {"n[1,,2]", 4, `',' instead of a number, a comma or "]"`},
		"a comma before the end":               {"n[1,]", 4, `']' instead of a number, a comma or "]"`},
		"a range without an end":               {"n[1-]", 4, `']' instead of a number, a comma or "]"`},
		"letters in a bracket":                 {"n[a-c]", 2, `'a' instead of a number, a comma or "]"`},
		"letters after a number":               {"n[1a]", 3, `'a' instead of a number, a comma or "]"`},
		"white space in a bracket":             {"n[1, 2]", 4, `' ' instead of a number, a comma or "]"`},
		"a range that runs backwards":          {"n[2,3-1]", 4, "a range that runs backwards"},
		"a number that is too long":            {"n[1234567890123456789]", 2, "a number of more than 18 digits"},
		"a name that is too long":              {"b," + long + "a", 2, "a name of more than 255 bytes"},
		"a name that is too long with numbers": {long[:250] + "[00000]b", 0, "a name of more than 255 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hostlist.Expand(test.expr)
			var syntax *hostlist.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a SyntaxError", err)
			}
			if syntax.Offset != test.offset || syntax.Reason != test.reason {
				t.Errorf("%s at %d, want %s at %d", syntax.Reason, syntax.Offset, test.reason, test.offset)
			}
		})
	}
	_, err := hostlist.Expand("n[1-3],m[4-2]")
	if want := `reading a hostlist: a range that runs backwards at byte 9, near "4-2]"`; fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTheNumberOfNamesIsLimited(t *testing.T) {
	for name, test := range map[string]struct {
		expr   string
		offset int
	}{
		"one wide range":             {"x,n[1-99999999]", 2},
		"the widest range":           {"n[0-999999999999999999]", 0},
		"many ranges in one bracket": {"n[" + strings.Repeat("1-1000000,", 1<<10) + "1]", 0},
		"many dimensions":            {strings.Repeat("[0-9]", 100), 0},
		"dimensions that overflow":   {"[1-1048576][1-1048576][1-1048576][1-1048576]", 0},
		"many elements":              {"a[1-1048576],b", 13},
	} {
		t.Run(name, func(t *testing.T) {
			count, err := hostlist.Count(test.expr)
			var limit *hostlist.LimitError
			if !errors.As(err, &limit) || limit.Offset != test.offset {
				t.Fatalf("Count is %d, %v, want a LimitError at %d", count, err, test.offset)
			}
			if names, err := hostlist.Expand(test.expr); names != nil || !errors.As(err, &limit) {
				t.Errorf("Expand returns %d names, %v", len(names), err)
			}
		})
	}
	if count, err := hostlist.Count("n[1-1048576]"); count != hostlist.MaxNames || err != nil {
		t.Errorf("at the limit: %d, %v", count, err)
	}
}

func TestAllMayStopEarly(t *testing.T) {
	all, err := hostlist.All("n[1-1000000]")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range all {
		if got = append(got, name); len(got) == 3 {
			break
		}
	}
	if diff := cmp.Diff([]string{"n1", "n2", "n3"}, got); diff != "" {
		t.Error(diff)
	}
}

// The expressions match scontrol show hostlistsorted, but without repetitions.
func TestCompress(t *testing.T) {
	for name, test := range map[string]struct{ names, want string }{
		"nothing":                             {"", ""},
		"one name":                            {"n1", "n1"},
		"names in a row":                      {"n1 n2 n3", "n[1-3]"},
		"any order, each once":                {"n3 n1 n10 n2 n1", "n[1-3,10]"},
		"two in a row are a range":            {"n1 n2", "n[1-2]"},
		"a row that outgrows its width":       {"n9 n10 n11", "n[9-11]"},
		"zeros are kept":                      {"n09 n10 n11", "n[09-11]"},
		"zeros end with their row":            {"n099 n100 n1000", "n[099-100,1000]"},
		"widths do not mix":                   {"n01 n02 n3 n003", "n[01-02,3,003]"},
		"only zeros":                          {"n000 n0 n00", "n[0,00,000]"},
		"no numbers":                          {"c a b", "a,b,c"},
		"several names":                       {"n6 m1 n1 x n5", "m1,n[1,5-6],x"},
		"only the last number forms ranges":   {"a1b1 a1b2 a2b1 a2b2", "a1b[1-2],a2b[1-2]"},
		"the prefix sorts by numbers":         {"rack10-n1 rack2-n1 rack2-n2", "rack2-n[1-2],rack10-n1"},
		"text at the end":                     {"n2.example.com n1.example.com", "n1.example.com,n2.example.com"},
		"only numbers":                        {"0 2 1", "[0-2]"},
		"a name without a number comes first": {"n1 n n2", "n,n[1-2]"},
		"numbers of any length": {"n12345678901234567890 n12345678901234567891",
			"n12[345678901234567890-345678901234567891]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := hostlist.Compress(strings.Fields(test.names))
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestCompressAndExpandAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	prefixes := []string{"n", "", "n0", "rack1-n", "rack02-n", "rack2-n", "n.b", "x9y"}
	for range 2000 {
		var names []string
		for range random.IntN(30) {
			prefix, width := prefixes[random.IntN(len(prefixes))], random.IntN(4)
			names = append(names, fmt.Sprintf("%s%0*d", prefix, width, random.IntN(120)))
		}
		before := slices.Clone(names)
		expr := hostlist.Compress(names)
		got, err := hostlist.Expand(expr)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, names); diff != "" {
			t.Fatalf("Compress changed its input:\n%s", diff)
		}
		slices.SortFunc(names, hostlist.Compare)
		if want := slices.Compact(names); !slices.Equal(want, got) {
			t.Fatalf("%s expands to\n%q, want\n%q", expr, got, want)
		}
	}
}

func TestCompareIsAnOrder(t *testing.T) {
	sorted := []string{"", "0", "00", "1", "01", "2", "10", "a", "a1", "a01", "a001", "a2", "a10",
		"a1b", "a1b1", "a01b", "a01b1", "a001b", "a1c", "a2b", "a10b", "b"}
	for i, a := range sorted {
		for j, b := range sorted {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := hostlist.Compare(a, b); got != want {
				t.Errorf("Compare(%q, %q) is %d, want %d", a, b, got, want)
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "n[1-3,7],x5", "a[1-2]b[3-4]", "n[08-11]", "n[1-99999999]", "n[", "n]", "[[1]]",
		"n[3-1]", " ,n1\t", "n[1-]", "n\x00[0]", "é[1-2]", "n[000000000000000000-1]", "1[2]3[4]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		count, err := hostlist.Count(expr)
		if err != nil {
			checkError(t, expr, err)
			return
		}
		if count > 2000 {
			return // longer lists are slow to check
		}
		names, err := hostlist.Expand(expr)
		if err != nil || len(names) != count {
			t.Fatalf("%d names (%v), counted %d", len(names), err, count)
		}
		for _, name := range names {
			if name == "" || len(name) > hostlist.MaxNameLength || strings.ContainsAny(name, ", \t\r\n[]") {
				t.Fatalf("%q is not a name", name)
			}
		}
		short := hostlist.Compress(names)
		again, err := hostlist.Expand(short)
		if err != nil {
			t.Fatalf("%q, compressed to %q: %v", expr, short, err)
		}
		slices.SortFunc(names, hostlist.Compare)
		if want := slices.Compact(names); !slices.Equal(want, again) {
			t.Fatalf("%q expands to %q, want %q", short, again, want)
		}
	})
}

func checkError(t *testing.T, expr string, err error) {
	t.Helper()
	var syntax *hostlist.SyntaxError
	var limit *hostlist.LimitError
	switch {
	case errors.As(err, &syntax):
		if syntax.Offset < 0 || syntax.Offset >= len(expr) {
			t.Fatalf("%v is outside %q", err, expr)
		}
	case !errors.As(err, &limit):
		t.Fatalf("%v is of no known type", err)
	}
	if names, again := hostlist.Expand(expr); names != nil || again == nil {
		t.Fatalf("Count of %q fails, but Expand returns %q", expr, names)
	}
}

func BenchmarkExpand10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if names, err := hostlist.Expand("cn[00001-10000]"); len(names) != 10000 || err != nil {
			b.Fatal(len(names), err)
		}
	}
}

func BenchmarkCompress10000(b *testing.B) {
	names, err := hostlist.Expand("cn[00001-10000]")
	if err != nil {
		b.Fatal(err)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	b.ReportAllocs()
	for b.Loop() {
		if short := hostlist.Compress(names); short != "cn[00001-10000]" {
			b.Fatal(short)
		}
	}
}

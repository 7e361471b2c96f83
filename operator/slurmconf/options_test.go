package slurmconf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParseOptions(t *testing.T) {
	for _, tc := range []struct{ name, line, want string }{
		{"nothing", " \t\n", ""},
		{"options in their order and case", "Weight=10 gres=gpu:H100:4", "Weight=10 gres=gpu:H100:4"},
		{"lists under both names are joined", "Features=a,b Weight=1 feature=b,c", "Features=a,b,c Weight=1"},
		{"quotes stay", `Comment="two words" Weight=1`, `Comment="two words" Weight=1`},
		{"the last of two values", "Weight=1 RealMemory=5 weight=2", "Weight=2 RealMemory=5"},
		{"Procs and CPUs are one option", "Procs=1 CPUs=2", "Procs=2"},
		{"Gres are joined", "Gres=gpu:1 Gres=shard:4", "Gres=gpu:1,shard:4"},
		{"options without a value are left out", "Topology= Weight=1", "Weight=1"},
		{"and those with empty quotes", `Comment="" Weight=1`, "Weight=1"},
		{"values that stand apart", "Weight = 1 Gres= gpu:1 RealMemory =7", "Weight=1 Gres=gpu:1 RealMemory=7"},
		{"operators mean the sign alone", "CPUs+=4 Weight -= 1 Gres *=gpu:1", "CPUs=4 Weight=1 Gres=gpu:1"},
		{"several lines become one", "Weight=1\n\tGres=gpu:1\n", "Weight=1 Gres=gpu:1"},
		{"a vertical tab and a form feed are white space", "CPUs=4\vWeight=1\fGres=gpu:1", "CPUs=4 Weight=1 Gres=gpu:1"},
		{"single quotes do not quote", "Comment='a Weight=1 b' Weight=2", "Comment='a Weight=2 b'"},
		{"a quote that does not end", `Comment="a Weight=1`, `Comment="a Weight=1`},
		{"a quote inside a value", `Comment=x"a Weight=1" Gres=gpu:1`, `Comment=x"a Weight=1" Gres=gpu:1`},
		{"a quote before the end of a value", `Comment="a Weight=1"x Gres=gpu:1`, `Comment="a Weight=1"x Gres=gpu:1`},
		{"words that are no options stay", "Weight=1 huh", "Weight=1 huh"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ParseOptions(tc.line).String(); got != tc.want {
				t.Errorf("%q is %q, not %q", tc.line, got, tc.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	o := ParseOptions(`procs="4" Weight=many Features="a, b" Comment="two words" Hex=0x4 Big=99999999999999999999`)
	for name, want := range map[string]string{"CPUs": "4", "Procs": "4", "weight": "many", "Comment": "two words",
		"Gres": ""} {
		if got := o.Value(name); got != want || o.HasAny(name) != (want != "") {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"CPUs": true, "Hex": true, "Weight": false, "Big": false, "Gres": false} {
		if n, ok := o.Number(name); ok != want || ok && n != 4 {
			t.Errorf("%s is the number %d, %t", name, n, ok)
		}
	}
	if got := o.List("Feature"); !slices.Equal(got, []string{"a", "b"}) || o.List("Gres") != nil {
		t.Errorf("the features are %q", got)
	}
}

func TestNamesNode(t *testing.T) {
	for line, want := range map[string]bool{
		"NodeName=a": true, "CPUs=4 nodename += a": true, "NodeName+-=a": true, "CPUs=4\vNodeName=a": true, "CPUs=4\nNodeName\f=a": true,
		"Comment='a NodeName=b'": true, `Comment="a NodeName=b"`: true, `Comment="a NodeName=b`: true,
		"": false, "Comment=NodeName": false, "MyNodeName=a": false, "NodeNames=a": false, "Comment=NodeName=a": false,
	} {
		if got := NamesNode(line); got != want {
			t.Errorf("NamesNode(%q) = %t, want %t", line, got, want)
		}
	}
}

func TestChangesOfOptions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"an option is replaced where it stands", func(o *Options) { o.Add(Option{"weight", "5"}) },
			"Weight=5 Gres=gpu:1"},
		{"another one is added at the end", func(o *Options) { o.Add(Option{"State", "FUTURE"}) },
			"Weight=1 Gres=gpu:1 State=FUTURE"},
		{"a first one replaces its like", func(o *Options) { o.Prepend(Option{"Gres", "gpu:2"}) },
			"Gres=gpu:2 Weight=1"},
		{"removal, in any case", func(o *Options) { o.Remove("gres", "absent") }, "Weight=1"},
		{"a number", func(o *Options) { o.AddNumber("CPUs", 4, "Sockets") }, "Weight=1 Gres=gpu:1 CPUs=4"},
		{"no number in place of another", func(o *Options) { o.AddNumber("Weight", 4) }, "Weight=1 Gres=gpu:1"},
		{"no number beside others", func(o *Options) { o.AddNumber("CPUs", 4, "gres") }, "Weight=1 Gres=gpu:1"},
		{"no unknown number", func(o *Options) { o.AddNumber("CPUs", 0) }, "Weight=1 Gres=gpu:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := ParseOptions("Weight=1 Gres=gpu:1")
			tc.change(&o)
			if got := o.String(); got != tc.want {
				t.Errorf("it is %q, not %q", got, tc.want)
			}
		})
	}
}

// TestParsingKeepsEveryOption: each option appears once, with its last value.
func TestParsingKeepsEveryOption(t *testing.T) {
	names := []string{"Weight", "Gres", "TmpDisk", "realmemory", "CPUs", "Feature", "FEATURES", "MemSpecLimit",
		"Comment"}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := map[string]string{}
		var features []string
		var words []string
		for range r.IntN(8) {
			name := names[r.IntN(len(names))]
			value := fmt.Sprintf("V%d", r.IntN(4))
			if r.IntN(3) == 0 && name == "Comment" {
				value = `"V ` + value + `=x"`
			}
			key := canonicalName(name)
			switch {
			case key == "feature":
				features = MergeLists(features, []string{value})
			case key == "gres" && want[key] != "":
				want[key] = strings.Join(MergeLists(strings.Split(want[key], ","), []string{value}), ",")
			default:
				want[key] = value
			}
			words = append(words, name+"="+value)
		}
		if len(features) > 0 {
			want["feature"] = strings.Join(features, ",")
		}
		got := splitWords(ParseOptions(strings.Join(words, " ")).String())
		if len(got) != len(want) {
			t.Fatalf("seed %d: of %q came %q", seed, words, got)
		}
		for _, word := range got {
			name, value, _ := strings.Cut(word, "=")
			if want[canonicalName(name)] != value {
				t.Fatalf("seed %d: of %q came %q", seed, words, got)
			}
		}
	}
}

func FuzzParseOptions(f *testing.F) {
	for _, text := range []string{"Weight=1", `A="b c`, "= =", "a = = b", "Topology=", "x\ny=z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := ParseOptions(text)
		if twice := ParseOptions(once.String()); !slices.Equal(once.list, twice.list) && wellFormed(once) {
			t.Errorf("%q is %q, and that is %q", text, once, twice)
		}
	})
}

// wellFormed reports whether all words are options, so that the text can be written back unchanged.
func wellFormed(o Options) bool {
	return !slices.ContainsFunc(o.list, func(x Option) bool {
		return x.Name == "" || strings.ContainsAny(x.Name+x.Value, `"'`) || strings.Contains(x.Value, "=")
	})
}

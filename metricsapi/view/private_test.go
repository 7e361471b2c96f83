package view

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPrivateOf(t *testing.T) {
	unknown := Private{Jobs: true}
	untold := slurmclient.Reading[*slurm.Conf]{Poll: slurmclient.Poll{Enabled: true, Known: true}}
	told := func(words ...string) slurmclient.Reading[*slurm.Conf] {
		r := untold
		r.Value = &slurm.Conf{PrivateData: words}
		return r
	}
	pending := slurmclient.Reading[*slurm.Conf]{Poll: slurmclient.Poll{Enabled: true}}
	failed := pending
	failed.Err = errors.New("it does not answer")
	said := func(value string) map[string]string {
		return map[string]string{"view.slinky.slurm.net/private-data": value}
	}
	for _, tc := range []struct {
		name string
		give Settings
		conf slurmclient.Reading[*slurm.Conf]
		want Private
	}{
		{"nothing is known of a slurmrestd that runs elsewhere", Settings{}, untold, unknown},
		{"its annotation says none", Settings{Annotations: said("none")}, untold, Private{}},
		{"its annotation says what slurm.conf does", Settings{Annotations: said("accounts, Jobs,nodes,usage")}, untold, Private{Jobs: true, Nodes: true}},
		{"all", Settings{Annotations: said("all")}, untold, everything()},
		{"an annotation that can not be read", Settings{Annotations: said("job")}, untold, everything()},
		{"slurm.conf is known and does not set it", Settings{Configured: true, ExtraConf: "MinJobAge=2\n"}, untold, Private{}},
		{"slurm.conf sets it", Settings{Configured: true, ExtraConf: "MinJobAge=2\n privatedata = jobs,partitions # why\n"}, untold, Private{Jobs: true, Partitions: true}},
		{"beside another setting of its line", Settings{Configured: true, ExtraConf: "MinJobAge=2\tPrivateData=\"jobs\" MaxJobCount=5"}, untold, Private{Jobs: true}},
		{"an include behind a tab", Settings{Configured: true, ExtraConf: "include\tmore.conf"}, untold, unknown},
		{"the last line counts", Settings{Configured: true, ExtraConf: "PrivateData=jobs\nPrivateData=nodes"}, untold, Private{Nodes: true}},
		{"a setting on two lines", Settings{Configured: true, ExtraConf: "Private\\\nData \\ \n = jobs"}, untold, Private{Jobs: true}},
		{"a setting on the last line, which would go on", Settings{Configured: true, ExtraConf: `PrivateData=jobs \`}, untold, Private{Jobs: true}},
		{"two backslashes end a line", Settings{Configured: true, ExtraConf: "A=b\\\\\nPrivateData=jobs"}, untold, Private{Jobs: true}},
		{"a comment sets nothing", Settings{Configured: true, ExtraConf: "#PrivateData=jobs"}, untold, Private{}},
		{"another key that ends so", Settings{Configured: true, ExtraConf: "MyPrivateData=nodes"}, untold, Private{}},
		{"slurm.conf includes what is not known", Settings{Configured: true, ExtraConf: "Include more.conf"}, untold, unknown},
		{"words that there are not", Settings{Configured: true, ExtraConf: "PrivateData=everything"}, untold, everything()},
		{"the annotation wins", Settings{Configured: true, ExtraConf: "PrivateData=nodes", Annotations: said("")}, untold, Private{}},
		{"slurmctld tells that nothing is private", Settings{}, told(), Private{}},
		{"slurmctld tells what is", Settings{}, told("accounts", "jobs", "nodes"), Private{Jobs: true, Nodes: true}},
		{"slurmctld knows better than what its configuration is made of", Settings{Configured: true, ExtraConf: "PrivateData=nodes"}, told("jobs"), Private{Jobs: true}},
		{"slurmctld tells a word that there is not", Settings{}, told("steps"), everything()},
		{"the annotation wins over slurmctld", Settings{Annotations: said("none")}, told("jobs"), Private{}},
		{"slurmctld could not be asked", Settings{}, failed, unknown},
		{"slurmctld could not be asked, but slurm.conf is made here", Settings{Configured: true, ExtraConf: "PrivateData=nodes"}, failed, Private{Nodes: true}},
		{"nobody asks slurmctld", Settings{}, slurmclient.Reading[*slurm.Conf]{}, unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.give.Unknown = unknown
			if got, settled := PrivateOf(tc.give, tc.conf); got != tc.want || !settled {
				t.Errorf("private are %+v, %t, want %+v", got, settled, tc.want)
			}
		})
	}
	if got, settled := PrivateOf(Settings{Unknown: unknown}, pending); got != everything() || settled {
		t.Errorf("before slurmctld was asked, private are %+v, %t", got, settled)
	}
	if got, settled := PrivateOf(Settings{Annotations: said("none")}, pending); got != (Private{}) || !settled {
		t.Errorf("the annotation waits for nobody: private are %+v, %t", got, settled)
	}
}

func TestSlurmUser(t *testing.T) {
	for _, tc := range []struct{ name, prefix, kube, want string }{
		{"the same name", "", "alice", "alice"},
		{"behind the prefix", "oidc:", "oidc:alice", "alice"},
		{"without the prefix nobody", "oidc:", "alice", ""},
		{"a service account is nobody", "", "system:serviceaccount:a:alice", ""},
		{"nor is one with the prefix", "system:", "system:serviceaccount:a:alice", ""},
		{"the prefix alone", "oidc:", "oidc:", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := (Users{Prefix: tc.prefix}).slurmUser(tc.kube); got != tc.want {
				t.Errorf("%q is %q in Slurm, want %q", tc.kube, got, tc.want)
			}
		})
	}
}

func TestTheWarningThatNotAllIsShown(t *testing.T) {
	kept := func(names ...string) map[Home]bool {
		out := map[Home]bool{}
		for _, name := range names {
			out[home("a", name)] = false
		}
		return out
	}
	for _, tc := range []struct {
		name string
		give viewer
		want string
	}{
		{"nothing is private", viewer{name: "bob", user: "bob"}, ""},
		{"who may see all", viewer{name: "bob", user: "bob", all: map[Home]bool{home("a", "red"): true}}, ""},
		{"one's own", viewer{name: "oidc:bob", user: "bob", all: kept("red")},
			"PrivateData hides jobs of the Slurm cluster a/red: only those of bob are shown; the role slurm-view-all shows all"},
		{"nobody's", viewer{name: "oidc:bob", all: kept("red")},
			"PrivateData hides the jobs of the Slurm cluster a/red: oidc:bob is no user of Slurm; the role slurm-view-all shows all"},
		{"of some clusters", viewer{user: "bob", all: kept("red", "blue", "green")},
			"PrivateData hides jobs of 3 Slurm clusters (a/blue, a/green, a/red): only those of bob are shown; the role slurm-view-all shows all"},
		{"of many", viewer{user: "bob", all: kept("red", "blue", "green", "pink")},
			"PrivateData hides jobs of 4 Slurm clusters (a/blue, a/green, a/pink, …): only those of bob are shown; the role slurm-view-all shows all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.give.warning(); got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestARecordWithoutAUserIsNobodys(t *testing.T) {
	v := viewer{}
	if v.sees(home("a", "red"), true, func(string) bool { return true }) {
		t.Error("nobody sees a private record")
	}
	if n := jobNoun(); n.mayBeSeen(job(1, 0, of("")), "") {
		t.Error("a job without a user is nobody's own")
	}
}

// FuzzPrivateData gives any text to the readers of PrivateData. A line of slurm.conf that sets it
// counts whatever precedes it, and text that cannot be read keeps everything private.
func FuzzPrivateData(f *testing.F) {
	for _, text := range []string{
		"jobs,nodes", "none", "ALL", " jobs , partitions ", "job", "PrivateData=jobs\nPrivateData=none", "privatedata = \"jobs\" # why",
		"include\tmore.conf", "MyPrivateData=nodes", "PrivateData=", "PrivateData==jobs", "a=\\\nPrivateData=jobs",
	} {
		f.Add(text)
	}
	untold := slurmclient.Reading[*slurm.Conf]{}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrivate(text)
		if again, errAgain := ParsePrivate(text + ",none"); again != p || (errAgain == nil) != (err == nil) {
			t.Errorf("%q is %+v, with none %+v", text, p, again)
		}
		words := strings.Split(strings.ToLower(strings.ReplaceAll(text, " ", "")), ",")
		if err == nil && slices.Contains(words, "jobs") && !p.Jobs || slices.Contains(words, "all") && err == nil && p != everything() {
			t.Errorf("%q keeps %+v", text, p)
		}
		conf := text + "\n\nPrivateData=jobs,nodes\n"
		got, settled := PrivateOf(Settings{Configured: true, ExtraConf: conf, Unknown: everything()}, untold)
		if !settled || !got.Jobs || !got.Nodes {
			t.Errorf("%q keeps %+v", conf, got)
		}
		if value, ok := privateDataIn(text); !ok && value != "" || !strings.Contains(text, `\`) && !strings.Contains(text, value) {
			t.Errorf("%q sets PrivateData to %q", text, value)
		}
	})
}

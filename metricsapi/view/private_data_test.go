package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPrivateDataOf(t *testing.T) {
	unknown := PrivateData{Jobs: true}
	unset := slurmclient.Reading[*slurm.Conf]{Poll: slurmclient.Poll{Enabled: true, Known: true}}
	reported := func(words ...string) slurmclient.Reading[*slurm.Conf] {
		r := unset
		r.Value = &slurm.Conf{PrivateData: words}
		return r
	}
	pending := slurmclient.Reading[*slurm.Conf]{Poll: slurmclient.Poll{Enabled: true}}
	failed := pending
	failed.Err = errors.New("it does not answer")
	annotated := func(value string) map[string]string {
		return map[string]string{"view.slinky.slurm.net/private-data": value}
	}
	for _, tc := range []struct {
		name string
		give Settings
		conf slurmclient.Reading[*slurm.Conf]
		want PrivateData
	}{
		{"the configuration of an external cluster is unknown", Settings{}, unset, unknown},
		{"the annotation is none", Settings{Annotations: annotated("none")}, unset, PrivateData{}},
		{"the annotation has the value of slurm.conf", Settings{Annotations: annotated("accounts, Jobs,nodes,usage")},
			unset, PrivateData{Jobs: true, Nodes: true}},
		{"the annotation is all", Settings{Annotations: annotated("all")}, unset, allPrivate()},
		{"the annotation is invalid", Settings{Annotations: annotated("job")}, unset, allPrivate()},
		{"slurm.conf does not set it", Settings{Configured: true, ExtraConf: "MinJobAge=2\n"}, unset, PrivateData{}},
		{"slurm.conf sets it", Settings{Configured: true,
			ExtraConf: "MinJobAge=2\n privatedata = jobs,partitions # why\n"}, unset,
			PrivateData{Jobs: true, Partitions: true}},
		{"a line has several settings",
			Settings{Configured: true, ExtraConf: "MinJobAge=2\tPrivateData=\"jobs\" MaxJobCount=5"}, unset,
			PrivateData{Jobs: true}},
		{"an include is followed by a tab", Settings{Configured: true, ExtraConf: "include\tmore.conf"}, unset,
			unknown},
		{"the last line counts", Settings{Configured: true, ExtraConf: "PrivateData=jobs\nPrivateData=nodes"}, unset,
			PrivateData{Nodes: true}},
		{"a setting continues on the next line", Settings{Configured: true, ExtraConf: "Private\\\nData \\ \n = jobs"},
			unset, PrivateData{Jobs: true}},
		{"the last line ends with a backslash", Settings{Configured: true, ExtraConf: `PrivateData=jobs \`}, unset,
			PrivateData{Jobs: true}},
		{"two backslashes end a line", Settings{Configured: true, ExtraConf: "A=b\\\\\nPrivateData=jobs"}, unset,
			PrivateData{Jobs: true}},
		{"a comment sets nothing", Settings{Configured: true, ExtraConf: "#PrivateData=jobs"}, unset, PrivateData{}},
		{"another key has the same end", Settings{Configured: true, ExtraConf: "MyPrivateData=nodes"}, unset,
			PrivateData{}},
		{"slurm.conf includes another file", Settings{Configured: true, ExtraConf: "Include more.conf"}, unset,
			unknown},
		{"slurm.conf has an unknown value", Settings{Configured: true, ExtraConf: "PrivateData=everything"}, unset,
			allPrivate()},
		{"the annotation overrides slurm.conf", Settings{Configured: true, ExtraConf: "PrivateData=nodes",
			Annotations: annotated("")}, unset, PrivateData{}},
		{"slurmctld reports that nothing is private", Settings{}, reported(), PrivateData{}},
		{"slurmctld reports a value", Settings{}, reported("accounts", "jobs", "nodes"),
			PrivateData{Jobs: true, Nodes: true}},
		{"slurmctld overrides ExtraConf", Settings{Configured: true, ExtraConf: "PrivateData=nodes"}, reported("jobs"),
			PrivateData{Jobs: true}},
		{"slurmctld reports an unknown value", Settings{}, reported("steps"), allPrivate()},
		{"the annotation overrides slurmctld", Settings{Annotations: annotated("none")}, reported("jobs"),
			PrivateData{}},
		{"slurmctld's configuration cannot be read", Settings{}, failed, unknown},
		{"slurmctld's configuration cannot be read, but slurm.conf is rendered from the object",
			Settings{Configured: true, ExtraConf: "PrivateData=nodes"}, failed, PrivateData{Nodes: true}},
		{"slurmctld's configuration is not polled", Settings{}, slurmclient.Reading[*slurm.Conf]{}, unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.give.Default = unknown
			if got, settled := PrivateDataOf(tc.give, tc.conf); got != tc.want || !settled {
				t.Errorf("PrivateData is %+v, %t, want %+v", got, settled, tc.want)
			}
		})
	}
	if got, settled := PrivateDataOf(Settings{Default: unknown}, pending); got != allPrivate() || settled {
		t.Errorf("before the first poll PrivateData is %+v, %t", got, settled)
	}
	if got, settled := PrivateDataOf(Settings{Annotations: annotated("none")}, pending); got != (PrivateData{}) ||
		!settled {
		t.Errorf("before the first poll, with the annotation, PrivateData is %+v, %t", got, settled)
	}
}

func TestSlurmUser(t *testing.T) {
	for _, tc := range []struct{ name, prefix, kube, want string }{
		{"the same name", "", "alice", "alice"},
		{"after the prefix", "oidc:", "oidc:alice", "alice"},
		{"without the prefix", "oidc:", "alice", ""},
		{"a service account", "", "system:serviceaccount:a:alice", ""},
		{"a service account with the prefix", "system:", "system:serviceaccount:a:alice", ""},
		{"only the prefix", "oidc:", "oidc:", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := (Users{Prefix: tc.prefix}).slurmUser(tc.kube); got != tc.want {
				t.Errorf("%q is %q in Slurm, want %q", tc.kube, got, tc.want)
			}
		})
	}
}

func TestTheWarningThatNotAllIsShown(t *testing.T) {
	kept := func(names ...string) map[ClusterRef]bool {
		out := map[ClusterRef]bool{}
		for _, name := range names {
			out[clusterRef("a", name)] = false
		}
		return out
	}
	for _, tc := range []struct {
		name string
		give viewer
		want string
	}{
		{"nothing is private", viewer{name: "bob", user: "bob"}, ""},
		{"the viewer may see all",
			viewer{name: "bob", user: "bob", viewAll: map[ClusterRef]bool{clusterRef("a", "red"): true}}, ""},
		{"a Slurm user", viewer{name: "oidc:bob", user: "bob", viewAll: kept("red")},
			"PrivateData hides jobs of the Slurm cluster a/red: only those of bob are shown; the role slurm-view-all shows all"},
		{"not a Slurm user", viewer{name: "oidc:bob", viewAll: kept("red")},
			"PrivateData hides the jobs of the Slurm cluster a/red: oidc:bob is not a Slurm user; the role slurm-view-all shows all"},
		{"some clusters", viewer{user: "bob", viewAll: kept("red", "blue", "green")},
			"PrivateData hides jobs of 3 Slurm clusters (a/blue, a/green, a/red): only those of bob are shown; the role slurm-view-all shows all"},
		{"many clusters", viewer{user: "bob", viewAll: kept("red", "blue", "green", "pink")},
			"PrivateData hides jobs of 4 Slurm clusters (a/blue, a/green, a/pink, …): only those of bob are shown; the role slurm-view-all shows all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.give.warning(); got != tc.want {
				t.Errorf("the warning is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestARecordWithoutAUserIsNobodys(t *testing.T) {
	v := viewer{}
	if v.sees(clusterRef("a", "red"), true, func(string) bool { return true }) {
		t.Error("a viewer without a Slurm user sees a private record")
	}
	if n := jobResource(); n.isOwnedBy(&clusterRecords[slurm.Job]{}, newJob(1, 0, ofUser("")), "") {
		t.Error("a job without a user belongs to a viewer without a Slurm user")
	}
}

// TestJobsOfUsersWithoutAName: the users are in a directory that slurmrestd does not read.
func TestJobsOfUsersWithoutAName(t *testing.T) {
	unnamed := func(uid, association uint32) func(*slurm.Job) {
		return func(j *slurm.Job) {
			j.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID, o.AssociationID = fmt.Sprint(uid), uid, association })
		}
	}
	jobs := []any{newJob(1, slurm.JobRunning, unnamed(3001, 5)), newJob(2, slurm.JobRunning, unnamed(3002, 6)),
		newJob(3, slurm.JobRunning, unnamed(3003, 0)), newJob(4, slurm.JobRunning, ofUser("3004x"))}
	clusterOf := func(sequence uint64, list ...slurm.Association) Source {
		s := sourceOf(clusterRef("a", "red"), 1, jobs...).withDefault(PrivateData{Jobs: true})
		snapshot, _ := s.Snapshot()
		snapshot.Associations.Value = list
		snapshot.Associations.Poll = slurmclient.Poll{Enabled: true, Known: sequence > 0, Sequence: sequence}
		return s
	}
	d := newDirectory(clusterOf(0))
	s := newJobStore(d)
	expect := func(who, want string) {
		t.Helper()
		if got, err := listPages(t, s, who, internalversion.ListOptions{}, func() {}); err != nil || got != want {
			t.Errorf("%s sees %q, %v, want %q", who, got, err, want)
		}
	}
	expect("alice", "")
	d.set(clusterOf(1, slurm.Association{ID: 5, User: "alice"}, slurm.Association{ID: 6, User: "bob"}, slurm.Association{User: "eve"}))
	refreshed(t, s.timeline)
	expect("alice", "red.1")
	expect("bob", "red.2")
	expect("eve", "")
	expect("3001", "") // a user of Kubernetes may be called like the uid of somebody else
	expect("3004x", "red.4")
	d.set(clusterOf(2, slurm.Association{ID: 6, User: "alice"}))
	refreshed(t, s.timeline)
	expect("alice", "red.2")
}

// FuzzPrivateData parses arbitrary text as PrivateData. A line of slurm.conf that sets it
// applies whatever precedes it, and invalid text makes everything private.
func FuzzPrivateData(f *testing.F) {
	for _, text := range []string{
		"jobs,nodes", "none", "ALL", " jobs , partitions ", "job", "PrivateData=jobs\nPrivateData=none",
		"privatedata = \"jobs\" # why",
		"include\tmore.conf", "MyPrivateData=nodes", "PrivateData=", "PrivateData==jobs", "a=\\\nPrivateData=jobs",
	} {
		f.Add(text)
	}
	unset := slurmclient.Reading[*slurm.Conf]{}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrivateData(text)
		if again, errAgain := ParsePrivateData(text + ",none"); again != p || (errAgain == nil) != (err == nil) {
			t.Errorf("%q is %+v, with none %+v", text, p, again)
		}
		words := strings.Split(strings.ToLower(strings.ReplaceAll(text, " ", "")), ",")
		if err == nil && slices.Contains(words, "jobs") && !p.Jobs || slices.Contains(words, "all") && err == nil &&
			p != allPrivate() {
			t.Errorf("%q keeps %+v", text, p)
		}
		conf := text + "\n\nPrivateData=jobs,nodes\n"
		got, settled := PrivateDataOf(Settings{Configured: true, ExtraConf: conf, Default: allPrivate()}, unset)
		if !settled || !got.Jobs || !got.Nodes {
			t.Errorf("%q keeps %+v", conf, got)
		}
		if value, ok := privateDataInConf(text); !ok && value != "" || !strings.Contains(text, `\`) &&
			!strings.Contains(text, value) {
			t.Errorf("%q sets PrivateData to %q", text, value)
		}
	})
}

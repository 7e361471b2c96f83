package accounts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const text = `# Accounts of the cluster - all of them
QOS - 'High':Priority=100:MaxWall='1-00:00:00'
QOS - long:Flags=DenyOnLimit: \
  MaxJobsPerUser=2
Cluster - 'slurm':Fairshare=1
Parent - 'root'
User - 'root':DefaultAccount='root'
Account - 'Physics':Description="a # \# b":QOS='normal,high'
Parent - 'physics'
User - 'alice':DefaultAccount='physics'
User - bob:Part=gpu:Fairshare=2 # at night
a line that sacctmgr skips
`

func TestParseFile(t *testing.T) {
	got, err := ParseFile(text)
	if err == nil || !strings.Contains(err.Error(), "line 8: a quotation mark is not closed") {
		t.Errorf("a hash begins a comment also in quotation marks, but the error is %v", err)
	}
	got, err = ParseFile(strings.Replace(text, "a # ", "a ", 1))
	if err != nil {
		t.Fatal(err)
	}
	want := File{Cluster: "slurm", Accounts: []string{"physics"}, Parents: []string{"root", "physics"},
		QOS: []QOS{{Name: "high", Options: []string{"Priority=100", "MaxWall=1-00:00:00"}, Line: 2},
			{Name: "long", Options: []string{"Flags=DenyOnLimit", "MaxJobsPerUser=2"}, Line: 3}},
		Users: []Association{{Account: "root", User: "root"}, {Account: "physics", User: "alice"},
			{Account: "physics", User: "bob", Partition: "gpu"}}}
	loaded := strings.Split(got.Text, "\n")
	got.Text = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, line := range strings.Split(text, "\n") {
		isQOS := i >= 1 && i <= 3
		if isQOS && loaded[i] != "#" || !isQOS && i != 7 && loaded[i] != line {
			t.Errorf("sacctmgr loads %q as line %d", loaded[i], i+1)
		}
	}
}

func TestParseFileRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no cluster", "Account - a\n", "no line Cluster"},
		{"nothing", "", "no line Cluster"},
		{"two clusters", "Cluster - a\nCluster - b\n", "line 2: a file has one cluster"},
		{"a name that is missing", "Cluster - a\nUser -\n", "line 2: user has no name"},
		{"an open quotation mark", "Cluster - 'a\n", "line 1: a quotation mark"},
		{"a flag of sacctmgr as an option", "QOS - a:-i\n", `line 1: "-i" is not an option`},
		{"a flag of sacctmgr as a name", "QOS - --help\n", `line 1: "--help" is not an option`},
		{"an unquoted time", "QOS - a:MaxWall=1-00:00:00\n", `line 1: "00" is not an option`},
		{"a control character", "Cluster - a\x01b\n", "line 1: control characters"},
	} {
		if _, err := ParseFile(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: the error is %v", tc.name, err)
		}
	}
}

func TestUnlisted(t *testing.T) {
	file, err := ParseFile("Cluster - c\nAccount - a\nParent - a\nUser - Alice\nUser - bob:Partition=gpu\n")
	if err != nil {
		t.Fatal(err)
	}
	existing := []Association{{Account: "root"}, {Account: "root", User: "root"}, {Account: "root", User: "slurm"},
		{Account: "a"}, {Account: "old"}, {Account: "a", User: "alice"}, {Account: "old", User: "alice"},
		{Account: "a", User: "bob"}, {Account: "a", User: "bob", Partition: "gpu"},
		{Account: "a", User: "bob", Partition: "cpu"}, {Account: "a", User: "carol"}, {Account: "old", User: "dora"},
		{Account: "old", User: "dora", Partition: "cpu"}}
	// Slurm removes associations in partitions together with the one that has no partition.
	want := []Association{{Account: "a", User: "bob", Partition: "cpu"}, {Account: "old", User: "dora", Partition: "cpu"},
		{Account: "old", User: "alice"}, {Account: "a", User: "carol"}, {Account: "old", User: "dora"}, {Account: "old"}}
	if diff := cmp.Diff(want, listing{files: []File{file}, needed: []string{"slurm"}}.unlisted(existing)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add(text)
	f.Add("Cluster - a\nQOS - b:c=d\\")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ParseFile(text)
		if err != nil {
			return
		}
		if file.Cluster == "" {
			t.Error("there is no cluster")
		}
		if got, want := strings.Count(file.Text, "\n"), strings.Count(text, "\n"); got != want {
			t.Errorf("%d lines became %d", want, got)
		}
		again, err := ParseFile(file.Text)
		if err != nil || len(again.QOS) > 0 || !cmp.Equal(again.Users, file.Users) {
			t.Errorf("what sacctmgr loads is another file: %v", err)
		}
	})
}

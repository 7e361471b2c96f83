package accounts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// knownTeams returns the answers of a slurmdbd whose cluster has the given number of accounts, each with a user.
func knownTeams(count int) []answer {
	rows := []string{"root||", "root|root|", "root|slurm|"}
	for i := range count {
		rows = append(rows, fmt.Sprintf("team%d||", i), fmt.Sprintf("team%d|user%d|", i, i))
	}
	return []answer{{"-nP show cluster*", "other\nslurm", 0}, {"-nP show qos*", "normal", 0},
		{"-nP show assoc*", strings.Join(rows, "\n"), 0}}
}

// teams returns a file with accounts, each with a user.
func teams(from, to int) string {
	lines := []string{"Cluster - slurm"}
	for i := from; i < to; i++ {
		lines = append(lines, "Parent - root", fmt.Sprintf("Account - team%d", i), fmt.Sprintf("Parent - team%d", i),
			fmt.Sprintf("User - user%d", i))
	}
	return strings.Join(lines, "\n") + "\n"
}

// deletions returns the calls that remove something.
func (f *fake) deletions() []string {
	f.Helper()
	var out []string
	for line := range strings.Lines(f.calls()) {
		if strings.Contains(line, " delete ") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestFilesOfOneClusterAreOneList(t *testing.T) {
	f := newFake(t, knownTeams(4)...)
	_, err := f.load(slurmconf.Accounts{Prune: true, Files: map[string]string{"a.cfg": teams(0, 2), "b.cfg": teams(2, 4)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.deletions(); len(got) > 0 {
		t.Errorf("removed %q, which the other file lists", got)
	}
}

// TestNothingIsRemoved lists the reasons why prune removes nothing of a cluster.
func TestNothingIsRemoved(t *testing.T) {
	unreadable := knownTeams(8)
	unreadable[2].output += "\nodd|na|me|"
	refusing := answer{"add qos bad*", "sacctmgr: error: no", 1}
	for _, tc := range []struct {
		name    string
		answers []answer
		files   map[string]string
		want    string
	}{
		{"the file lists nothing", knownTeams(8), files("Cluster - slurm\n"),
			"a.cfg: lists no account or user of its own"},
		{"the file lists root alone", knownTeams(8), files("Cluster - slurm\nParent - root\nUser - root\nUser - slurm\n"),
			"a.cfg: lists no account or user of its own"},
		{"the file lists others", knownTeams(8), files(teams(8, 100)), "would remove 16 of 16"},
		{"more than a quarter", knownTeams(8), files(teams(3, 8)), "would remove 6 of 16"},
		{"all of a small cluster", knownTeams(1), files(teams(1, 3)), "would remove 2 of 2"},
		{"another file has no cluster", knownTeams(8), map[string]string{"a.cfg": teams(0, 7), "b.cfg": "Account - team7\n"},
			"b.cfg: it has no line Cluster"},
		{"another file of the cluster is refused", append([]answer{refusing}, knownTeams(8)...),
			map[string]string{"a.cfg": teams(0, 6), "b.cfg": "QOS - bad\n" + teams(6, 7)}, `b.cfg: line 1, "QOS - bad": no`},
		{"a line of sacctmgr that cannot be read", unreadable, files(teams(0, 7)), "cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, tc.answers...)
			_, err := f.load(slurmconf.Accounts{Prune: true, Files: tc.files})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, without %q", err, tc.want)
			}
			if got := f.deletions(); len(got) > 0 {
				t.Errorf("removed %q", got)
			}
		})
	}
}

func TestAFewAreRemoved(t *testing.T) {
	f := newFake(t, knownTeams(8)...)
	if _, err := f.load(slurmconf.Accounts{Prune: true, Files: files(teams(2, 8))}); err != nil {
		t.Fatal(err)
	}
	want := []string{"-i delete user where name=user0 account=team0 cluster=slurm",
		"-i delete user where name=user1 account=team1 cluster=slurm",
		"-i delete account where name=team0 cluster=slurm", "-i delete account where name=team1 cluster=slurm"}
	if diff := cmp.Diff(want, f.deletions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAParentIsListed: Slurm removes an account with its users, also those that a file lists.
func TestAParentIsListed(t *testing.T) {
	f := newFake(t, knownTeams(8)...)
	text := strings.Replace(teams(0, 8), "Account - team3\n", "", 1)
	if _, err := f.load(slurmconf.Accounts{Prune: true, Files: files(text)}); err != nil {
		t.Fatal(err)
	}
	if got := f.deletions(); len(got) > 0 {
		t.Errorf("removed %q, of which the file lists a user", got)
	}
}

// TestAnAccountOfRootStays: Slurm would remove the associations of root and of SlurmUser with it.
func TestAnAccountOfRootStays(t *testing.T) {
	answers := knownTeams(8)
	answers[2].output += "\nteam3|root|\nteam4|slurm|"
	f := newFake(t, answers...)
	text := strings.NewReplacer("Account - team3\n", "", "Parent - team3\n", "", "User - user3\n", "").Replace(teams(0, 8))
	if _, err := f.load(slurmconf.Accounts{Prune: true, Files: files(text)}); err != nil {
		t.Fatal(err)
	}
	want := []string{"-i delete user where name=user3 account=team3 cluster=slurm"}
	if diff := cmp.Diff(want, f.deletions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAJobKeepsOnlyItsOwn: associations that slurmdbd refuses to remove do not keep others.
func TestAJobKeepsOnlyItsOwn(t *testing.T) {
	active := answer{"-i delete user where name=user0*", "Error with request: Job(s) active\n  JobID = 3", 1}
	f := newFake(t, append([]answer{active}, knownTeams(8)...)...)
	_, err := f.load(slurmconf.Accounts{Prune: true, Files: files(teams(2, 8))})
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "user user0 of account team0 stays: ") ||
		!strings.Contains(refused.Reason, "JobID = 3") {
		t.Errorf("the error is %v", err)
	}
	if got := f.deletions(); !strings.Contains(strings.Join(got, "\n"), "name=team1 ") {
		t.Errorf("the calls are %q", got)
	}
}

// TestAConfirmedRemoval: the name in the message confirms only that removal.
func TestAConfirmedRemoval(t *testing.T) {
	f := newFake(t, knownTeams(8)...)
	wanted := slurmconf.Accounts{Prune: true, Files: files(teams(3, 8)), DryRun: true}
	shown, err := f.load(wanted)
	if err != nil || !strings.Contains(shown, "would remove 6 of 16") || !strings.Contains(shown, "removes user user0") {
		t.Fatalf("the dry run shows %q, %v", shown, err)
	}
	_, name, _ := strings.Cut(shown, "remove-accounts=")
	name, _, _ = strings.Cut(name, ";")
	wanted.DryRun, wanted.Removals = false, []string{"6-00000000", name}
	if _, err := f.load(wanted); err != nil || len(f.deletions()) != 6 {
		t.Errorf("removed %q, %v", f.deletions(), err)
	}
	wanted.Files = files(teams(4, 8))
	if _, err := f.load(wanted); err == nil || len(f.deletions()) != 6 {
		t.Errorf("the name of one removal confirms another one: %q, %v", f.deletions(), err)
	}
	wanted.Files = files("Cluster - slurm\n")
	if _, err := f.load(wanted); err == nil || len(f.deletions()) != 6 {
		t.Errorf("all accounts are removed: %q, %v", f.deletions(), err)
	}
}

// TestSomebodyElseAddsAUser to an account that is about to be removed with all its users.
func TestSomebodyElseAddsAUser(t *testing.T) {
	existing := []Association{{Account: "root"}, {Account: "a"}, {Account: "b"}, {Account: "c"}, {Account: "d"}}
	files := listing{files: []File{{Accounts: []string{"a", "b", "c"}}}}
	planned := planRemoval("slurm", files, existing)
	if !planned.contains(planned) || planned.refusal(nil) != "" {
		t.Errorf("the plan is %+v", planned)
	}
	if now := planRemoval("slurm", files, append(existing, Association{Account: "d", User: "eve"})); planned.contains(now) {
		t.Errorf("user eve would be removed: %+v", now)
	}
}

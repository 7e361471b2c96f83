package accounts

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// fake is a sacctmgr that writes down how it is called.
type fake struct {
	*testing.T
	dir string
}

// answer is the output and the status of sacctmgr for arguments that a shell pattern matches.
type answer struct {
	pattern, output string
	status          int
}

// newFake returns a sacctmgr that gives the first matching answer, and otherwise prints nothing.
func newFake(t *testing.T, answers ...answer) *fake {
	t.Helper()
	f := &fake{t, t.TempDir()}
	script := "#!/bin/sh\necho \"$*\" | sed 's|file=.*/|file=|' >>" + f.dir + "/calls\ncase \"$*\" in\n"
	for _, a := range answers {
		if a.pattern == "" {
			continue
		}
		script += fmt.Sprintf("%s)\ncat <<'TEXT'\n%s\nTEXT\nexit %d ;;\n", strings.ReplaceAll(a.pattern, " ", `\ `), a.output,
			a.status)
	}
	script += `load\ file=*) cp "${2#file=}" ` + f.dir + "/loaded ;;\nesac\n"
	if err := process.WriteProgram(filepath.Join(f.dir, "sacctmgr"), []byte(script)); err != nil {
		t.Fatal(err)
	}
	return f
}

// load loads files with it.
func (f *fake) load(wanted slurmconf.Accounts) (string, error) {
	l := Loader{Sacctmgr: filepath.Join(f.dir, "sacctmgr"), TempDir: f.dir, User: "slurm",
		Port: func() (int32, error) { return 6819, nil }, Log: slog.New(slog.DiscardHandler)}
	return l.Load(f.Context(), wanted)
}

// calls returns the calls that ask for nothing but change something or try to.
func (f *fake) calls() string {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "calls"))
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "-nP show") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

// root is the answer of a slurmdbd where the cluster has no accounts yet.
var root = answer{"-nP show assoc*", "root||\nroot|root|", 0}

// known are the answers of a slurmdbd that knows the cluster and the user.
func known() []answer {
	return []answer{{"-nP show cluster*", "other\nslurm", 0}, {"-nP show qos*", "normal\nhigh", 0},
		{"-nP show assoc*", "root||\nroot|root|\nroot|slurm|\na||\nold||\nold|bob|gpu", 0}}
}

func files(text string) map[string]string { return map[string]string{"a.cfg": text} }

const small = "QOS - new:Priority=1\nQOS - high:Priority=2\nQOS - normal\nCluster - slurm\nAccount - a\n"

func TestEverythingIsTriedBeforeItIsApplied(t *testing.T) {
	f := newFake(t, append(known(), answer{"load file=*", "Accounts\n" + physics, 0})...)
	got, err := f.load(slurmconf.Accounts{Files: files(small), Prune: true})
	if err != nil {
		t.Fatal(err)
	}
	want := "adds QOS new Priority=1; sets QOS high Priority=2; adds accounts physics; " +
		"removes user bob of account old in partition gpu; removes account old"
	if got != want {
		t.Errorf("the changes are %q", got)
	}
	want = `add qos new Priority=1
-i add qos new Priority=1
modify qos where name=high set Priority=2
load file=accounts.cfg
-i modify qos where name=high set Priority=2
-i load file=accounts.cfg
-i delete user where name=bob account=old cluster=slurm partition=gpu
-i delete account where name=old cluster=slurm`
	if got := f.calls(); got != want {
		t.Errorf("the calls are\n%s", got)
	}
}

func TestNothingIsRemovedUnlessAsked(t *testing.T) {
	f := newFake(t, known()...)
	got, err := f.load(slurmconf.Accounts{Files: files(small)})
	if err != nil || got != "adds QOS new Priority=1; sets QOS high Priority=2" {
		t.Errorf("it returns %q, %v", got, err)
	}
	if got := f.calls(); strings.Contains(got, "delete") || strings.Contains(got, "clean") {
		t.Errorf("the calls are\n%s", got)
	}
	loaded, err := os.ReadFile(filepath.Join(f.dir, "loaded"))
	if err != nil || string(loaded) != "#\n#\n#\nCluster - slurm\nAccount - a\n" {
		t.Errorf("sacctmgr loads %q, %v", loaded, err)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	f := newFake(t, known()...)
	got, err := f.load(slurmconf.Accounts{Files: files(small), DryRun: true, Prune: true})
	if err != nil || !strings.Contains(got, "high Priority=2; removes user bob") {
		t.Errorf("it returns %q, %v", got, err)
	}
	if got := f.calls(); strings.Contains(got, "-i") {
		t.Errorf("the calls are\n%s", got)
	}
}

// TestADryRunWithoutTheQOS: a dry run cannot check the accounts without the QOS.
func TestADryRunWithoutTheQOS(t *testing.T) {
	f := newFake(t, append(known(), answer{"load file=*", "You gave a bad qos 'new'\n Problem with line(5)", 1})...)
	got, err := f.load(slurmconf.Accounts{Files: files(small), DryRun: true})
	want := `; the accounts can be tried only when the QOS exist: line 5, "Account - a": You gave a bad qos 'new'`
	if err != nil || !strings.HasPrefix(got, "adds QOS new") || !strings.Contains(got, want) {
		t.Errorf("it returns %q, %v", got, err)
	}
}

func TestAnUnknownUserIsAdded(t *testing.T) {
	f := newFake(t, known()[0], root)
	if _, err := f.load(slurmconf.Accounts{Files: files("Cluster - slurm\n")}); err != nil {
		t.Fatal(err)
	}
	if got := f.calls(); !strings.HasPrefix(got, "-iQ add user slurm account=root cluster=slurm\nload ") {
		t.Errorf("the calls are\n%s", got)
	}
}

func TestWhatIsRefused(t *testing.T) {
	unknown := " Unknown option: Fairshares=1\n Problem with line(2)"
	for _, tc := range []struct {
		name, text string
		answer     answer
		want       string
	}{
		{"a line of the file", "Cluster - slurm\nAccount - a:Fairshares=1\n", answer{"load file=*", unknown, 1},
			`a.cfg: line 2, "Account - a:Fairshares=1": Unknown option: Fairshares=1; Problem with line(2)`},
		{"a QOS", "# one\nQOS - new:Prio=x\nCluster - slurm\n", answer{"add qos new*", "sacctmgr: error: Bad value", 1},
			`a.cfg: line 2, "QOS - new:Prio=x": Bad value`},
		{"a file without a cluster", "Account - a\n", answer{}, "a.cfg: it has no line Cluster"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, append(known(), tc.answer)...)
			_, err := f.load(slurmconf.Accounts{Files: map[string]string{"a.cfg": tc.text, "b.cfg": "Cluster - other\n"}})
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, tc.want) {
				t.Errorf("the error is %v", err)
			}
			applied := 1 // the other file
			if strings.HasPrefix(tc.answer.pattern, "load") {
				applied = 0
			}
			if got := f.calls(); strings.Count(got, "-i load") != applied {
				t.Errorf("the other file is not applied, or the refused one is: the calls are\n%s", got)
			}
		})
	}
}

func TestWhatIsWaitedFor(t *testing.T) {
	refusing := answer{"-nP show cluster*", "sacctmgr: error: Problem talking to the database: Connection refused", 1}
	for _, tc := range []struct {
		name    string
		answers []answer
		want    string
	}{
		{"slurmdbd", []answer{refusing}, "slurmdbd does not answer sacctmgr: Problem talking to the database"},
		{"the cluster", []answer{{"-nP show cluster*", "other", 0}}, "slurmdbd does not know cluster slurm yet"},
		{"the account root of the cluster", []answer{{"-nP show cluster*", "slurm", 0}},
			"cluster slurm has no account root yet"},
		{"its database", []answer{known()[0], root, {"-iQ add user*", "no", 1}}, "slurmdbd does not answer sacctmgr: no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newFake(t, tc.answers...).load(slurmconf.Accounts{Files: files(small)})
			var waiting *WaitingError
			if !errors.As(err, &waiting) || !strings.HasPrefix(waiting.Reason, tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestASlurmdbdThatIsLostMeanwhile is not the fault of the file.
func TestASlurmdbdThatIsLostMeanwhile(t *testing.T) {
	f := newFake(t, append(known(), answer{"load file=*", "Connection reset", 1})...)
	lost := filepath.Join(f.dir, "sacctmgr")
	script, err := os.ReadFile(lost)
	if err != nil {
		t.Fatal(err)
	}
	gone := strings.Replace(string(script), "case ",
		"grep -q load "+f.dir+"/calls && [ \"$2\" = show ] && exit 1\ncase ", 1)
	if err := process.WriteProgram(lost, []byte(gone)); err != nil {
		t.Fatal(err)
	}
	var waiting *WaitingError
	if _, err := f.load(slurmconf.Accounts{Files: files("Cluster - slurm\n")}); !errors.As(err, &waiting) {
		t.Errorf("the error is %v", err)
	}
}

func TestWithoutSacctmgr(t *testing.T) {
	f := newFake(t)
	if err := os.Remove(filepath.Join(f.dir, "sacctmgr")); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	if _, err := f.load(slurmconf.Accounts{Files: files("Cluster - slurm\n")}); !errors.As(err, &refused) {
		t.Errorf("the error is %v", err)
	}
}

// TestAnUnknownClusterHoldsUpNoOther: its slurmctld may never register it.
func TestAnUnknownClusterHoldsUpNoOther(t *testing.T) {
	f := newFake(t, known()...)
	texts := map[string]string{"a.cfg": "Cluster - absent\nAccount - x\n", "b.cfg": "Cluster - slurm\nAccount - a\n"}
	_, err := f.load(slurmconf.Accounts{Files: texts})
	var waiting *WaitingError
	if !errors.As(err, &waiting) || !strings.HasPrefix(waiting.Reason, "slurmdbd does not know cluster absent yet") ||
		!waiting.IsOfCluster {
		t.Errorf("the error is %v", err)
	}
	if got := f.calls(); strings.Count(got, "-i load") != 1 {
		t.Errorf("only the file of the known cluster must be applied: the calls are\n%s", got)
	}
	texts["c.cfg"] = "Account - y\n"
	_, err = f.load(slurmconf.Accounts{Files: texts})
	var refused *RefusedError
	want := []string{"c.cfg: it has no line Cluster", "slurmdbd does not know cluster absent yet"}
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want[0]) || !strings.Contains(refused.Reason, want[1]) {
		t.Errorf("the error is %v", err)
	}
}

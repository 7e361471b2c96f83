package configagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// newState returns a folder with the state of a release and a slurmctld of another one.
func newState(t *testing.T, protocol, slurmctld string) StateGuard {
	t.Helper()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	for name, content := range map[string]string{
		"state/job_state": stateHeader + protocol + "\x00jobs", "state/hash.1/job.1/script": "#!/bin/sh\n",
		"state/accepted-config/slurm.conf": "x", "slurmctld": "#!/bin/sh\necho slurm-wlm " + slurmctld + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := process.WriteProgram(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	return StateGuard{Slurmctld: filepath.Join(dir, "slurmctld"), Dir: state}
}

// TestAMissingState: a slurmctld whose state is missing would end all jobs.
func TestAMissingState(t *testing.T) {
	guard := StateGuard{Slurmctld: "/nonexistent", Dir: t.TempDir(), Note: filepath.Join(t.TempDir(), "note")}
	if err := guard.Prepare(t.Context()); err != nil {
		t.Errorf("a first start: %v", err)
	}
	if err := os.WriteFile(guard.Note, []byte("claim\nrestore it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := guard.Prepare(t.Context()); err == nil || err.Error() != "restore it" {
		t.Errorf("a start without the state that there was: %v", err)
	}
	if err := os.WriteFile(filepath.Join(guard.Dir, "job_state"), []byte("of somebody"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := guard.Prepare(t.Context()); err != nil {
		t.Errorf("slurmctld does not say itself what is wrong with its state: %v", err)
	}
}

func TestPrepare(t *testing.T) {
	const of2411, of2605 = "\x2a\x00", "\x2d\x00"
	for _, tc := range []struct {
		name, protocol, slurmctld string
		// want is a part of the error, and backup the folder with the copy.
		want, backup string
	}{
		{"the same release", of2605, "26.05.5", "", ""},
		{"a newer slurmctld copies the state", of2411, "26.05.5", "", "backup-24.11"},
		{"an older slurmctld must not start", of2605, "24.11.5", "written by Slurm 26.05, and slurmctld is 24.11", ""},
		{"a release in between is needed", of2411, "27.05.0", "use an image of a release in between first", ""},
		{"an unknown slurmctld", of2411, "of somebody", "names no release", ""},
		{"no state of Slurm", "", "26.05.5", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			guard := newState(t, tc.protocol, tc.slurmctld)
			for range 2 { // the second time a copy exists
				err := guard.Prepare(t.Context())
				if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("the error is %v", err)
				}
			}
			backups, err := filepath.Glob(filepath.Join(guard.Dir, "backup-*"))
			if err != nil {
				t.Fatal(err)
			}
			if tc.backup == "" {
				if len(backups) > 0 {
					t.Errorf("there is %v", backups)
				}
				return
			}
			for _, file := range []string{"job_state", "hash.1/job.1/script"} {
				want, err := os.ReadFile(filepath.Join(guard.Dir, file))
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(filepath.Join(guard.Dir, tc.backup, file))
				if err != nil || string(got) != string(want) {
					t.Errorf("the copy of %s is %q, %v", file, got, err)
				}
			}
		})
	}
}

func TestPrepareWithoutState(t *testing.T) {
	if err := (StateGuard{Slurmctld: "/nonexistent", Dir: t.TempDir()}).Prepare(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAnOldCopyDoesNotCount: neither the copy of an earlier upgrade nor its remaining empty folder counts.
func TestAnOldCopyDoesNotCount(t *testing.T) {
	const of2411 = "\x2a\x00"
	for _, earlier := range []string{"", "job_state", "job_state of an interrupted copy"} {
		guard := newState(t, of2411, "26.05.5")
		backup := filepath.Join(guard.Dir, "backup-24.11")
		folder := backup
		if strings.Contains(earlier, "interrupted") {
			folder += ".unfinished"
		}
		if err := os.MkdirAll(folder, 0o750); err != nil {
			t.Fatal(err)
		}
		if earlier != "" {
			if err := os.WriteFile(filepath.Join(folder, "job_state"), []byte("old jobs"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := guard.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(backup, "job_state"))
		if err != nil || !strings.HasSuffix(string(got), "jobs") || string(got) == "old jobs" {
			t.Errorf("beside %q the copy is %q, %v", earlier, got, err)
		}
		if all, _ := filepath.Glob(backup + "*"); len(all) != 1 {
			t.Errorf("beside %q there is %v", earlier, all)
		}
	}
}

// TestTheNewestFileTellsTheRelease: a slurmctld that ended while it converted the state has written some files.
func TestTheNewestFileTellsTheRelease(t *testing.T) {
	const of2411, of2605 = "\x2a\x00", "\x2d\x00"
	guard := newState(t, of2411, "24.11.5")
	if got := guard.Release(); got != "24.11" {
		t.Errorf("the release is %q", got)
	}
	if err := os.WriteFile(filepath.Join(guard.Dir, "part_state"), []byte(stateHeader+of2605), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := guard.Release(); got != "26.05" {
		t.Errorf("the release is %q", got)
	}
	err := guard.Prepare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "written by Slurm 26.05") || strings.Contains(err.Error(), "restore") {
		t.Errorf("without a copy the error is %v", err)
	}
	backup := filepath.Join(guard.Dir, "backup-24.11")
	if err := os.Mkdir(backup, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(backup, "job_state"), []byte(stateHeader+of2411), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := guard.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "or restore "+backup) {
		t.Errorf("with a copy the error is %v", err)
	}
	if got := (StateGuard{Dir: t.TempDir()}).Release(); got != "" {
		t.Errorf("without a state the release is %q", got)
	}
}

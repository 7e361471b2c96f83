package configagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// readAccepted returns the files in a folder of accepted files, or nil.
func readAccepted(dir, conf string) Files {
	record, _ := readAcceptedRecord(dir, conf)
	return record.Files
}

// TestADaemonWaitsForUnreadableAcceptedFiles: jobs may depend on them, so slurmctld does not start with other files, and nothing is
// decided.
func TestADaemonWaitsForUnreadableAcceptedFiles(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":       func(path string) error { return os.WriteFile(path, []byte(`{"files":{"slu`), 0o600) },
		"empty":      func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"no files":   func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
		"not a file": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"not a folder": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.want("A", "PartitionName=a")
			path := filepath.Join(e.cfg.Accepted, inForceFile)
			readable, err := os.ReadFile(path)
			if err = errors.Join(err, os.RemoveAll(e.cfg.Live), spoil(path)); err != nil {
				t.Fatal(err)
			}
			e.agent = New(e.cfg)
			e.want("B", "PartitionName=b")
			s := e.agent.Status()
			if e.agent.HasStarted() || s.RetryAt.IsZero() || !strings.Contains(s.Error, "reading what was in force before") {
				t.Errorf("HasStarted() = %t, the status is %+v", e.agent.HasStarted(), s)
			}
			if err := errors.Join(os.RemoveAll(e.cfg.Accepted), os.Mkdir(e.cfg.Accepted, 0o700), os.WriteFile(path, readable, 0o600)); err != nil {
				t.Fatal(err)
			}
			e.held, e.now = &HeldError{"PartitionInUse", "partition a has job 5"}, s.RetryAt
			e.agent.look(t.Context())
			e.check("A", "", "PartitionName=a")
		})
	}
}

// TestTwoAgentsWriteTheAcceptedRecord: two slurmctlds of one state apply a revision at the same time. A reader of the record, such
// as the agent of a new pod, finds one or the other.
func TestTwoAgentsWriteTheAcceptedRecord(t *testing.T) {
	dir := t.TempDir()
	write := func(revision string, size int) error {
		return newFileWriter().writeAccepted(dir, Files{slurmconf.RevisionFile: {[]byte(revision), 0o444},
			"slurm.conf": {[]byte(strings.Repeat("x", size)), 0o444}}, nil)
	}
	if err := write("A", 100); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	written := make(chan struct{})
	for i, revision := range []string{"B", "C"} {
		writers.Go(func() {
			for n := range 100 {
				if err := write(revision, 1000+n*(1+i*200)); err != nil {
					t.Errorf("writing %s: %v", revision, err)
				}
			}
		})
	}
	go func() { writers.Wait(); close(written) }()
	for isWriting := true; isWriting; {
		select {
		case <-written:
			isWriting = false
		default:
		}
		if _, err := readAcceptedRecord(dir, "slurm.conf"); err != nil {
			t.Fatalf("reading the record: %v", err)
		}
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// TestLeftoversAreRemoved: an agent may end while it writes a record, and another one may be writing it.
func TestLeftoversAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	old, isWritten := filepath.Join(filepath.Dir(path), ".record.1.new"), filepath.Join(filepath.Dir(path), ".record.2.new")
	ago := time.Now().Add(-leftoverAge - time.Minute)
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, ago, ago), os.WriteFile(isWritten, nil, 0o600),
		WriteShared(path, File{[]byte("text"), 0o600})); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".record.*"))
	if len(found) != 1 || found[0] != isWritten || err != nil {
		t.Errorf("the folder has %v, %v, want %s", found, err, isWritten)
	}
}

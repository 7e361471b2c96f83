package configagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readAccepted returns the files in a folder of accepted files, nil if there are none.
func readAccepted(dir, conf string) Files {
	record, _ := readAcceptedRecord(dir, conf)
	return record.Files
}

// TestADaemonWaitsForUnreadableAcceptedFiles: jobs may depend on them, so slurmctld neither starts with others nor is anything decided.
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

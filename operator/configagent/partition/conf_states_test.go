package partition

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestAStateThatCouldNotBeSetIsNotForgotten: Restore must still give the partition its own state back.
func TestAStateThatCouldNotBeSetIsNotForgotten(t *testing.T) {
	dir := t.TempDir()
	programs := Programs{Execute: func(_ context.Context, _ string, args ...string) (string, error) {
		if args[0] == "update" {
			return "", errors.New("access/permission denied")
		}
		return "PartitionName=a AllowGroups=ALL State=UP TotalCPUs=4\n", nil
	}}
	c := ConfStates{Programs: programs, Live: filepath.Join(dir, "live"),
		File: filepath.Join(dir, "states"), Overridden: filepath.Join(dir, "drained")}
	if err := os.Mkdir(c.Live, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Live, "slurm.conf"), []byte("PartitionName=a Nodes=ALL State=DRAIN\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	was := map[string]string{"a": Up}
	for _, file := range []string{c.File, c.Overridden} {
		if err := record(file).write(was); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Apply(t.Context()); err == nil {
		t.Error("a scontrol that fails is no error")
	}
	for _, file := range []string{c.File, c.Overridden} {
		if got, err := record(file).read(); err != nil || !maps.Equal(got, was) {
			t.Errorf("%s has %v, %v", filepath.Base(file), got, err)
		}
	}
}

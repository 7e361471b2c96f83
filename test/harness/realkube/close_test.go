//go:build e2e

package realkube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestCloseLeavesNothing(t *testing.T) {
	c, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := namespaceOf(t, c)
	if inside := process.NamesIn(t, namespace); len(inside) < 5 {
		t.Fatalf("processes in the cluster = %q, want at least its daemons", inside)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), process.NamesIn(t, namespace)); diff != "" {
		t.Errorf("processes left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Dir(c.Dir)); !os.IsNotExist(err) {
		t.Errorf("the cluster's folder still exists: %v", err)
	}
}

func TestClusterEndsWithItsOwner(t *testing.T) {
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		owner.Process.Kill()
		owner.Wait()
	})
	c, err := prepareCluster(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.runUp(t.Context(), "--owner", strconv.Itoa(owner.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	namespace := namespaceOf(t, c)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	owner.Wait()
	awaitOutput(t, "[]", func(context.Context) (string, error) {
		return fmt.Sprint(process.NamesIn(t, namespace)), nil
	})
}

// namespaceOf returns the pid namespace of a cluster.
func namespaceOf(t *testing.T, c *Cluster) string {
	t.Helper()
	pid, err := c.PID(t.Context(), "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		t.Fatal(err)
	}
	return namespace
}

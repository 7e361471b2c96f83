//go:build e2e

package realkube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCloseLeavesNothing(t *testing.T) {
	c, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := namespaceOf(t, c)
	if inside := processesIn(t, namespace); len(inside) < 5 {
		t.Fatalf("processes in the cluster = %q, want at least its daemons", inside)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), processesIn(t, namespace)); diff != "" {
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
		return fmt.Sprint(processesIn(t, namespace)), nil
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

// processesIn lists the programs that run in a pid namespace.
func processesIn(t *testing.T, namespace string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != namespace {
			continue // exited, or in another namespace
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "comm"))
		if err != nil {
			continue // exited
		}
		found = append(found, strings.TrimSpace(string(name)))
	}
	return found
}

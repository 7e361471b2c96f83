//go:build e2e

package realkube

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

func TestCloseLeavesNothing(t *testing.T) {
	c, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := c.PIDNamespace(t.Context(), "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	if inside := namespace.Programs(t); len(inside) < 5 {
		t.Fatalf("processes in the cluster = %q, want at least its daemons", inside)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), namespace.Programs(t)); diff != "" {
		t.Errorf("processes left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Dir(c.Dir)); !os.IsNotExist(err) {
		t.Errorf("the cluster's folder still exists: %v", err)
	}
}

func TestClusterEndsWithItsOwner(t *testing.T) {
	instance.CheckEndsWithOwner(t, "kube", "kube-apiserver", Config{}.flags()...)
}

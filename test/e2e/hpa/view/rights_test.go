//go:build e2e

package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testForbidden lists objects as users without a role, or without one in that namespace.
func (s *env) testForbidden(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"somebody without a role", []string{"get", "slurmjobs", "-A", "--as=eve"}},
		{"one object", []string{"get", "slurmjob", "alpha.1", "-n", "team-a", "--as=eve"}},
		{"a watch", []string{"get", "slurmjobs", "-n", "team-a", "--watch", "--as=eve"}},
		{"another namespace than one's own", []string{"get", "slurmjobs", "-n", "team-a", "--as=bob"}},
		{"all namespaces", []string{"get", "slurmjobs", "-A", "--as=bob"}},
	} {
		if out, err := s.kubectl(t, tc.args...); err == nil || !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("%s: %s, %v", tc.name, out, err)
		}
	}
	if out, _ := s.kubectl(t, "auth", "can-i", "list", jobsResource, "-A",
		"--as=system:serviceaccount:team-a:default"); strings.TrimSpace(out) != "no" {
		t.Errorf("a service account without a role may list jobs: %s", out)
	}
}

// testPrivateJobs lists jobs of beta, whose slurmctld reports that jobs are private.
func (s *env) testPrivateJobs(t *testing.T) {
	s.checkNames(t, "beta.1 beta.3", "slurmjobs", "-n", "team-b", "--as=alice")
	s.checkNames(t, "beta.2 beta.4", "slurmjobs", "-n", "team-b", "--as=bob")
	s.checkNames(t, "beta.2", "slurmjobs", "-n", "team-b", "--as=bob", "-l", "state=running")
	s.checkNames(t, "beta.1 beta.2 beta.3 beta.4", "slurmjobs", "-n", "team-b", "--as=carol")
	s.checkNames(t, "alpha.1 alpha.2 alpha.3 alpha.4 beta.1 beta.3", "slurmjobs", "-A", "--as=alice")
	s.checkNames(t, "beta.cpu-0 beta.cpu-1 beta.gpu-0 beta.gpu-1", "slurmnodes", "-n", "team-b", "--as=bob")
	const warning = "Warning: PrivateData hides jobs of the Slurm cluster team-b/beta: only those of bob are shown"
	if _, err := s.kubectl(t, "get", "slurmjob", "beta.1", "-n", "team-b", "--as=bob"); err == nil ||
		!strings.Contains(err.Error(), "NotFound") || !strings.Contains(err.Error(), warning) {
		t.Errorf("job of another user: %v", err)
	}
}

// testPrivateDataChange makes everything in alpha private, and then public again.
func (s *env) testPrivateDataChange(t *testing.T) {
	annotate := func(value string) {
		s.mustRun(t, "kubectl", "annotate", "clusters.slinky.slurm.net", "-n", "team-a", "alpha", "--overwrite",
			"view.slinky.slurm.net/private-data="+value)
	}
	annotate("jobs,nodes")
	process.Await(t, func() error {
		if got := s.listNames(t, "slurmjobs", "-n", "team-a", "--as=alice"); got != "alpha.1 alpha.3" {
			return fmt.Errorf("alice sees %s", got)
		}
		return nil
	})
	if _, err := s.kubectl(t, "get", "slurmnodes", "-n", "team-a", "--as=alice"); err == nil ||
		!strings.Contains(err.Error(), "PrivateData of the Slurm cluster team-a/alpha") {
		t.Errorf("private nodes: %v", err)
	}
	// Without the annotation slurmctld's setting applies, which makes nothing private.
	s.mustRun(t, "kubectl", "annotate", "clusters.slinky.slurm.net", "-n", "team-a", "alpha",
		"view.slinky.slurm.net/private-data-")
	process.Await(t, func() error {
		if got := s.listNames(t, "slurmjobs", "-n", "team-a", "--as=alice"); got != "alpha.1 alpha.2 alpha.3 alpha.4" {
			return fmt.Errorf("alice sees %s", got)
		}
		return nil
	})
	annotate("none")
}

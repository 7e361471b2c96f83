//go:build e2e

package view

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// startRealSlurm starts a real Slurm cluster whose slurm.conf makes jobs and partitions private,
// and creates a Cluster for it.
func (s *env) startRealSlurm(t *testing.T) *realslurm.Cluster {
	t.Helper()
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	real, err := realslurm.Start(t.Context(), realslurm.Config{Name: "real", Nodes: 2, WithoutAccounting: true,
		Conf: []string{"PrivateData=jobs,partitions"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	})
	token, err := os.ReadFile(real.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	s.applyManifest(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-r}\n")
	s.setSecret(t, "team-r", string(token))
	s.applyManifest(t, fmt.Sprintf("apiVersion: slinky.slurm.net/v1beta1\nkind: Cluster\n"+
		"metadata: {name: real, namespace: team-r}\n"+
		"spec: {server: %q, token: {secretRef: {name: slurm-token, key: SLURM_JWT}}}\n", real.URL))
	return real
}

// testRealSlurm submits a job to a real Slurm cluster and follows it.
func (s *env) testRealSlurm(t *testing.T) {
	real := s.startRealSlurm(t)
	defer s.mustRun(t, "kubectl", "delete", "clusters.slinky.slurm.net", "-n", "team-r", "real")
	out, err := real.Run(t.Context(), "alice", "sbatch", "--parsable", "--job-name=real", "--wrap", "sleep 300")
	if err != nil {
		t.Fatal(err)
	}
	name := "real." + strings.TrimSpace(out)
	state := func(want string) {
		t.Helper()
		process.Await(t, func() error {
			got, err := s.kubectl(t, "get", "slurmjob", "-n", "team-r", name, "--as=alice", "-o",
				"jsonpath={.spec.name} {.spec.user} {.status.state} {.status.nodes}")
			if err == nil && !strings.HasPrefix(got, "real alice "+want) {
				err = fmt.Errorf("the job is %q", got)
			}
			return err
		})
	}
	state("RUNNING n")
	s.checkNames(t, name, "slurmjobs", "-n", "team-r", "--as=alice", "-l", "state=running")
	s.checkNames(t, name, "slurmjobs", "-n", "team-r")
	s.checkNames(t, "real.n1 real.n2", "slurmnodes", "-n", "team-r", "--as=alice")
	if _, err := s.kubectl(t, "get", "slurmpartitions", "-n", "team-r", "--as=alice"); err == nil ||
		!strings.Contains(err.Error(), "PrivateData of the Slurm cluster team-r/real") {
		t.Errorf("private partitions: %v", err)
	}
	if _, err := s.kubectl(t, "get", "slurmjobs", "-n", "team-r", "--as=bob"); err == nil ||
		!strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("listing jobs as bob without a role in the namespace: %v", err)
	}
	s.applyManifest(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: view-bob, namespace: team-r}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: slurm-view}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]\n")
	process.Await(t, func() error {
		_, err := s.kubectl(t, "get", "slurmjobs", "-n", "team-r",
			"--as=bob")
		return err
	})
	s.checkNames(t, "", "slurmjobs", "-n", "team-r", "--as=bob")
	if _, err := real.Run(t.Context(), "alice", "scancel", strings.TrimSpace(out)); err != nil {
		t.Fatal(err)
	}
	state("CANCELLED")
}

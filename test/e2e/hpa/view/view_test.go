//go:build e2e

package view

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/tables"
)

// env is a kubeEnv with two simulated clusters and the adapter.
type env struct {
	*kubeEnv
	alpha, beta *slurmtest.Cluster
}

const jobsResource = "slurmjobs.view.slinky.slurm.net"

func TestView(t *testing.T) {
	s := &env{kubeEnv: newKubeEnv(t)}
	var alphaURL, betaURL string
	s.alpha, alphaURL = startSimulatedCluster(t, "alpha")
	s.beta, betaURL = startSimulatedCluster(t, "beta", "jobs", "usage")
	for _, c := range []*slurmtest.Cluster{s.alpha, s.beta} {
		submitJobs(t, c)
	}
	args := []string{"--slurm.poll-interval=1s", "--metrics-max-age=10s"}
	s.installChart(t, 1)
	s.applyFile(t, "objects.yaml", "ALPHA", alphaURL, "BETA", betaURL)
	s.setToken(t, "team-a")
	s.setToken(t, "team-b")
	p := s.startAdapter(t, args...)
	process.Await(t, func() error { _, err := s.kubectl(t, "get", jobsResource, "-A"); return err })

	t.Run("discovery", s.testDiscovery)
	t.Run("tables", s.testTables)
	t.Run("single object", s.testSingleObject)
	t.Run("selectors", s.testSelectors)
	t.Run("pages", s.testPages)
	t.Run("watch", s.testWatch)
	t.Run("client-go informer", s.testInformer)
	t.Run("users without rights", s.testForbidden)
	t.Run("private jobs", s.testPrivateJobs)
	t.Run("PrivateData changes", s.testPrivateDataChange)
	t.Run("Slurm is down", s.testOutage)
	t.Run("real Slurm", s.testRealSlurm)
	p.stop(t)
	t.Run("two replicas", s.testReplicas)
	t.Run("a hundred thousand jobs", s.testManyJobs)
	t.Run("view disabled", func(t *testing.T) { s.testViewDisabled(t, args) })
}

// submitJobs submits jobs of alice and bob.
func submitJobs(t *testing.T, c *slurmtest.Cluster) {
	t.Helper()
	for _, j := range []slurmtest.JobSpec{
		{User: "alice", JobRequest: slurm.JobRequest{Name: "train", Partition: "gpu", Nodes: 2, Exclusive: true,
			TimeLimit: slurm.Num(90)}, Forever: true},
		{User: "bob", JobRequest: slurm.JobRequest{Name: "solve", Partition: "cpu", Tasks: 4}, Forever: true},
		{User: "alice", JobRequest: slurm.JobRequest{Name: "either", Partition: "gpu,all", Nodes: 2, Exclusive: true},
			Forever: true},
		{User: "bob", JobRequest: slurm.JobRequest{Name: "later", Partition: "cpu", Hold: true}},
	} {
		if _, err := c.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	c.Step(10 * time.Second)
}

func (s *env) testDiscovery(t *testing.T) {
	got := s.mustRun(t, "kubectl", "api-resources", "--api-group=view.slinky.slurm.net", "-o", "wide", "--no-headers")
	for _, want := range []string{"slurmjobs", "sjob", "SlurmJob", "get,list,watch", "slurmnodes", "snode",
		"slurmpartitions", "spart"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	// The API server loads the schemas of aggregated APIs with a delay.
	process.Await(t, func() error {
		text, err := s.kube.Kubectl(t.Context(), "explain", "slurmjobs.spec.partitions")
		if err == nil && !strings.Contains(text, "in which the job may run") {
			t.Fatalf("kubectl explain says\n%s", text)
		}
		return err
	})
	if text := s.mustRun(t, "kubectl", "get", "slurm", "-n", "team-a", "-o", "name"); !strings.Contains(
		text, "slurmpartition.view.slinky.slurm.net/alpha.gpu") {
		t.Errorf("category slurm lists\n%s", text)
	}
}

// agePattern matches ages, which differ between runs.
var agePattern = regexp.MustCompile(`\b(\d+[smhd])+\b`)

func (s *env) testTables(t *testing.T) {
	for name, args := range map[string][]string{
		"jobs":            {"slurmjobs", "-A"},
		"jobs-wide":       {"sjob", "-n", "team-a", "-o", "wide"},
		"nodes":           {"slurmnodes", "-n", "team-a"},
		"nodes-wide":      {"snode", "-n", "team-a", "-o", "wide"},
		"partitions":      {"slurmpartitions", "-A"},
		"partitions-wide": {"spart", "-n", "team-a", "-o", "wide", "--show-labels"},
	} {
		compareGolden(t, name, tables.Realign(s.mustGet(t, args...),
			func(s string) string { return agePattern.ReplaceAllString(s, "AGO") }))
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (rewrite it with -update) (-want +got):\n%s", file, diff)
	}
}

// checkNames checks which objects kubectl get lists, by name without kind and group.
func (s *env) checkNames(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := s.listNames(t, args...); got != want {
		t.Errorf("kubectl get %s lists %q, want %q", strings.Join(args, " "), got, want)
	}
}

func (s *env) listNames(t *testing.T, args ...string) string {
	t.Helper()
	out := s.mustGet(t, append(args, "-o", "name")...)
	return strings.Join(strings.Fields(regexp.MustCompile(`[a-z]+\.view\.slinky\.slurm\.net/`).ReplaceAllString(
		out, "")), " ")
}

func (s *env) testSingleObject(t *testing.T) {
	got := s.mustGet(t, "slurmjob", "-n", "team-a", "alpha.1", "-o",
		"jsonpath={.spec.user} {.spec.cluster.kind} {.status.state} {.status.nodes} {.spec.timeLimitMinutes} {.metadata.labels.partition}")
	if want := "alice Cluster RUNNING gpu-[0-1] 90 gpu"; got != want {
		t.Errorf("the job is %q, want %q", got, want)
	}
	if _, err := s.kubectl(t, "get", "slurmjob", "-n", "team-a", "alpha.99"); err == nil ||
		!strings.Contains(err.Error(), "NotFound") {
		t.Errorf("job that does not exist: %v", err)
	}
	if _, err := s.kubectl(t, "delete", "slurmjob", "-n", "team-a", "alpha.1"); err == nil ||
		!strings.Contains(err.Error(), "MethodNotAllowed") {
		t.Errorf("deleting a job: %v", err)
	}
	if text := s.mustRun(t, "kubectl", "describe", "slurmnode", "-n", "team-a", "alpha.gpu-0"); !strings.Contains(
		text, "gpu:h100:4") {
		t.Errorf("kubectl describe says\n%s", text)
	}
}

func (s *env) testSelectors(t *testing.T) {
	s.checkNames(t, "alpha.1 alpha.3 beta.1 beta.3", "slurmjobs", "-A", "-l", "partition=gpu")
	s.checkNames(t, "alpha.3", "slurmjobs", "-n", "team-a", "-l", "partition=all")
	s.checkNames(t, "alpha.3 alpha.4", "slurmjobs", "-n", "team-a", "-l", "state=pending")
	s.checkNames(t, "beta.2 beta.4", "slurmjobs", "-A", "-l", "cluster=beta,user=bob")
	s.checkNames(t, "alpha.1", "slurmjobs", "-n", "team-a", "-l", "node=gpu-1")
	s.checkNames(t, "alpha.2", "slurmjobs", "-n", "team-a", "--field-selector", "spec.user=bob,status.state=RUNNING")
	s.checkNames(t, "alpha.2 alpha.4", "slurmjobs", "-n", "team-a", "--field-selector", "spec.account=hpc")
	s.checkNames(t, "alpha.cpu-1", "slurmnodes", "-n", "team-a", "-l", "state=idle")
	s.checkNames(t, "alpha.gpu-0 alpha.gpu-1", "slurmnodes", "-n", "team-a", "-l", "partition=gpu,state=allocated")
	s.checkNames(t, "alpha.cpu", "slurmpartitions", "-A", "--field-selector", "metadata.name=alpha.cpu")
}

func (s *env) testPages(t *testing.T) {
	all := s.listNames(t, "slurmjobs", "-A")
	s.checkNames(t, all, "slurmjobs", "-A", "--chunk-size=1")
	s.checkNames(t, all, "slurmjobs", "-A", "--chunk-size=3")
	page := s.mustGet(t, "--raw", "/apis/view.slinky.slurm.net/v1alpha1/slurmjobs?limit=3")
	if !strings.Contains(page, `"remainingItemCount":5`) || !strings.Contains(page, `"continue":"`) {
		t.Errorf("the first page is %s", page)
	}
}

// testOutage makes slurmrestd of beta fail. Listing beta's jobs becomes an error once they are too old, while alpha's
// jobs stay available. Both are listed again after the outage.
func (s *env) testOutage(t *testing.T) {
	s.beta.InjectFault(slurmtest.Fault{Kind: slurmtest.FaultStatus, Status: 500})
	process.Await(t, func() error {
		out, err := s.kubectl(t, "get", "slurmjobs", "-n", "team-b", "-o", "name")
		switch {
		case err == nil && len(strings.Fields(out)) != 4:
			t.Fatalf("kubectl lists %q", out)
		case err == nil:
			return fmt.Errorf("the jobs are still listed")
		case !strings.Contains(err.Error(), "team-b/beta: its jobs were last read"):
			t.Fatalf("the error is %v", err)
		}
		return nil
	})
	s.checkNames(t, "alpha.1 alpha.2 alpha.3 alpha.4", "slurmjobs", "-A", "-l", "cluster=alpha")
	s.beta.ClearFaults()
	process.Await(t, func() error { _, err := s.kubectl(t, "get", "slurmjobs", "-A"); return err })
}

func (s *env) testViewDisabled(t *testing.T, args []string) {
	s.startAdapter(t, append(args, "--no-view")...)
	process.Await(t, func() error {
		_, err := s.kubectl(t, "get", "--raw", "/apis/custom.metrics.k8s.io/v1beta2")
		return err
	})
	if out, err := s.kubectl(t, "get", "--raw", "/apis/view.slinky.slurm.net/v1alpha1/slurmjobs"); err == nil {
		t.Errorf("the disabled view returned %s", out)
	}
}

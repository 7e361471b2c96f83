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
	"github.com/slurmtide/slurmtide/test/process"
	"github.com/slurmtide/slurmtide/test/tables"
)

// env is a kubeEnv with two simulated clusters and the adapter.
type scene struct {
	*site
	alpha, beta *slurmtest.Cluster
}

const jobs = "slurmjobs.view.slinky.slurm.net"

func TestView(t *testing.T) {
	s := &scene{site: newSite(t)}
	var alphaURL, betaURL string
	s.alpha, alphaURL = simulated(t, "alpha")
	s.beta, betaURL = simulated(t, "beta", "jobs", "usage")
	for _, c := range []*slurmtest.Cluster{s.alpha, s.beta} {
		fill(t, c)
	}
	args := []string{"--slurm.poll-interval=1s", "--metrics-max-age=10s"}
	s.install(t, 1)
	s.apply(t, "objects.yaml", "ALPHA", alphaURL, "BETA", betaURL)
	s.setToken(t, "team-a")
	s.setToken(t, "team-b")
	p := s.run(t, args...)
	process.Await(t, func() error { _, err := s.kubectl(t, "get", jobs, "-A"); return err })

	t.Run("discovery", s.isDiscovered)
	t.Run("tables", s.printsTables)
	t.Run("single object", s.shows)
	t.Run("selectors", s.selects)
	t.Run("pages", s.pages)
	t.Run("watch", s.watches)
	t.Run("client-go informer", s.informs)
	t.Run("users without rights", s.refuses)
	t.Run("private jobs", s.keepsPrivate)
	t.Run("PrivateData changes", s.turnsPrivate)
	t.Run("Slurm is down", s.survivesOutage)
	t.Run("real Slurm", s.showsReal)
	p.stop(t)
	t.Run("a hundred thousand jobs", s.pagesMany)
	t.Run("view disabled", func(t *testing.T) { s.isOff(t, args) })
}

// submitJobs submits jobs of alice and bob.
func fill(t *testing.T, c *slurmtest.Cluster) {
	t.Helper()
	for _, j := range []slurmtest.JobSpec{
		{User: "alice", JobRequest: slurm.JobRequest{Name: "train", Partition: "gpu", Nodes: 2, Exclusive: true, TimeLimit: slurm.Num(90)}, Forever: true},
		{User: "bob", JobRequest: slurm.JobRequest{Name: "solve", Partition: "cpu", Tasks: 4}, Forever: true},
		{User: "alice", JobRequest: slurm.JobRequest{Name: "either", Partition: "gpu,all", Nodes: 2, Exclusive: true}, Forever: true},
		{User: "bob", JobRequest: slurm.JobRequest{Name: "later", Partition: "cpu", Hold: true}},
	} {
		if _, err := c.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	c.Step(10 * time.Second)
}

func (s *scene) isDiscovered(t *testing.T) {
	got := s.must(t, "kubectl", "api-resources", "--api-group=view.slinky.slurm.net", "-o", "wide", "--no-headers")
	for _, want := range []string{"slurmjobs", "sjob", "SlurmJob", "get,list,watch", "slurmnodes", "snode", "slurmpartitions", "spart"} {
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
	if text := s.must(t, "kubectl", "get", "slurm", "-n", "team-a", "-o", "name"); !strings.Contains(text, "slurmpartition.view.slinky.slurm.net/alpha.gpu") {
		t.Errorf("category slurm lists\n%s", text)
	}
}

// agePattern matches ages, which differ between runs.
var passing = regexp.MustCompile(`\b(\d+[smhd])+\b`)

func (s *scene) printsTables(t *testing.T) {
	for name, args := range map[string][]string{
		"jobs":            {"slurmjobs", "-A"},
		"jobs-wide":       {"sjob", "-n", "team-a", "-o", "wide"},
		"nodes":           {"slurmnodes", "-n", "team-a"},
		"nodes-wide":      {"snode", "-n", "team-a", "-o", "wide"},
		"partitions":      {"slurmpartitions", "-A"},
		"partitions-wide": {"spart", "-n", "team-a", "-o", "wide", "--show-labels"},
	} {
		golden(t, name, tables.Realign(s.get(t, args...), func(s string) string { return passing.ReplaceAllString(s, "AGO") }))
	}
}

func golden(t *testing.T, name, got string) {
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
func (s *scene) isNames(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := s.names(t, args...); got != want {
		t.Errorf("kubectl get %s lists %q, want %q", strings.Join(args, " "), got, want)
	}
}

func (s *scene) names(t *testing.T, args ...string) string {
	t.Helper()
	out := s.get(t, append(args, "-o", "name")...)
	return strings.Join(strings.Fields(regexp.MustCompile(`[a-z]+\.view\.slinky\.slurm\.net/`).ReplaceAllString(out, "")), " ")
}

func (s *scene) shows(t *testing.T) {
	got := s.get(t, "slurmjob", "-n", "team-a", "alpha.1", "-o", "jsonpath={.spec.user} {.spec.cluster.kind} {.status.state} {.status.nodes} {.spec.timeLimitMinutes} {.metadata.labels.partition}")
	if want := "alice Cluster RUNNING gpu-[0-1] 90 gpu"; got != want {
		t.Errorf("the job is %q, want %q", got, want)
	}
	if _, err := s.kubectl(t, "get", "slurmjob", "-n", "team-a", "alpha.99"); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("job that does not exist: %v", err)
	}
	if _, err := s.kubectl(t, "delete", "slurmjob", "-n", "team-a", "alpha.1"); err == nil || !strings.Contains(err.Error(), "MethodNotAllowed") {
		t.Errorf("deleting a job: %v", err)
	}
	if text := s.must(t, "kubectl", "describe", "slurmnode", "-n", "team-a", "alpha.gpu-0"); !strings.Contains(text, "gpu:h100:4") {
		t.Errorf("kubectl describe says\n%s", text)
	}
}

func (s *scene) selects(t *testing.T) {
	s.isNames(t, "alpha.1 alpha.3 beta.1 beta.3", "slurmjobs", "-A", "-l", "partition=gpu")
	s.isNames(t, "alpha.3", "slurmjobs", "-n", "team-a", "-l", "partition=all")
	s.isNames(t, "alpha.3 alpha.4", "slurmjobs", "-n", "team-a", "-l", "state=pending")
	s.isNames(t, "beta.2 beta.4", "slurmjobs", "-A", "-l", "cluster=beta,user=bob")
	s.isNames(t, "alpha.1", "slurmjobs", "-n", "team-a", "-l", "node=gpu-1")
	s.isNames(t, "alpha.2", "slurmjobs", "-n", "team-a", "--field-selector", "spec.user=bob,status.state=RUNNING")
	s.isNames(t, "alpha.2 alpha.4", "slurmjobs", "-n", "team-a", "--field-selector", "spec.account=hpc")
	s.isNames(t, "alpha.cpu-1", "slurmnodes", "-n", "team-a", "-l", "state=idle")
	s.isNames(t, "alpha.gpu-0 alpha.gpu-1", "slurmnodes", "-n", "team-a", "-l", "partition=gpu,state=allocated")
	s.isNames(t, "alpha.cpu", "slurmpartitions", "-A", "--field-selector", "metadata.name=alpha.cpu")
}

func (s *scene) pages(t *testing.T) {
	all := s.names(t, "slurmjobs", "-A")
	s.isNames(t, all, "slurmjobs", "-A", "--chunk-size=1")
	s.isNames(t, all, "slurmjobs", "-A", "--chunk-size=3")
	page := s.get(t, "--raw", "/apis/view.slinky.slurm.net/v1alpha1/slurmjobs?limit=3")
	if !strings.Contains(page, `"remainingItemCount":5`) || !strings.Contains(page, `"continue":"`) {
		t.Errorf("the first page is %s", page)
	}
}

// testOutage makes slurmrestd of beta fail. Listing beta's jobs becomes an error once they are
// too old, alpha's jobs stay available, and both are listed again after the outage.
func (s *scene) survivesOutage(t *testing.T) {
	s.beta.Fail(slurmtest.Fault{Kind: slurmtest.FaultStatus, Status: 500})
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
	s.isNames(t, "alpha.1 alpha.2 alpha.3 alpha.4", "slurmjobs", "-A", "-l", "cluster=alpha")
	s.beta.ClearFaults()
	process.Await(t, func() error { _, err := s.kubectl(t, "get", "slurmjobs", "-A"); return err })
}

func (s *scene) isOff(t *testing.T, args []string) {
	s.run(t, append(args, "--no-view")...)
	process.Await(t, func() error {
		_, err := s.kubectl(t, "get", "--raw", "/apis/custom.metrics.k8s.io/v1beta2")
		return err
	})
	if out, err := s.kubectl(t, "get", "--raw", "/apis/view.slinky.slurm.net/v1alpha1/slurmjobs"); err == nil {
		t.Errorf("the disabled view returned %s", out)
	}
}

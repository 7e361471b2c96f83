//go:build e2e

package adapter

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

// maxAge is the maximum age of the adapter's data in these tests.
const maxAge = 6 * time.Second

// env is a Kubernetes cluster with two Slurm clusters.
type env struct {
	kube        *realkube.Cluster
	client      rest.Interface
	alpha, beta *slurmtest.Cluster
	restd       *restd.Server // of alpha
	dir         string
	program     string
	tokens      []string
}

func TestMain(m *testing.M) {
	if missing := realkube.MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newEnv starts everything except the adapter.
func newEnv(t *testing.T, apiServerArgs ...string) *env {
	t.Helper()
	kube, err := realkube.Start(t.Context(), realkube.Config{Name: "adapter", APIServerArgs: apiServerArgs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &env{kube: kube, dir: t.TempDir(), alpha: newSimulatedCluster("alpha"), beta: newSimulatedCluster("beta")}
	config, err := kube.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.client = set.RESTClient()
	if s.program, err = process.Build(t.Context(), s.dir, "slurm-metrics-adapter"); err != nil {
		t.Fatal(err)
	}
	mustRun(t)(kube.Helm(t.Context(), "install", "crds", "../../../charts/slurm-operator-crds", "--wait"))
	s.applyFile(t, "rbac.yaml")
	s.restd = restd.Start(t, s.alpha)
	s.applyFile(t, "objects.yaml", "ALPHA", s.restd.URL(), "BETA", restd.Start(t, s.beta).URL())
	s.setToken(t, "team-a", "alpha-token", time.Hour)
	s.setToken(t, "team-b", "beta-token", time.Hour)
	return s
}

// newSimulatedCluster returns a cluster with the partitions gpu, cpu and all. gpu and cpu have two
// nodes each, all has all four.
func newSimulatedCluster(name string) *slurmtest.Cluster {
	return slurmtest.New(slurmtest.Config{
		ClusterName: name, Key: []byte(restd.Key), MessageTimeout: 200 * time.Millisecond,
		Nodes: []slurmtest.NodeConf{
			{Names: "gpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"gpu"}},
			{Names: "cpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"cpu"}},
		},
		Partitions: []slurmtest.PartitionConf{
			{Name: "gpu", Feature: "gpu", Default: true}, {Name: "cpu", Feature: "cpu"}, {Name: "all", Nodes: "ALL"},
		},
	})
}

// setToken writes a token with the given lifetime to a Secret.
func (s *env) setToken(t *testing.T, namespace, name string, life time.Duration) {
	t.Helper()
	token := restd.Token(t, life)
	s.tokens = append(s.tokens, token)
	s.applyManifest(t, fmt.Sprintf(
		"apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData: {SLURM_JWT: %s}\n",
		name, namespace, token))
}

// applyFile applies a file of testdata after replacing words.
func (s *env) applyFile(t *testing.T, file string, oldnew ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s.applyManifest(t, strings.NewReplacer(oldnew...).Replace(string(text)))
}

func (s *env) applyManifest(t *testing.T, text string) {
	t.Helper()
	if err := s.kube.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// mustRun returns a function that returns the output of a command and fails the test if the command
// failed.
func mustRun(t *testing.T) func(out string, err error) string {
	return func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

//go:build e2e

package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// kubeEnv is a Kubernetes cluster into which the adapter can be installed.
type kubeEnv struct {
	kube    *realkube.Cluster
	dir     string
	program string
}

func TestMain(m *testing.M) {
	if missing := realkube.MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newKubeEnv starts Kubernetes, installs our CRDs and builds the adapter.
func newKubeEnv(t *testing.T) *kubeEnv {
	t.Helper()
	kube, err := realkube.Start(t.Context(), realkube.Config{Name: "view"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &kubeEnv{kube: kube, dir: t.TempDir()}
	if s.program, err = process.Build(t.Context(), s.dir, "slurm-metrics-adapter"); err != nil {
		t.Fatal(err)
	}
	s.mustRun(t, "helm", "install", "crds", "../../../../charts/slurm-operator-crds", "--wait")
	s.applyManifest(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: slurm-metrics}\n")
	return s
}

// startSimulatedCluster starts a cluster with partitions gpu, cpu and all and the given
// PrivateData, and returns it with its URL.
func startSimulatedCluster(t *testing.T, name string, private ...string) (*slurmtest.Cluster, string) {
	t.Helper()
	c := slurmtest.New(slurmtest.Config{
		ClusterName: name, Key: []byte(restd.Key), PrivateData: private,
		Nodes: []slurmtest.NodeConf{
			{Names: "gpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"gpu"}, GRES: "gpu:h100:4"},
			{Names: "cpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"cpu"}},
		},
		Partitions: []slurmtest.PartitionConf{{Name: "gpu", Feature: "gpu", Default: true},
			{Name: "cpu", Feature: "cpu"}, {Name: "all", Nodes: "ALL"}},
	})
	return c, restd.Start(t, c).URL()
}

// setToken writes a token of user slurm to a Secret.
func (s *kubeEnv) setToken(t *testing.T, namespace string) {
	t.Helper()
	s.setSecret(t, namespace, restd.Token(t, time.Hour))
}

func (s *kubeEnv) setSecret(t *testing.T, namespace, token string) {
	t.Helper()
	s.applyManifest(t, fmt.Sprintf(
		"apiVersion: v1\nkind: Secret\nmetadata: {name: slurm-token, namespace: %s}\nstringData: {SLURM_JWT: %s}\n",
		namespace, strings.TrimSpace(token)))
}

// applyFile applies a file of testdata after replacing words in it.
func (s *kubeEnv) applyFile(t *testing.T, file string, oldnew ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s.applyManifest(t, strings.NewReplacer(oldnew...).Replace(string(text)))
}

func (s *kubeEnv) applyManifest(t *testing.T, text string) {
	t.Helper()
	if err := s.kube.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// kubectl runs kubectl and returns its output.
func (s *kubeEnv) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return s.kube.Kubectl(t.Context(), args...)
}

// mustRun runs kubectl or helm and returns the output. It fails the test on an error.
func (s *kubeEnv) mustRun(t *testing.T, program string, args ...string) string {
	t.Helper()
	run := s.kube.Kubectl
	if program == "helm" {
		run = s.kube.Helm
	}
	out, err := run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustGet runs kubectl get and returns the output. It fails the test on an error.
func (s *kubeEnv) mustGet(t *testing.T, args ...string) string {
	t.Helper()
	return s.mustRun(t, "kubectl", append([]string{"get"}, args...)...)
}

//go:build e2e

package adapter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/realkube"
)

// maxAge is how old the adapter's data may be here.
const maxAge = 4 * time.Second

// key is what the simulated clusters check tokens with.
const key = "a key for tests that nobody else uses"

// site is a Kubernetes with two Slurm clusters.
type site struct {
	kube        *realkube.Cluster
	alpha, beta *slurmtest.Cluster
	dir         string
	program     string
}

func TestMain(m *testing.M) {
	if missing := realkube.Missing(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newSite starts everything but the adapter.
func newSite(t *testing.T) *site {
	t.Helper()
	kube, err := realkube.Start(t.Context(), realkube.Config{Name: "adapter"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &site{kube: kube, dir: t.TempDir(), alpha: simulated("alpha"), beta: simulated("beta")}
	s.program = filepath.Join(s.dir, "slurm-metrics-adapter")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.program, "github.com/slurmtide/slurmtide/cmd/slurm-metrics-adapter")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the adapter: %v\n%s", err, out)
	}
	must(t)(kube.Helm(t.Context(), "install", "crds", "../../charts/slurm-operator-crds", "--wait"))
	s.apply(t, "rbac.yaml")
	s.apply(t, "objects.yaml", "ALPHA", serve(t, s.alpha), "BETA", serve(t, s.beta))
	s.setToken(t, "team-a", "alpha-token", time.Hour)
	s.setToken(t, "team-b", "beta-token", time.Hour)
	return s
}

// simulated is a cluster with partitions gpu, cpu and all, two nodes in each of
// the first two, all four in the last.
func simulated(name string) *slurmtest.Cluster {
	return slurmtest.New(slurmtest.Config{
		ClusterName: name, Key: []byte(key), MessageTimeout: 200 * time.Millisecond,
		Nodes: []slurmtest.NodeConf{
			{Names: "gpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"gpu"}},
			{Names: "cpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"cpu"}},
		},
		Partitions: []slurmtest.PartitionConf{{Name: "gpu", Feature: "gpu", Default: true}, {Name: "cpu", Feature: "cpu"}, {Name: "all", Nodes: "ALL"}},
	})
}

func serve(t *testing.T, c *slurmtest.Cluster) string {
	t.Helper()
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// setToken writes a token that is good for so long into a Secret.
func (s *site) setToken(t *testing.T, namespace, name string, life time.Duration) {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(life).Unix(), "sun": "slurm"}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	s.applyText(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData: {SLURM_JWT: %s}\n", name, namespace, token))
}

// apply applies a file of testdata with words replaced.
func (s *site) apply(t *testing.T, file string, oldnew ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s.applyText(t, strings.NewReplacer(oldnew...).Replace(string(text)))
}

func (s *site) applyText(t *testing.T, text string) {
	t.Helper()
	if err := s.kube.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// process is a running adapter.
type process struct {
	cmd     *exec.Cmd
	log     string
	secure  int
	metrics string
	done    chan error
}

// run starts the adapter with the rights of its service account, and waits until it
// is ready.
func (s *site) run(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{secure: freePort(t), metrics: fmt.Sprintf("127.0.0.1:%d", freePort(t)), done: make(chan error, 1)}
	file, err := os.CreateTemp(s.dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.log = file.Name()
	p.cmd = exec.Command(s.program, append([]string{
		"--kube.config=" + s.kubeconfig(t), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", p.secure),
		"--certificate.namespace=slurm-metrics", "--metrics.listen-address=" + p.metrics, "--external-metrics",
		"--slurm.poll-interval=1s", "--metrics-max-age=" + maxAge.String(), "--shutdown-delay=1s",
	}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("the adapter said:\n%s", p.said(t))
		}
	})
	await(t, 30*time.Second, func() error { return ready("http://" + p.metrics + "/-/ready") })
	return p
}

// stop ends the adapter, which must end well.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.done == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("the adapter ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		t.Error("the adapter does not end")
	}
	p.done = nil
}

func (p *process) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// register leads the API server to the adapter and waits until it goes there.
func (s *site) register(t *testing.T, p *process) {
	t.Helper()
	if err := s.kube.ExposeLocal(t.Context(), "slurm-metrics", "slurm-metrics-adapter", p.secure); err != nil {
		t.Fatal(err)
	}
	s.apply(t, "apiservices.yaml", "PORT", fmt.Sprint(p.secure))
}

// kubeconfig is one of the adapter's service account.
func (s *site) kubeconfig(t *testing.T) string {
	t.Helper()
	token := must(t)(s.kube.Kubectl(t.Context(), "-n", "slurm-metrics", "create", "token", "slurm-metrics-adapter", "--duration=1h"))
	file := filepath.Join(s.dir, "adapter.kubeconfig")
	server := must(t)(s.kube.Kubectl(t.Context(), "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"))
	ca := must(t)(s.kube.Kubectl(t.Context(), "config", "view", "--minify", "--raw", "--flatten", "-o", "jsonpath={.clusters[0].cluster.certificate-authority-data}"))
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: it, user: {token: %q}}]
`, server, ca, strings.TrimSpace(token))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// must returns what a command printed, which must succeed.
func must(t *testing.T) func(out string, err error) string {
	return func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func ready(url string) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, r.Status)
	}
	return nil
}

// await tries until try returns nil.
func await(t *testing.T, limit time.Duration, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v in vain: %v", limit, err)
		}
	}
}

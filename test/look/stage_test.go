//go:build e2e

package look

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/loop"
	"github.com/slurmtide/slurmtide/test/realslurm"
)

// kubeStateMetrics is a real kube-state-metrics to run beside the loop, instead of what
// one of them said, which is kept in testdata.
var kubeStateMetrics = flag.String("kube-state-metrics", "", "program to run, and to keep in testdata what it says, instead of serving that")

// stage is all that Prometheus looks at.
type stage struct {
	dev        *realslurm.Cluster
	exporter   *process
	address    string // of the exporter
	loop       *loop.Loop
	prometheus *prometheus
}

func TestMain(m *testing.M) {
	flag.Parse()
	if missing := loop.Missing(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	if out, err := exec.Command("../../hack/look/install").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "installing Prometheus: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newStage starts everything and returns when Prometheus has scraped all of it.
func newStage(t *testing.T) *stage {
	t.Helper()
	s, dir := &stage{}, t.TempDir()
	devUp := make(chan error, 1)
	go func() { devUp <- s.startDev(t.Context()) }()
	loopErr := s.startLoop(t.Context())
	devErr := <-devUp
	t.Cleanup(func() {
		if s.loop != nil {
			if err := s.loop.Close(); err != nil {
				t.Errorf("ending the loop: %v", err)
			}
		}
		if s.dev != nil {
			if err := s.dev.Close(); err != nil {
				t.Errorf("ending Slurm: %v", err)
			}
		}
	})
	if err := errors.Join(loopErr, devErr); err != nil {
		t.Fatal(err)
	}
	s.exporter, s.address = startExporter(t, dir, s.dev)
	targets := []target{
		{"slurm-exporter", s.address, "/metrics", "dev"},
		{"slinky", s.address, "/metrics/slinky", "dev"},
		{"openmetrics", s.address, "/metrics/openmetrics", "dev"},
		{"vpenso", s.address, "/metrics/vpenso", "dev"},
		{"slurm-metrics", adapterAddress(t, s.loop), "/metrics", ""},
		{"slurm-operator", s.startOperator(t, dir), "/metrics", ""},
		{"kube-state-metrics", s.startKubeStateMetrics(t), "/metrics", ""},
		{"apiserver", s.serveAPIServer(t), "/metrics", ""},
	}
	s.prometheus = startPrometheus(t, dir, targets)
	await(t, time.Minute, func() error {
		up, err := s.prometheus.ask("up == 1")
		if err == nil && len(up) < len(targets) {
			err = fmt.Errorf("%d of %d targets are up", len(up), len(targets))
		}
		return err
	})
	return s
}

// startDev starts a Slurm with jobs and nodes of all kinds, whose shares are computed
// each second.
func (s *stage) startDev(ctx context.Context) (err error) {
	s.dev, err = realslurm.Start(ctx, realslurm.Config{
		Name: "dev", Nodes: realslurm.PopulateNodes,
		Conf: []string{"PriorityCalcPeriod=00:01"},
	})
	if err != nil {
		return err
	}
	if _, err := s.dev.Populate(ctx); err != nil {
		return err
	}
	return s.makePartitions(ctx)
}

// makePartitions makes one for short jobs that nothing holds up, and one without nodes
// with a job that asks for one, which can never run.
func (s *stage) makePartitions(ctx context.Context) error {
	for _, partition := range [][]string{{"partitionname=empty"}, {"partitionname=short", "nodes=n7"}} {
		if _, err := s.dev.Run(ctx, "", append([]string{"scontrol", "create", "state=up"}, partition...)...); err != nil {
			return err
		}
	}
	_, err := s.dev.Run(ctx, "alice", "sbatch", "-p", "empty", "-w", "n1", "-o", "/dev/null", "--wrap", "true")
	return err
}

// startLoop starts a loop, and jobs that need a few workers.
func (s *stage) startLoop(ctx context.Context) (err error) {
	if s.loop, err = loop.Start(ctx, loop.Config{}); err != nil {
		return err
	}
	if err := s.loop.ApplyHPA(ctx, "required-nodes"); err != nil {
		return err
	}
	_, err = s.loop.Slurm.Run(ctx, "alice", "sbatch", "-p", loop.NodeSet, "--array=0-3", "-n", "4", "-o", "/dev/null", "--wrap", "sleep 40")
	return err
}

// startExporter starts slurm-exporter with all that it can show.
func startExporter(t *testing.T, dir string, slurm *realslurm.Cluster) (*process, string) {
	t.Helper()
	address := freeAddress(t)
	p := launch(t, build(t, dir, "slurm-exporter"), "--web.listen-address="+address, "--slurm.poll-interval=1s", "--slurm.slow-poll-interval=5s",
		"--slurm.url="+slurm.URL, "--slurm.token-file="+slurm.TokenFile, "--collector.users", "--compat=slinky,openmetrics,vpenso")
	await(t, 30*time.Second, func() error { return answers("http://" + address + "/-/ready") })
	return p, address
}

var listening = regexp.MustCompile(`(?i)listening on"? address=(?:\[::\]|127\.0\.0\.1):(\d+)`)

// adapterAddress is where the loop's adapter shows its metrics.
func adapterAddress(t *testing.T, l *loop.Loop) string {
	t.Helper()
	var address string
	await(t, 30*time.Second, func() error {
		m := listening.FindStringSubmatch(l.Adapters[0].Log())
		if m == nil {
			return errors.New("the adapter does not tell where it listens: " + l.Adapters[0].Log())
		}
		address = "127.0.0.1:" + m[1]
		return nil
	})
	return address
}

// other is the namespace of the operator that keeps workers. Its NodeSet has no kubelet,
// so its pods never run.
const other = "batch"

// startOperator starts slurm-operator for a NodeSet of its own, which it scales out and
// in again, and returns where its metrics are.
func (s *stage) startOperator(t *testing.T, dir string) string {
	t.Helper()
	kube := s.loop.Kube
	kubectl := func(args ...string) string {
		out, err := kube.Kubectl(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	kubectl("create", "namespace", other)
	token := kubectl("get", "secret", "token", "-n", loop.Namespace, "-o", "jsonpath={.data.SLURM_JWT}")
	manifest := fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: %[1]s}
data: {SLURM_JWT: %[2]s, slurm.key: %[2]s}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: real, namespace: %[1]s}
spec:
  server: %[3]s
  token: {secretRef: {name: token, key: SLURM_JWT}}
  slurmctld: {host: slurmctld.example}
  slurmKeyRef: {name: token, key: slurm.key}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: nightly, namespace: %[1]s}
spec:
  clusterRef: {name: real}
  replicas: 2
  slurmd: {image: none}
  template: {}
`, other, token, s.loop.Slurm.URL)
	if err := kube.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	launch(t, build(t, dir, "slurm-operator"), "--kube.config="+kube.Kubeconfig(), "--namespaces="+other, "--reconcilers=nodeset,cluster",
		"--no-webhook", "--no-leader-election", "--health.listen-address=0", "--no-metrics.secure", "--metrics.listen-address="+address)
	await(t, 60*time.Second, func() error { return answers("http://" + address + "/metrics") })
	await(t, 60*time.Second, func() error {
		if pods := kubectl("get", "pods", "-n", other, "-o", "name"); strings.Count(pods, "pod/") != 2 {
			return fmt.Errorf("the operator made %q, and says %s", pods, kubectl("get", "nodeset", "nightly", "-n", other, "-o", "jsonpath={.status}"))
		}
		return nil
	})
	kubectl("scale", "nodeset", "nightly", "-n", other, "--replicas=0")
	return address
}

// recorded is what a kube-state-metrics said of the HPA of a loop.
var recorded = filepath.Join("testdata", "kube-state-metrics.prom")

// keep writes what a URL answers into a file.
func keep(t *testing.T, url, file string) {
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || len(text) == 0 {
		t.Errorf("reading %s: %v", url, err)
		return
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Error(err)
	}
}

// startKubeStateMetrics serves what one of them said of such a loop, or starts one.
func (s *stage) startKubeStateMetrics(t *testing.T) string {
	t.Helper()
	if *kubeStateMetrics != "" {
		address := freeAddress(t)
		_, port, _ := strings.Cut(address, ":")
		_, telemetry, _ := strings.Cut(freeAddress(t), ":")
		launch(t, *kubeStateMetrics, "--kubeconfig="+s.loop.Kube.Kubeconfig(), "--resources=horizontalpodautoscalers",
			"--host=127.0.0.1", "--telemetry-host=127.0.0.1", "--port="+port, "--telemetry-port="+telemetry)
		await(t, 30*time.Second, func() error { return answers("http://" + address + "/healthz") })
		t.Cleanup(func() { keep(t, "http://"+address+"/metrics", recorded) })
		return address
	}
	text := read(t, recorded)
	return serve(t, func() (string, error) { return text, nil })
}

// serveAPIServer serves the API server's metrics of APIServices, which need a login.
func (s *stage) serveAPIServer(t *testing.T) string {
	t.Helper()
	return serve(t, func() (string, error) {
		text, err := s.loop.Kube.Kubectl(context.WithoutCancel(t.Context()), "get", "--raw", "/metrics")
		var out strings.Builder
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "aggregator_unavailable_apiservice{") {
				out.WriteString(line)
			}
		}
		return out.String(), err
	})
}

func serve(t *testing.T, text func() (string, error)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out, err := text()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, out)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// churn submits short jobs to dev until the test ends, so that there is something to count.
func (s *stage) churn(t *testing.T, jobs ...[]string) {
	ctx, done := t.Context(), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			job := jobs[i%len(jobs)]
			_, err := s.dev.Run(ctx, job[0], append([]string{"sbatch", "-o", "/dev/null"}, job[1:]...)...)
			if err != nil && ctx.Err() == nil {
				t.Error(cmp.Or(err, errors.New("submitting")))
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { <-done })
}

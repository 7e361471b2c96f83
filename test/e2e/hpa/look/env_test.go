//go:build e2e

package look

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// env is everything that Prometheus scrapes.
type env struct {
	dev             *realslurm.Cluster
	devJobs         map[string]string // ids by name
	exporter        *process.Process
	exporterAddress string // of the exporter
	loop            *loop.Loop
	prometheus      *prometheus
}

func TestMain(m *testing.M) {
	flag.Parse()
	if missing := cmp.Or(realslurm.MissingRequirement(), realkube.MissingRequirement()); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	if out, err := exec.Command("../../../../hack/look/install").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "installing Prometheus: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newEnv starts everything and returns when Prometheus has scraped all targets.
func newEnv(t *testing.T) *env {
	t.Helper()
	s, dir := &env{}, t.TempDir()
	devUp := make(chan error, 1)
	go func() { devUp <- s.startDev(t.Context()) }()
	loopErr := s.startLoop(t.Context())
	devErr := <-devUp
	t.Cleanup(func() { s.close(t) })
	if err := errors.Join(loopErr, devErr); err != nil {
		t.Fatal(err)
	}
	s.exporter, s.exporterAddress = startExporter(t, dir, s.dev)
	targets := []scrapeTarget{
		{"slurm-exporter", s.exporterAddress, "/metrics", "dev"},
		{"slinky", s.exporterAddress, "/metrics/slinky", "dev"},
		{"openmetrics", s.exporterAddress, "/metrics/openmetrics", "dev"},
		{"vpenso", s.exporterAddress, "/metrics/vpenso", "dev"},
		{"slurm-metrics", adapterAddress(t, s.loop), "/metrics", ""},
		{"slurm-operator", s.startOperator(t, dir), "/metrics", ""},
		{"kube-state-metrics", s.startKubeStateMetrics(t), "/metrics", ""},
		{"apiserver", s.serveAPIServer(t), "/metrics", ""},
		{"dcgm", serveMetrics(t, func() (string, error) { return s.readDCGM(t), nil }), "/metrics", ""},
	}
	s.prometheus = startPrometheus(t, dir, targets)
	process.Await(t, func() error {
		up, err := s.prometheus.runQuery("up == 1")
		if err == nil && len(up) < len(targets) {
			err = fmt.Errorf("%d of %d targets are up", len(up), len(targets))
		}
		return err
	})
	s.scaleToZero(t)
	s.submitScalingJobs(t)
	return s
}

// close stops the started programs.
func (s *env) close(t *testing.T) {
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
}

// startDev starts a Slurm with jobs and nodes of all kinds. Every second it computes fair shares and gathers the usage of jobs.
func (s *env) startDev(ctx context.Context) (err error) {
	s.dev, err = realslurm.Start(ctx, realslurm.Config{
		Name: "dev", Nodes: realslurm.PopulateNodes,
		Conf: []string{"PriorityCalcPeriod=00:01", "JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=1"},
	})
	if err != nil {
		return err
	}
	if s.devJobs, err = s.dev.Populate(ctx); err != nil {
		return err
	}
	return s.makePartitions(ctx)
}

// readDCGM returns the metrics of a dcgm-exporter that knows which GPUs of n2 belong to the job "gpus".
func (s *env) readDCGM(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`gpu="[01]",[^}]*Hostname="n2",`).ReplaceAllString(readFile(t, "testdata/dcgm.prom"),
		`${0}hpc_job="`+s.devJobs["gpus"]+`",`)
}

// makePartitions creates a partition for short jobs without delays, and a partition without nodes for a job that can never run.
func (s *env) makePartitions(ctx context.Context) error {
	for _, partition := range [][]string{{"partitionname=empty"}, {"partitionname=short", "nodes=n7"}} {
		if _, err := s.dev.Run(ctx, "", append([]string{"scontrol", "create", "state=up"},
			partition...)...); err != nil {
			return err
		}
	}
	_, err := s.dev.Run(ctx, "alice", "sbatch", "-p", "empty", "-w", "n1", "-o", "/dev/null", "--wrap", "true")
	return err
}

// startLoop starts a control loop and submits jobs that need a few workers.
func (s *env) startLoop(ctx context.Context) (err error) {
	if s.loop, err = loop.Start(ctx, loop.Config{}); err != nil {
		return err
	}
	if err := s.loop.ApplyHPA(ctx, "required-nodes"); err != nil {
		return err
	}
	_, err = s.loop.Slurm.Run(ctx, "alice", "sbatch", "-p", loop.NodeSet, "--array=0-3", "-n", "4",
		"-o", "/dev/null", "--wrap", "sleep 40")
	return err
}

// submitScalingJobs submits jobs that need more nodes than the NodeSet may have, and one job that
// is too large for it.
func (s *env) submitScalingJobs(t *testing.T) {
	t.Helper()
	for _, job := range [][]string{{"--array=0-9", "-n", "4", "--wrap", "sleep 40"}, {"-N", "9", "--wrap", "true"}} {
		args := append([]string{"sbatch", "-p", loop.NodeSet, "-o", "/dev/null"}, job...)
		if _, err := s.loop.Slurm.Run(t.Context(), "alice", args...); err != nil {
			t.Fatal(err)
		}
	}
}

// buildProgram builds one of our programs.
func buildProgram(t *testing.T, dir, name string) string {
	t.Helper()
	program, err := process.Build(t.Context(), dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// startExporter starts slurm-exporter with all optional metrics.
func startExporter(t *testing.T, dir string, slurm *realslurm.Cluster) (*process.Process, string) {
	t.Helper()
	address := process.FreeAddress(t)
	p := process.Start(t, buildProgram(t, dir, "slurm-exporter"), "--web.listen-address="+address,
		"--slurm.poll-interval=1s", "--slurm.slow-poll-interval=5s",
		"--slurm.url="+slurm.URL, "--slurm.token-file="+slurm.TokenFile,
		"--collector.users", "--collector.job_usage", "--collector.user_usage", "--collector.job_info", "--collector.job_efficiency",
		"--collector.user_efficiency",
		"--compat=slinky,openmetrics,vpenso")
	process.Await(t, func() error { return process.CheckOK("http://" + address + "/-/ready") })
	return p, address
}

var listenPattern = regexp.MustCompile(`(?i)listening on"? address=(?:\[::\]|127\.0\.0\.1):(\d+)`)

// adapterAddress returns the address of the metrics of the loop's adapter.
func adapterAddress(t *testing.T, l *loop.Loop) string {
	t.Helper()
	var address string
	process.Await(t, func() error {
		m := listenPattern.FindStringSubmatch(l.Adapters[0].Log())
		if m == nil {
			return errors.New("the adapter does not log where it listens: " + l.Adapters[0].Log())
		}
		address = "127.0.0.1:" + m[1]
		return nil
	})
	return address
}

// submitJobsUntilEnd submits short jobs to dev until the test ends, so that counters increase.
func (s *env) submitJobsUntilEnd(t *testing.T, jobs ...[]string) {
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

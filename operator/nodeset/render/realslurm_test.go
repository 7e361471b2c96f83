//go:build e2e

package render

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// A real slurmd takes over the record that is rendered for it, runs a job, and is
// DOWN when it is stopped; its name can be FUTURE again and start once more.
func TestSlurmTakesWhatIsRendered(t *testing.T) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	for _, version := range realslurm.Versions() {
		t.Run(version, func(t *testing.T) {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", names.SlurmdPort))
			if err != nil {
				t.Skipf("another slurmd is on this machine: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			lifeOfAWorker(t, startSlurm(t, version))
		})
	}
}

// startSlurm starts a Slurm that trusts the reports of slurmds.
func startSlurm(t *testing.T, version string) liveSlurm {
	t.Helper()
	c, err := realslurm.Start(t.Context(), realslurm.Config{Version: version, Name: "render", Nodes: 1,
		WithoutAccounting: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(c.Dir, "etc", "slurm.conf")
	conf, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	conf = regexp.MustCompile(`(?m)^SlurmdParameters=.*\n`).ReplaceAll(conf, nil)
	if err := os.WriteFile(path, conf, 0o644); err != nil {
		t.Fatal(err)
	}
	s := liveSlurm{c, string(regexp.MustCompile(`(?m)^SlurmctldPort=(\d+)`).FindSubmatch(conf)[1])}
	process.Await(t, func() error { // on a busy machine slurmctld may be reconfigured after scontrol has lost patience
		_, err := s.Run(t.Context(), "", "scontrol", "reconfigure")
		return err
	})
	return s
}

type liveSlurm struct {
	*realslurm.Cluster
	port string
}

func (s liveSlurm) run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := s.Run(t.Context(), "", argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// await waits until the Slurm node's text has a word.
func (s liveSlurm) await(t *testing.T, word string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	for {
		out, err := s.Run(ctx, "", "scontrol", "show", "node", "n-0", "--future")
		if err == nil && strings.Contains(out, word) {
			return out
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the Slurm node has no %s (%v):\n%s", word, err, out)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func lifeOfAWorker(t *testing.T, s liveSlurm) {
	in := newInput(t, "extraConf: 'Weight=7 Features=ssd', slurmd: {resources: {limits: {cpu: 1, memory: 500Mi}}}")
	options := strings.Fields("NodeName=n-0 " + FutureOptions(in, shape.Shape{}))
	s.run(t, append([]string{"scontrol", "create"}, options...)...)
	for _, reason := range []string{"", "bad disk [2]"} {
		slurmd := s.slurmd(t, Conf(in, KubeNodeFacts{}))
		node := s.await(t, "State=IDLE+DYNAMIC_NORM ")
		for _, want := range []string{"CPUTot=1 ", "RealMemory=500 ", "AvailableFeatures=n,ssd\n", "Weight=7 "} {
			if !strings.Contains(node, want) {
				t.Errorf("the Slurm node has no %q:\n%s", want, node)
			}
		}
		if out := s.run(t, "srun", "-w", "n-0", "-C", "ssd", "echo", "ran"); out != "ran\n" && out != "ran" {
			t.Errorf("the job said %q", out)
		}
		want := "State=DOWN+DYNAMIC_NORM "
		if reason != "" {
			s.run(t, "scontrol", "update", "NodeName=n-0", "State=DRAIN", "Reason="+reason)
			want = "Reason=" + reason
		}
		s.run(t, "env", "POD_HOSTNAME=n-0", "sh", "-c", stopScript, StopReason)
		if node := s.await(t, want); reason == "" && !strings.Contains(node, "Reason="+StopReason) {
			t.Errorf("the reason is another:\n%s", node)
		}
		slurmd()
		s.run(t, "scontrol", "update", "NodeName=n-0", "State=FUTURE")
	}
}

// slurmd runs slurmd as a worker does. stop ends it and waits for its end.
func (s liveSlurm) slurmd(t *testing.T, conf string) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := s.Run(context.WithoutCancel(t.Context()), "", "slurmd", "-D", "-Z", "-N", "n-0",
			"--conf-server", "127.0.0.1:"+s.port, "--conf", conf)
		if err != nil && t.Context().Err() == nil {
			t.Log(err)
		}
	}()
	return func() {
		s.run(t, "sh", "-c", `for p in $(grep -lx slurmd /proc/[0-9]*/comm); do
  p=${p%/comm}; if tr '\0' ' ' <"$p/cmdline" | grep -q ' -N n-0 '; then kill "${p#/proc/}"; fi; done`)
		<-done
	}
}

//go:build e2e

package config

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	configtrial "github.com/slurmtide/slurmtide/operator/configagent/trial"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

var (
	fuzzTime = flag.Duration("conf-fuzz", 0, "how long random lines are tried on each release; 0 tries a few")
	fuzzSeed = flag.Uint64("conf-fuzz-seed", 1, "seed of the random lines")
	// insidePort is set in the copy of this test that runs inside a cluster.
	insidePort = flag.Int("conf-fuzz-inside", 0, "port of the slurmctld inside a cluster")
)

// fewLines is how many lines are tried without a time.
const fewLines = 12

// insideScript runs a copy of this test as slurm, with its own /etc/slurm, state and socket. It limits slurmctld's memory.
const insideScript = `set -eu
dir=/inst/scratch/fuzz; mkdir -p $dir/etc; cp -a /etc/slurm/*.key $dir/etc/; chown -R slurm $dir
mount --bind $dir/etc /etc/slurm
mount -t tmpfs -o mode=777 tmpfs /var/spool; mount -t tmpfs -o mode=777 tmpfs /run; mkdir -p -m 777 /run/slurmctld /run/slurm
chown slurm /run/slurmctld; ulimit -v 8000000; ulimit -c 0
cd $dir; exec setpriv --reuid slurm --regid slurm --init-groups "$@" 2>&1`

// TestNoAcceptedLineEndsSlurmctld tries random lines of slurm.conf. A real slurmctld must start with each line that the agent's trial
// accepts, and accept it at a reconfigure.
func TestNoAcceptedLineEndsSlurmctld(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, release string, tr trial) {
		dir := filepath.Join(tr.cluster.Dir, "scratch", "fuzz")
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(program) //nolint:gosec // this test
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := process.WriteProgram(filepath.Join(dir, "config.test"), content); err != nil {
			t.Fatal(err)
		}
		out, err := tr.cluster.Run(t.Context(), "", "unshare", "-m", "bash", "-c", insideScript, "fuzz",
			"/inst/scratch/fuzz/config.test", "-test.run=^TestInsideCluster$", "-test.v", "-test.timeout=0",
			fmt.Sprintf("-conf-fuzz=%s", *fuzzTime), fmt.Sprintf("-conf-fuzz-seed=%d", *fuzzSeed),
			fmt.Sprintf("-conf-fuzz-inside=%d", tr.port))
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "===") {
				t.Logf("%s: %s", release, strings.TrimRight(line, "\n"))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// confFuzz tries random lines inside a cluster.
type confFuzz struct {
	t       *testing.T
	lines   *randomLines
	checker configagent.Checker
	real    *realSlurmctld
	tried, refused, unrendered,
	accepted, ended int
	// last are the lines that were accepted last.
	last string
}

// TestInsideCluster is the part of TestNoAcceptedLineEndsSlurmctld that runs inside a cluster.
func TestInsideCluster(t *testing.T) {
	if *insidePort == 0 {
		t.Skip("TestNoAcceptedLineEndsSlurmctld runs it")
	}
	ctx := t.Context()
	f := &confFuzz{t: t, real: &realSlurmctld{port: *insidePort},
		checker: configagent.Checker{Daemon: configtrial.Slurmctld(), Program: "slurmctld", Scontrol: "scontrol", TempDir: t.TempDir(),
			Timeout: 20 * time.Second}}
	base, err := f.render("")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.checker.Check(ctx, f.files(base)); err != nil {
		t.Fatalf("the trial refuses the configuration without a random line: %v", err)
	}
	if err := f.real.start(ctx, base); err != nil {
		t.Fatal(err)
	}
	defer f.real.kill()
	if f.lines, err = newRandomLines(ctx, base, rand.New(rand.NewPCG(*fuzzSeed, 0))); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for f.tried = 0; *fuzzTime == 0 && f.tried < fewLines || time.Since(begin) < *fuzzTime; f.tried++ {
		f.try(ctx, base, f.lines.next())
	}
	t.Logf("%.1f minutes, seed %d, %d options: %d lines, %d accepted, %d refused by the trial, %d refused by the operator, "+
		"%d accepted lines ended slurmctld", time.Since(begin).Minutes(), *fuzzSeed, f.lines.optionCount(), f.tried, f.accepted,
		f.refused, f.unrendered, f.ended)
}

// render returns the slurm.conf of a Controller with a text in extraConf.
func (f *confFuzz) render(extra string) (string, error) {
	return slurmconf.SlurmConf{ClusterName: "trial", Hosts: []string{"ctl"}, Address: "ctl", Port: int32(f.real.port),
		SlurmdPort: 6818, MaxNodeCount: 20, NodeSets: []slurmconf.NodeSet{{Name: "cpu", HasPartition: true}},
		Extra: "NodeName=n1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 Features=cpu\n" + extra}.Render()
}

func (f *confFuzz) files(conf string) configagent.Files {
	out := configagent.Files{"slurm.conf": {Content: []byte(conf), Mode: 0o644},
		"cgroup.conf":      {Content: []byte("CgroupPlugin=disabled\n"), Mode: 0o644},
		slurmconf.JWKSFile: {Content: []byte(`{"keys":[]}`), Mode: 0o644}}
	for _, key := range []string{"slurm.key", slurmconf.JWTKeyFile} {
		content, err := os.ReadFile(filepath.Join(slurmconf.Dir, key))
		if err != nil {
			f.t.Fatal(err)
		}
		out[key] = configagent.File{Content: content, Mode: 0o600}
	}
	if err := os.WriteFile(filepath.Join(slurmconf.Dir, "cgroup.conf"), out["cgroup.conf"].Content, 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(slurmconf.Dir, slurmconf.JWKSFile), out[slurmconf.JWKSFile].Content, 0o644); err != nil {
		f.t.Fatal(err)
	}
	return out
}

// try tries lines, and restores the base if they end slurmctld.
func (f *confFuzz) try(ctx context.Context, base, lines string) {
	text, err := f.render(lines)
	if err != nil {
		f.unrendered++
		return
	}
	if why := f.real.describeEnd(); why != "" {
		f.reportEnd(ctx, base, f.last, errors.New("after it served: "+why))
	}
	err = f.checker.Check(ctx, f.files(text))
	var refused *configagent.RefusedError
	switch {
	case errors.As(err, &refused):
		f.refused++
		return
	case err != nil:
		f.t.Logf("no verdict on %s: %v", strconv.Quote(lines), err)
		f.refused++
		return
	}
	f.accepted++
	f.last = lines
	err = f.real.reconfigure(ctx, text)
	if err != nil {
		err = fmt.Errorf("at a reconfigure: %w", err)
	} else if err = f.real.start(ctx, text); err != nil {
		err = fmt.Errorf("at a start: %w", err)
	}
	if err != nil {
		f.reportEnd(ctx, base, lines, err)
	}
}

// reportEnd fails the test for accepted lines that ended slurmctld, and starts it with the base.
func (f *confFuzz) reportEnd(ctx context.Context, base, lines string, cause error) {
	f.ended++
	f.t.Errorf("ACCEPTED AND ENDED %s: %v", strconv.Quote(lines), cause)
	if err := f.real.start(ctx, base); err != nil {
		f.t.Logf("the state is of no use any more: %v", err)
		f.real.removeState()
		if err := f.real.start(ctx, base); err != nil {
			f.t.Fatal(err)
		}
	}
}

//go:build e2e

package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestNoJobStartsBehindAClosedGate: a job waits until the gate is open, while running jobs continue. A partition that an administrator has
// set DOWN stays DOWN.
func TestNoJobStartsBehindAClosedGate(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		run := func(argv ...string) string {
			out, err := tr.cluster.Run(t.Context(), "", argv...)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(out)
		}
		awaitJob := func(id, state string) {
			t.Helper()
			process.Await(t, func() error {
				if shown := run("scontrol", "--oneliner", "show", "job", id); !strings.Contains(shown, "JobState="+state+" ") {
					return errors.New(shown)
				}
				return nil
			})
		}
		submit := func(script string) string {
			return run("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--mem=1", "--wrap", script)
		}
		g := newGate(t, tr, filepath.Join(tr.cluster.Dir, "etc"))
		run("scontrol", "create", "PartitionName=closed", "Nodes=ALL", "State=DOWN", "Hidden=YES")
		running := submit("sleep 600")
		awaitJob(running, "RUNNING")

		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if states := run("sinfo", "--all", "--noheader", "--format=%a"); strings.Contains(states, "up") {
			t.Errorf("the partitions are %s", states)
		}
		waiting := submit("true")
		time.Sleep(5 * time.Second) // longer than slurmctld's pause between two scheduling passes (sched_min_interval)
		awaitJob(waiting, "PENDING")
		awaitJob(running, "RUNNING")

		if err := g.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitJob(waiting, "COMPLETED")
		if state := run("sinfo", "--noheader", "--partition=closed", "--format=%a"); state != "down" {
			t.Errorf("the administrator's partition is %s", state)
		}

		path := filepath.Join(g.Conf.Live, "slurm.conf")
		conf, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		down := regexp.MustCompile(`(?m)^PartitionName=debug .*$`).ReplaceAll(conf, []byte("$0 State=DOWN"))
		if err := os.WriteFile(path, append(down, "\nReconfigFlags=KeepPartState\n"...), 0o644); err != nil { //nolint:gosec // as it was
			t.Fatal(err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		run("scontrol", "reconfigure")
		process.Await(t, func() error { return g.Open(t.Context()) })
		if states := run("sinfo", "--noheader", "--summarize", "--format=%R %a"); !strings.Contains(states, "debug down") ||
			!strings.Contains(states, "batch up") {
			t.Errorf("debug is DOWN in slurm.conf, and the partitions are %s", states)
		}

		run("scontrol", "update", "PartitionName=gpu", "State=DRAIN")
		run("scontrol", "update", "PartitionName=debug", "State=UP")
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		run("scontrol", "reconfigure")
		process.Await(t, func() error { return g.Open(t.Context()) })
		if err := tr.cluster.Restart(t.Context(), "slurmctld"); err != nil {
			t.Fatal(err)
		}
		process.Await(t, func() error {
			states, err := tr.cluster.Run(t.Context(), "", "sinfo", "--noheader", "--summarize", "--format=%R %a")
			if err == nil && (!strings.Contains(states, "gpu drain") || !strings.Contains(states, "debug up")) {
				err = fmt.Errorf("administrators have set other states than %s", states)
			}
			return err
		})
	})
}

// TestPartitionsAreUpAfterSlurmctldIsKilledBehindAnOpenGate: slurmctld saves the state of the first partition at once, and the other
// partitions' states up to five seconds later.
func TestPartitionsAreUpAfterSlurmctldIsKilledBehindAnOpenGate(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		states := func() (string, error) {
			return tr.cluster.Run(t.Context(), "", "sinfo", "--all", "--noheader", "--summarize", "--format=%R %a")
		}
		g := newGate(t, tr, filepath.Join(tr.cluster.Dir, "etc"))
		g.File = filepath.Join(tr.cluster.Dir, "spool", "slurmctld", "closed")
		path := filepath.Join(g.Conf.Live, "slurm.conf")
		conf, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append(conf, "\nReconfigFlags=KeepPartState\n"...), 0o644) //nolint:gosec // as it was
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.cluster.Run(t.Context(), "", "scontrol", "reconfigure"); err != nil {
			t.Fatal(err)
		}
		process.Await(t, func() error { return g.Close(t.Context()) })
		// All events until the next start may happen in the second that slurmctld shows as its start time.
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		if _, err := tr.cluster.Run(t.Context(), "", "scontrol", "reconfigure"); err != nil {
			t.Fatal(err)
		}
		process.Await(t, func() error { return g.Open(t.Context()) })

		if err := tr.cluster.Signal(t.Context(), "slurmctld", syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := tr.cluster.Start(t.Context(), "slurmctld"); err != nil {
			t.Fatal(err)
		}
		process.Await(t, func() error {
			found, err := states()
			if err == nil && !strings.Contains(found, "down") {
				t.Fatalf("slurmctld was killed too late, the partitions are:\n%s", found)
			}
			return err
		})
		var watching sync.WaitGroup
		t.Cleanup(watching.Wait) // it writes into the cluster's folder
		watching.Go(func() { g.Watch(t.Context()) })
		process.Await(t, func() error {
			found, err := states()
			if err == nil && strings.Contains(found, "down") {
				err = errors.New(found)
			}
			return err
		})
		checkClosedAfterAnotherReconfigure(t, g, tr)
	})
}

// checkClosedAfterAnotherReconfigure: an administrator closes a partition right after a reconfigure and then reconfigures again. The
// partition stays closed, because slurmctld begins a reconfigure by saving its state.
func checkClosedAfterAnotherReconfigure(t *testing.T, g gate.Gate, tr trial) {
	t.Helper()
	run := func(argv ...string) {
		t.Helper()
		if out, err := tr.cluster.Run(t.Context(), "", argv...); err != nil {
			t.Fatal(out, err)
		}
	}
	process.Await(t, func() error { return g.Close(t.Context()) })
	run("scontrol", "reconfigure")
	process.Await(t, func() error { return g.Open(t.Context()) })
	time.Sleep(1500 * time.Millisecond)
	run("scontrol", "update", "PartitionName=batch", "State=DOWN")
	run("scontrol", "reconfigure")
	left := g.File + ".restored"
	process.Await(t, func() error {
		if _, err := os.Stat(left); err == nil {
			return errors.New("it is not known whether slurmctld has saved the states")
		}
		return nil
	})
	found, err := tr.cluster.Run(t.Context(), "", "sinfo", "--all", "--noheader", "--summarize", "--format=%R %a")
	if err != nil || strings.Count(found, "down") != 1 || !strings.Contains(found, "batch down") {
		t.Errorf("an administrator has closed batch, and the partitions are (%v):\n%s", err, found)
	}
}

// newGate returns the gate of a cluster whose slurm.conf is in a folder.
func newGate(t *testing.T, tr trial, live string) gate.Gate {
	t.Helper()
	programs, dir := partition.Programs{Scontrol: filepath.Join(tr.cluster.Dir, "bin", "scontrol")}, t.TempDir()
	return gate.Gate{Programs: programs, File: filepath.Join(dir, "closed"), Log: slog.New(slog.DiscardHandler),
		Conf: partition.ConfStates{Programs: programs, Live: live, File: filepath.Join(dir, "states")}}
}

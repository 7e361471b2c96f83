//go:build e2e

package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// statesConf is a slurm.conf whose partitions have their states from lines that are easily misread. Its arguments replace the
// states of the two defaults.
func statesConf(first, second string) string {
	return "ReconfigFlags=KeepPartState\nPartitionName=DEFAULT State=" + first + "\nPartitionName=shut Nodes=ALL\n" +
		"PartitionName=\"quoted\" Nodes=ALL State=\"UP\"\nPartitionName=continued Nodes=ALL \\\n  Sta\\\nte=UP\n" +
		"partitionname=DEFAULT state=" + second + "\nPartitionName=later Nodes=ALL\n"
}

func (a *agentBeside) awaitStates(what, want string) {
	a.Helper()
	process.Await(a.T, func() error {
		got, err := a.tr.cluster.Run(a.Context(), "", "sinfo", "--noheader", "--summarize", "--format=%R=%a",
			"--partition=shut,quoted,continued,later")
		if err != nil {
			return err
		}
		for _, state := range strings.Fields(want) {
			if !strings.Contains(got, state+"\n") {
				return errors.New(what + ": the partitions are " + strings.Join(strings.Fields(got), " ") + ", want " + want)
			}
		}
		return nil
	})
}

// TestAdministratorsStatesOutliveDefaults: states that an administrator has set stay through reconfigures and restarts. A changed state in
// slurm.conf applies, however it is written.
func TestAdministratorsStatesOutliveDefaults(t *testing.T) {
	forEachReleaseIfLong(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		first := a.want(string(text), "")
		a.start()
		a.awaitApplied(first)
		a.awaitApplied(a.want(string(text)+statesConf("DOWN", "UP"), ""))
		a.awaitStates("slurm.conf", "shut=down quoted=up continued=up later=up")
		for name, state := range map[string]string{"shut": "UP", "quoted": "DRAIN", "continued": "DOWN", "later": "DRAIN"} {
			a.run("scontrol", "update", "PartitionName="+name, "State="+state)
		}
		const set = "shut=up quoted=drain continued=down later=drain"
		a.awaitApplied(a.want(string(text)+statesConf("DOWN", "UP")+"TreeWidth=7\n", ""))
		a.awaitStates("a reconfigure", set)
		if err := tr.cluster.Restart(t.Context(), "slurmctld"); err != nil {
			t.Fatal(err)
		}
		a.awaitStates("a restart", set)
		a.awaitApplied(a.want(string(text)+statesConf("DOWN", "DOWN"), ""))
		a.awaitStates("a second default that is DOWN", "shut=up quoted=drain continued=down later=down")
		a.awaitApplied(a.want(string(text)+statesConf("INACTIVE", "UP"), ""))
		a.awaitStates("other defaults", "shut=inactive quoted=drain continued=down later=up")
	})
}

// TestADrainInSlurmConfStays: a revision that removes a partition with a job is held, which drains the partition. The next revision keeps
// the partition with State=DRAIN. The agent must not undo that state.
func TestADrainInSlurmConfStays(t *testing.T) {
	if !*long {
		t.Skip("it takes more than a minute; it needs -long")
	}
	forEachReleaseIfLong(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		base := string(text) + "ReconfigFlags=KeepPartState\n"
		first := a.want(string(text), "")
		a.start()
		a.awaitApplied(first)
		a.awaitApplied(a.want(base+"PartitionName=shut Nodes=ALL\n", ""))
		ctx, stop := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() { defer close(watched); a.judge.Watch(ctx) }()
		defer func() { stop(); <-watched }()
		job := a.submit("--partition", "shut")
		a.awaitJob(job, "RUNNING")
		a.awaitHeld(a.want(base, ""), "PartitionInUse", job)
		a.awaitStates("a held revision", "shut=drain")
		a.awaitApplied(a.want(base+"PartitionName=shut Nodes=ALL State=DRAIN\n", ""))
		for range 80 {
			a.awaitStates("slurm.conf", "shut=drain")
			time.Sleep(time.Second)
		}
		a.awaitJob(job, "RUNNING")
		a.awaitApplied(a.want(base+"PartitionName=shut Nodes=ALL\n", ""))
		a.awaitStates("slurm.conf without a state", "shut=up")
	})
}

package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// watchWhile runs Watch while a function runs and for a short time after it. Watch treats a gate as forgotten soon.
func (c *cluster) watchWhile(run func()) {
	ctx, cancel := context.WithCancel(c.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.openForgotten(ctx, 20*time.Millisecond, 200*time.Millisecond)
	}()
	run()
	time.Sleep(time.Second)
	cancel()
	<-ended
}

// closeAndOpen does what an agent does around a reconfigure. It returns the first error.
func (c *cluster) closeAndOpen() error {
	closed := c.Close(c.Context())
	if err := c.Open(c.Context()); closed == nil {
		return err
	}
	return closed
}

// TestAStateThatCouldNotBeAppliedStaysDue: slurmctld does not run when it is given the revision, and reads it when it starts.
func TestAStateThatCouldNotBeAppliedStaysDue(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.writeFile("slurm.conf", "PartitionName=a\n")
	c.watchWhile(func() {
		time.Sleep(300 * time.Millisecond)
		c.writeFile("refuses", "")
		c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\n")
		if c.closeAndOpen() == nil {
			t.Error("a scontrol that fails is no error")
		}
		c.must(os.Remove(filepath.Join(c.dir, "refuses")))
	})
	c.expectStates("after the start with State=DRAIN", "a=DRAIN")
}

// TestAnAgentWithOlderFilesTakesNoStateBackForGood: the agent beside a standby starts with the old files. It gets the revision that the
// other agent has applied a moment later.
func TestAnAgentWithOlderFilesTakesNoStateBackForGood(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.writeFile("slurm.conf", "PartitionName=a\n")
	c.must(c.closeAndOpen())
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\n")
	c.must(c.closeAndOpen())
	c.Conf.Live = filepath.Join(c.dir, "standby")
	c.writeFile("standby/slurm.conf", "PartitionName=a\n")
	c.watchWhile(func() {
		time.Sleep(300 * time.Millisecond)
		c.writeFile("standby/slurm.conf", "PartitionName=a State=DRAIN\n")
	})
	c.expectStates("once both agents have the revision", "a=DRAIN")
}

// TestTheAgentOfAStandbyChangesNoStates until its slurmctld takes over.
func TestTheAgentOfAStandbyChangesNoStates(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.writeFile("slurm.conf", "PartitionName=a\n")
	c.must(c.closeAndOpen())
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\n")
	var serves atomic.Bool
	c.Serves = func(context.Context) error {
		if serves.Load() {
			return nil
		}
		return errors.New("a standby")
	}
	c.watchWhile(func() { time.Sleep(300 * time.Millisecond) })
	c.expectStates("a standby", "a=UP")
	serves.Store(true)
	c.watchWhile(func() { time.Sleep(300 * time.Millisecond) })
	c.expectStates("once it serves", "a=DRAIN")
}

// TestAPartitionThatSlurmctldKeepsHasItsNewState: revision 2 removes a partition while slurmctld is away, which starts with revision 3 and keeps
// the partition.
func TestAPartitionThatSlurmctldKeepsHasItsNewState(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
	c.must(c.Conf.Apply(t.Context()))
	c.writeFile("slurm.conf", "PartitionName=b\n")
	c.must(c.closeAndOpen())
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\nPartitionName=b\n")
	c.must(c.closeAndOpen())
	c.expectStates("with revision 3", "a=DRAIN", "b=UP")
	c.writeFile("slurm.conf", "PartitionName=b\n")
	c.must(c.Close(t.Context()))
	c.must(os.Remove(filepath.Join(c.dir, "partitions", "a")))
	c.must(c.Open(t.Context()))
	c.setAsAdministrator("a=DOWN") // slurmctld creates it with the state in slurm.conf, and an administrator changes the state
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
	c.must(c.closeAndOpen())
	c.expectStates("removed and created again,", "a=DOWN", "b=UP")
}

// TestAPartitionThatCannotBeSetLeavesNoOtherOpen: an administrator deleted one partition with scontrol, and scontrol refuses another.
func TestAPartitionThatCannotBeSetLeavesNoOtherOpen(t *testing.T) {
	c := newCluster(t, "b=UP", "c=UP", "d=DRAIN", "e=UP")
	c.writeFile("scontrol", strings.Replace(fmt.Sprintf(fakePrograms["scontrol"], c.dir), "[ -e ../refuses ]", "[ -e ../refuses-${2#*=} ]", 1))
	c.writeFile("refuses-b", "")
	const rest = "PartitionName=c\nPartitionName=e\n"
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\nPartitionName=d State=DRAIN\n"+rest)
	c.must(c.Conf.Apply(t.Context()))
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\nPartitionName=b State=DRAIN\nPartitionName=d\n"+rest)
	if err := c.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "PartitionName=b") || strings.Contains(err.Error(), "PartitionName=a") {
		t.Errorf("the error of Close is %v", err)
	}
	c.expectStates("closed,", "b=UP", "c=DOWN", "d=DOWN", "e=DOWN")
	c.setAsAdministrator("b=DOWN") // scontrol refuses to set it UP as well
	if err := c.Open(t.Context()); err == nil {
		t.Error("a partition that stays DOWN is no error")
	}
	c.expectStates("open,", "b=DOWN", "c=UP", "d=UP", "e=UP")
	c.must(os.Remove(filepath.Join(c.dir, "refuses-b")))
	c.must(c.Open(t.Context()))
	c.expectStates("allowed to,", "b=DRAIN", "c=UP", "d=UP", "e=UP")
}

// TestDownInSlurmConfStays: an agent has ended while the gate was closed, and slurm.conf then gives a partition the state that it has
// in a closed gate.
func TestDownInSlurmConfStays(t *testing.T) {
	for name, apply := range map[string]func(c *cluster){
		"slurmctld is given the revision":    func(c *cluster) { c.must(c.closeAndOpen()) },
		"slurmctld starts with the revision": func(c *cluster) { c.watchWhile(func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "a=UP", "b=UP")
			c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
			c.must(c.Close(t.Context()))
			c.must(c.Conf.Apply(t.Context()))
			c.writeFile("slurm.conf", "PartitionName=a State=DOWN\nPartitionName=b\n")
			apply(c)
			c.expectStates("with State=DOWN", "a=DOWN", "b=UP")
		})
	}
}

// TestDownInSlurmConfStaysAfterAKill: slurmctld is killed before it has saved the states that Open set, so b is DOWN again.
func TestDownInSlurmConfStaysAfterAKill(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
	c.must(c.closeAndOpen())
	c.writeFile("slurm.conf", "PartitionName=a State=DOWN\nPartitionName=b\n")
	c.must(c.Conf.Apply(t.Context(), c.closed())) // as Watch does
	c.hasStarted(time.Now())
	c.setAsAdministrator("b=DOWN")
	c.restoreLost()
	c.expectStates("after the kill", "a=DOWN", "b=UP")
}

// TestADamagedRecordIsLogged: partitions keep their states, which administrators may have set.
func TestADamagedRecordIsLogged(t *testing.T) {
	c := newCluster(t, "a=UP")
	var log strings.Builder
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	c.writeFile("states", "{")
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\n")
	c.must(c.closeAndOpen())
	c.expectStates("with a damaged record", "a=UP")
	if strings.Count(log.String(), "level=ERROR") != 1 || !strings.Contains(log.String(), "partitions may lack a state") {
		t.Errorf("the log is %q", log.String())
	}
	c.writeFile("slurm.conf", "PartitionName=a State=INACTIVE\n")
	c.must(c.closeAndOpen())
	c.expectStates("with a new state", "a=INACTIVE")
}

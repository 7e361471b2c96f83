package gate

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// watchWhile runs Watch, for which a gate is forgotten soon, while a function runs and for some time after that.
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

// closeAndOpen is what happens around a reconfigure. It returns the first error.
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

// TestAnAgentWithOlderFilesTakesNoStateBackForGood: the agent beside a standby starts with the files of before, and gets
// the revision that the other agent has applied a moment later.
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

package gate

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// withStandby returns a gate of a standby, whose agent has an older slurm.conf.
func (c *cluster) withStandby(conf string) *cluster {
	c.Helper()
	standby := &cluster{T: c.T, dir: c.dir, Gate: c.Gate}
	standby.Conf.Live = filepath.Join(c.dir, "standby")
	standby.Serves = func(context.Context) error { return errors.New("another slurmctld serves") }
	standby.writeFile("standby/slurm.conf", conf)
	return standby
}

// TestAStandbyOpensAForgottenGateAlone: the agent of the slurmctld that serves gave a partition a new state and ended before Open.
func TestAStandbyOpensAForgottenGateAlone(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
	c.must(c.closeAndOpen())
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\nPartitionName=b\n")
	c.must(c.Close(t.Context()))
	c.expectStates("closed", "a=DRAIN", "b=DOWN")
	standby := c.withStandby("PartitionName=a\nPartitionName=b\n")
	standby.watchWhile(func() { time.Sleep(300 * time.Millisecond) })
	c.expectStates("after the standby's watch", "a=DRAIN", "b=UP")
}

// TestAStandbyTakesNoStateBack: it closes and opens with an older slurm.conf.
func TestAStandbyTakesNoStateBack(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
	c.must(c.closeAndOpen())
	standby := c.withStandby("PartitionName=a\nPartitionName=b\n")
	c.writeFile("slurm.conf", "PartitionName=a State=DRAIN\nPartitionName=b\n")
	c.must(c.closeAndOpen())
	c.must(standby.closeAndOpen())
	c.expectStates("after the standby", "a=DRAIN", "b=UP")
}

// TestAnOpenThatIsCutOffKeepsWhatIsLeft: with hundreds of partitions it takes longer than the agent may live.
func TestAnOpenThatIsCutOffKeepsWhatIsLeft(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\n")
	c.must(c.Close(t.Context()))
	c.delayUpdate("b", "UP", "exec sleep 3")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := c.Open(ctx); err == nil {
		t.Fatal("it was not cut off")
	}
	c.expectStates("cut off,", "a=UP", "b=DOWN")
	c.setAsAdministrator("a=DOWN")
	c.watchWhile(func() { time.Sleep(500 * time.Millisecond) })
	c.expectStates("a was closed after it had been opened;", "a=DOWN", "b=UP")
}

// delayUpdate makes scontrol run a line of shell once, right before it sets a partition.
func (c *cluster) delayUpdate(partition, state, line string) {
	c.writeFile("scontrol", `#!/bin/sh
cd `+c.dir+`/partitions
case $1 in
update)
  if [ "$2 $3" = "PartitionName=`+partition+` State=`+state+`" ] && [ ! -e ../delayed ]; then touch ../delayed; `+line+`; fi
  echo "${3#State=}" >"${2#PartitionName=}" ;;
show) [ "$2" = config ] && cat ../boot && exit 0 ;;
esac
for p in *; do echo "PartitionName=$p AllowGroups=ALL State=$(cat "$p") TotalCPUs=4"; done
`)
}

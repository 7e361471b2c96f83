package inuse

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// TestADrainInSlurmConfStays: revision 2 removes partition a, which has a job, so a is drained. The administrator then chooses
// revision 3, which keeps it with State=DRAIN. One agent and one slurmctld run.
func TestADrainInSlurmConfStays(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	c.write("sdiag", "#!/bin/sh\necho 'Agent count: 0'\n")
	g := gate.Gate{Programs: c.Programs, File: c.GateFile, Log: slog.New(slog.DiscardHandler),
		Conf: partition.ConfStates{Programs: c.Programs, Live: c.Live, File: filepath.Join(c.dir, "states"), Overridden: c.File}}
	c.write("live/slurm.conf", inForce)
	if err := g.Conf.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.expect(c.hold("PartitionName=b\nPartitionName=closed State=DOWN\n"), "a (job 5)")
	c.expectStates("a:DRAIN b:UP closed:DOWN")
	const drained = "PartitionName=a State=DRAIN\nPartitionName=b\nPartitionName=closed State=DOWN\n"
	c.expect(c.holdFiles(filesOf("slurm.conf", inForce, slurmconf.RevisionFile, "1"),
		filesOf("slurm.conf", drained, slurmconf.RevisionFile, "3")), "")
	c.write("live/slurm.conf", drained)
	c.write("live/"+slurmconf.RevisionFile, "3")
	stop := c.KeepDrained(t.Context())
	if err := errors.Join(g.Close(t.Context()), g.Open(t.Context())); err != nil { // around the reconfigure
		t.Fatal(err)
	}
	stop()
	c.expectStates("a:DRAIN b:UP closed:DOWN")
	c.watchFor(400*time.Millisecond, 100*time.Millisecond)
	c.expectStates("a:DRAIN b:UP closed:DOWN")
}

// TestADrainInSlurmConfStaysBesideWatch: the partition was drained by an agent that has ended, slurmctld starts with State=DRAIN, and
// both Watches of the next agent look at the same time. scontrol is slow.
func TestADrainInSlurmConfStaysBesideWatch(t *testing.T) {
	c := newCluster(t, "")
	conf := partition.ConfStates{Programs: c.Programs, Live: c.Live, File: filepath.Join(c.dir, "states"), Overridden: c.File}
	c.write("live/slurm.conf", "PartitionName=a\n")
	if err := errors.Join(conf.Apply(t.Context()), c.shutFor("").Set(t.Context(), []string{"a"})); err != nil {
		t.Fatal(err)
	}
	c.write("live/slurm.conf", "PartitionName=a State=DRAIN\n")
	c.write("scontrol", strings.Replace(fmt.Sprintf(fakePrograms["scontrol"], c.dir), "update*)", "update*) sleep 0.3;", 1))
	applied := make(chan error, 1)
	go func() { applied <- conf.Apply(t.Context()) }()
	time.Sleep(200 * time.Millisecond)
	if err := errors.Join(c.shutFor("").Restore(t.Context()), <-applied); err != nil {
		t.Fatal(err)
	}
	c.expectStates("a:DRAIN b:UP closed:DOWN")
}

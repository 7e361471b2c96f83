package inuse

import (
	"testing"
	"time"
)

// TestASlowSlurmctldForgetsNoPartition: scontrol has created a partition, and slurmctld runs without telling of it.
func TestASlowSlurmctldForgetsNoPartition(t *testing.T) {
	c := newCluster(t, "7|RUNNING|made||n1|||||\n")
	runs, now := true, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Silence = NewSilence(func() bool { return runs }, func() time.Time { return now })
	c.set("made=UP")
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "PartitionInUse: it removes partitions of unfinished jobs")
	c.write("down", "")
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "PartitionInUse: slurmctld runs and does not say which partitions somebody has created")
	runs = false
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "")
	runs, now = true, now.Add(silenceDelay)
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "") // it hangs
}

func TestAPartitionWithTheSeparatorInItsName(t *testing.T) {
	c := newCluster(t, "7|RUNNING|x|y||n1|||||\n")
	c.set("x|y=UP")
	c.expect(c.hold(inForce), "x|y (job 7)")
}

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
	const held = "PartitionInUse: slurmctld runs and does not say which partitions somebody has created"
	c.expect(c.hold(inForce+"TreeWidth=5\n"), held)
	runs = false
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "")
	runs = true
	for began := now; now.Sub(began) < silenceDelay; now = now.Add(time.Minute) { // the time without slurmctld does not count
		c.expect(c.hold(inForce+"TreeWidth=5\n"), held)
	}
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "") // it hangs
}

// TestASilenceOfDaysAgo: nothing was judged for three days when slurmctld is slow once.
func TestASilenceOfDaysAgo(t *testing.T) {
	const held = "PartitionInUse: slurmctld runs and does not say which partitions somebody has created"
	for name, first := range map[string]struct {
		runs bool
		want string
	}{
		"slurmctld did not run":      {false, ""},
		"its revision was withdrawn": {true, held},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "7|RUNNING|made||n1|||||\n")
			runs, now := first.runs, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			c.Silence = NewSilence(func() bool { return runs }, func() time.Time { return now })
			c.set("made=UP")
			c.write("down", "")
			c.expect(c.hold(inForce+"TreeWidth=5\n"), first.want)
			runs, now = true, now.Add(72*time.Hour)
			c.expect(c.hold(inForce+"TreeWidth=6\n"), held)
		})
	}
}

func TestAPartitionWithTheSeparatorInItsName(t *testing.T) {
	c := newCluster(t, "7|RUNNING|x|y||n1|||||\n")
	c.set("x|y=UP")
	c.expect(c.hold(inForce), "x|y (job 7)")
}

// TestASilenceLastsBetweenSlowQuestions: each time that the agent judges, scontrol ping has waited for 25 s in three places.
func TestASilenceLastsBetweenSlowQuestions(t *testing.T) {
	const betweenQuestions = 3*25*time.Second + 2*askTimeout + 10*time.Second
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := NewSilence(func() bool { return true }, func() time.Time { return now })
	for began := now; now.Sub(began) <= silenceDelay+betweenQuestions; now = now.Add(betweenQuestions) {
		s.note(false)
	}
	if s.isShort() {
		t.Errorf("the silence is short after %s with a question every %s", silenceDelay+betweenQuestions, betweenQuestions)
	}
}

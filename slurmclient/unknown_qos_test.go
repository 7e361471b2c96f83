package slurmclient

import (
	"context"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobIn returns a job in a QOS.
func jobIn(qos string, state slurm.JobBase) *slurm.Job {
	return &slurm.Job{SharedOwner: slurm.ShareOwner(slurm.JobOwner{QOS: qos}), State: slurm.JobState{Base: state}}
}

func TestCreatedQOS(t *testing.T) {
	list := []slurm.QOS{{Name: "normal"}}
	var u unknownQOS
	for _, step := range []struct {
		name string
		jobs []*slurm.Job
		list []slurm.QOS
		want bool
	}{
		{"a QOS that is known", []*slurm.Job{jobIn("normal", slurm.JobPending)}, list, false},
		{"a job without QOS", []*slurm.Job{jobIn("", slurm.JobPending)}, list, false},
		{"a running job in an unknown QOS", []*slurm.Job{jobIn("capped", slurm.JobRunning)}, list, false},
		{"a pending job in an unknown QOS", []*slurm.Job{jobIn("normal", slurm.JobPending), jobIn("capped", slurm.JobPending)}, list, true},
		{"the same QOS is not listed", []*slurm.Job{jobIn("capped", slurm.JobPending), jobIn("capped", slurm.JobPending)}, list, false},
		{"another unknown QOS", []*slurm.Job{jobIn("capped", slurm.JobPending), jobIn("more", slurm.JobPending)}, list, true},
		{"both are listed", []*slurm.Job{jobIn("capped", slurm.JobPending), jobIn("more", slurm.JobPending)},
			append(list, slurm.QOS{Name: "capped"}, slurm.QOS{Name: "more"}), false},
		{"one of them was deleted", []*slurm.Job{jobIn("capped", slurm.JobPending)}, list, true},
	} {
		if got := u.observe(step.jobs, step.list); got != step.want {
			t.Errorf("%s: created is %v, want %v", step.name, got, step.want)
		}
	}
}

// TestAJobInAnUnknownQOSRequestsQOS: limits of a new QOS count after the poll of the jobs, and not only after the next slow poll.
func TestAJobInAnUnknownQOSRequestsQOS(t *testing.T) {
	client, err := New(Config{URL: "http://127.0.0.1:1", Token: TokenFromKey([]byte("key"), "slurm", time.Hour, time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := NewCache(client, CacheConfig{Resources: []Resource{Jobs, QOS}})
	jobs, qos := c.pollerOf(Jobs), c.pollerOf(QOS)
	poll := func(p *poller, update func(*Snapshot)) {
		p.read = func(context.Context) (reading, error) { return reading{update: update}, nil }
		p.pollOnce(t.Context())
	}
	for _, step := range []struct {
		name string
		poll func()
		want int // requested polls of QOS
	}{
		{"QOS has not been read", func() {
			poll(jobs, func(s *Snapshot) { s.Jobs.Value = []*slurm.Job{jobIn("capped", slurm.JobPending)} })
		}, 0},
		{"QOS has been read", func() { poll(qos, func(s *Snapshot) { s.QOS.Value = []slurm.QOS{{Name: "normal"}} }) }, 0},
		{"a job is in another QOS", func() {
			poll(jobs, func(s *Snapshot) { s.Jobs.Value = []*slurm.Job{jobIn("capped", slurm.JobPending)} })
		}, 1},
		{"QOS has been read again", func() {
			poll(qos, func(s *Snapshot) { s.QOS.Value = []slurm.QOS{{Name: "normal"}, {Name: "capped"}} })
		}, 0},
		{"no job has changed", func() { poll(jobs, nil) }, 0},
	} {
		step.poll()
		if got := len(qos.requested); got != step.want {
			t.Errorf("%s: %d polls of QOS are requested, want %d", step.name, got, step.want)
		}
	}
}

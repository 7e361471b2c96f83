package contract

import (
	"context"
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// submit submits a job with the fields that every job needs.
func (s *suite) submit(t *testing.T, client *slurmclient.Client, r slurm.JobRequest) uint32 {
	t.Helper()
	id, err := client.SubmitJob(t.Context(), completeRequest(r))
	must(t, err)
	return id
}

func completeRequest(r slurm.JobRequest) slurm.JobRequest {
	r.Name = "contract"
	r.WorkingDirectory = "/tmp"
	r.Environment = []string{"PATH=/bin:/usr/bin"}
	if r.Script == "" {
		r.Script = "#!/bin/sh\nsleep 600\n"
	}
	return r
}

func (s *suite) cancelAll(t *testing.T, ids ...uint32) {
	for _, id := range ids {
		if err := s.client.CancelJob(t.Context(), fmt.Sprint(id)); err != nil && !slurmclient.IsConflict(err) {
			t.Error(err)
		}
	}
}

// awaitJob waits until every record of a job satisfies a condition.
func (s *suite) awaitJob(t *testing.T, id uint32, what string, holds func(j *slurm.Job) bool) []*slurm.Job {
	t.Helper()
	var last []*slurm.Job
	s.eventually(t, fmt.Sprintf("job %d %s", id, what), func(ctx context.Context) (bool, error) {
		jobs, err := s.client.Job(ctx, id)
		last = jobs
		for _, j := range jobs {
			if !holds(j) {
				return false, err
			}
		}
		return len(jobs) > 0, err
	})
	return last
}

func (s *suite) testJobLife(t *testing.T) {
	id := s.submit(t, s.clientAs(t, "alice"),
		slurm.JobRequest{Tasks: 2, TimeLimit: slurm.Num(30), Comment: "a comment"})
	jobs := s.awaitJob(t, id, "running", func(j *slurm.Job) bool { return j.State.Base == slurm.JobRunning })
	j := jobs[0]
	if len(jobs) != 1 || j.ID != id || j.UserName() != "alice" || j.Partition != "batch" || j.Nodes == "" ||
		j.Name != "contract" || j.TimeLimit != slurm.Num(30) || j.CPUs.Or(0) < 2 || !j.StartTime.IsSet() ||
		!j.SubmitTime.IsSet() {
		t.Errorf("the running job is %+v", j)
	}
	states, err := s.client.JobStates(t.Context(), id)
	if err != nil || len(states) != 1 || states[0].ID != id || states[0].State.Base != slurm.JobRunning {
		t.Errorf("its state is %+v, %v", states, err)
	}
	list, err := s.client.Jobs(t.Context(), 0)
	must(t, err)
	if !containsJob(list.Items, id) {
		t.Error("the list does not contain the job")
	}
	err = s.clientAs(t, "carol").CancelJob(t.Context(), fmt.Sprint(id))
	if s.reportsCancelErrors() {
		wantCode(t, "cancelling somebody else's job", err, slurmclient.CodeUnauthorized)
	}
	s.awaitJob(t, id, "running on", func(j *slurm.Job) bool { return j.State.Base == slurm.JobRunning })
	must(t, s.client.CancelJob(t.Context(), fmt.Sprint(id)))
	s.awaitJob(t, id, "cancelled", func(j *slurm.Job) bool {
		return j.State.Base == slurm.JobCancelled && !j.State.Has(slurm.JobCompleting) && j.EndTime.IsSet()
	})
	if s.reportsCancelErrors() {
		wantCode(t, "cancelling it again", s.client.CancelJob(t.Context(), fmt.Sprint(id)), slurmclient.CodeConflict)
	}
}

// reportsCancelErrors reports whether the server returns an error when a cancel fails.
func (s *suite) reportsCancelErrors() bool { return s.version >= "v0.0.42" }

func containsJob(jobs []*slurm.Job, id uint32) bool {
	for _, j := range jobs {
		if j.ID == id {
			return true
		}
	}
	return false
}

func (s *suite) testArray(t *testing.T) {
	id := s.submit(t, s.client, slurm.JobRequest{Array: "1-9%2"})
	defer s.cancelAll(t, id)
	var jobs []*slurm.Job
	s.eventually(t, "two tasks to run", func(ctx context.Context) (bool, error) {
		var err error
		jobs, err = s.client.Job(ctx, id)
		running := 0
		for _, j := range jobs {
			if j.State.Base == slurm.JobRunning {
				running++
			}
		}
		return running == 2, err
	})
	waiting := uint64(0)
	for _, j := range jobs {
		if j.ArrayJobID != id {
			t.Errorf("record %d belongs to array %d, want %d", j.ID, j.ArrayJobID, id)
		}
		if j.IsArrayBase() {
			tasks, ok := slurm.ParseArrayTasks(j.ArrayTasks)
			waiting += tasks.Count
			if !ok || j.ArrayMaxRunning() != 2 {
				t.Errorf("the base record has tasks %q and throttle %d", j.ArrayTasks, j.ArrayMaxRunning())
			}
		}
	}
	if waiting != 7 {
		t.Errorf("%d tasks wait, want 7", waiting)
	}
}

// testExclusiveJob reads an exclusive job. Of the versions requested by name, only v0.0.45 does not
// report exclusiveness; a client that chooses its version always does.
func (s *suite) testExclusiveJob(t *testing.T) {
	id := s.submit(t, s.client, slurm.JobRequest{Hold: true, Exclusive: true})
	defer s.cancelAll(t, id)
	chooses := (&suite{server: s.server}).clientAs(t, "slurm")
	for _, c := range []*slurmclient.Client{s.client, chooses} {
		jobs, err := c.Job(t.Context(), id)
		must(t, err)
		want := "none"
		if c == s.client && s.version == "v0.0.45" {
			want = ""
		}
		if len(jobs) != 1 || jobs[0].Shared() != want {
			t.Errorf("with %s Shared is %q, want %q", c.Version(), jobs[0].Shared(), want)
		}
	}
}

func (s *suite) testHeldJob(t *testing.T) {
	id := s.submit(t, s.client, slurm.JobRequest{Hold: true})
	defer s.cancelAll(t, id)
	s.awaitJob(t, id, "held", func(j *slurm.Job) bool {
		return j.State.Base == slurm.JobPending && (j.Hold || j.Priority == slurm.Num(0))
	})
	release := false
	must(t, s.client.UpdateJob(t.Context(), fmt.Sprint(id), slurmclient.JobUpdate{Hold: &release}))
	s.awaitJob(t, id, "released", func(j *slurm.Job) bool { return j.State.Base == slurm.JobRunning })
}

func (s *suite) awaitNode(t *testing.T, name, what string, holds func(n *slurm.Node) bool) {
	t.Helper()
	s.eventually(t, "node "+name+" "+what, func(ctx context.Context) (bool, error) {
		n, err := s.client.Node(ctx, name)
		return err == nil && holds(n), err
	})
}

func isIdle(n *slurm.Node) bool { return n.State == slurm.ParseNodeState("IDLE") }

func (s *suite) testNodeLife(t *testing.T) {
	ctx := t.Context()
	must(t, s.client.Drain(ctx, "n2", "contract: drain"))
	s.awaitNode(t, "n2", "drained", func(n *slurm.Node) bool {
		return n.State.Drained() && n.Reason == "contract: drain" && n.ReasonAt.IsSet() && n.ReasonBy != ""
	})
	must(t, s.client.Undrain(ctx, "n2"))
	s.awaitNode(t, "n2", "idle after the drain", func(n *slurm.Node) bool { return isIdle(n) && n.Reason == "" })
	must(t, s.client.Down(ctx, "n2", "contract: down"))
	s.awaitNode(t, "n2", "down", func(n *slurm.Node) bool { return n.State.Base == slurm.NodeDown })
	must(t, s.client.Resume(ctx, "n2"))
	s.awaitNode(t, "n2", "idle after it was down", isIdle)
	comment := "contract comment"
	must(t, s.client.UpdateNode(ctx, "n2", slurmclient.NodeUpdate{Comment: &comment}))
	s.awaitNode(t, "n2", "with the comment", func(n *slurm.Node) bool { return n.Comment == comment })

	id := s.submit(t, s.client, slurm.JobRequest{RequiredNodes: "n2"})
	defer s.cancelAll(t, id)
	s.awaitJob(t, id, "running", func(j *slurm.Job) bool { return j.State.Base == slurm.JobRunning })
	must(t, s.client.Drain(ctx, "n2", "contract: busy"))
	s.awaitNode(t, "n2", "draining", func(n *slurm.Node) bool { return n.State.Draining() && !n.State.Drained() })
	must(t, s.client.CancelJob(ctx, fmt.Sprint(id)))
	s.awaitNode(t, "n2", "drained after its job", func(n *slurm.Node) bool { return n.State.Drained() })
	must(t, s.client.Undrain(ctx, "n2"))
	s.awaitNode(t, "n2", "idle in the end", isIdle)
}

func (s *suite) testOrdinaryUser(t *testing.T) {
	alice := s.clientAs(t, "alice")
	wantCode(t, "a drain by alice", alice.Drain(t.Context(), "n1", "mine"), slurmclient.CodeUnauthorized)
	n, err := s.client.Node(t.Context(), "n1")
	if err != nil || n.State.Has(slurm.NodeDrain) {
		t.Errorf("n1 is %+v, %v", n, err)
	}
	if _, err := alice.Nodes(t.Context(), 0); err != nil {
		t.Errorf("alice may not read nodes: %v", err)
	}
}

func (s *suite) testDynamicNodes(t *testing.T) {
	ctx := t.Context()
	wantCode(t, "deleting a static node", s.client.DeleteNode(ctx, "n1"), slurmclient.CodeConflict)
	err := s.client.CreateNode(ctx, "NodeName=contract-1 CPUs=2 RealMemory=1000 Feature=contract State=FUTURE")
	if !isSupported(err) {
		return
	}
	must(t, err)
	s.awaitNode(t, "contract-1", "a FUTURE record", func(n *slurm.Node) bool {
		return n.State.Base == slurm.NodeFuture && n.CPUs == 2
	})
	list, err := s.client.Nodes(ctx, 0)
	must(t, err)
	found := false
	for _, n := range list.Items {
		found = found || n.Name == "contract-1"
	}
	if !found {
		t.Error("the list of nodes does not contain FUTURE records")
	}
	must(t, s.client.DeleteNode(ctx, "contract-1"))
	_, err = s.client.Node(ctx, "contract-1")
	wantCode(t, "the deleted node", err, slurmclient.CodeNotFound)
}

func (s *suite) testReservations(t *testing.T) {
	ctx := t.Context()
	stats, err := s.client.Stats(ctx)
	must(t, err)
	request := slurm.ReservationRequest{
		Name: "contract", StartTime: stats.At + 7200, Duration: slurm.Num(60),
		Nodes: []string{"n3"}, Users: []string{"alice"},
	}
	err = s.client.SetReservation(ctx, request)
	if !isSupported(err) {
		return
	}
	must(t, err)
	r := s.findReservation(t)
	if r == nil || r.StartTime != request.StartTime || r.EndTime != request.StartTime+3600 || r.Nodes != "n3" ||
		r.Users != "alice" || r.NodeCount != 1 {
		t.Errorf("the reservation is %+v", r)
	}
	request.Duration = slurm.Num(90)
	must(t, s.client.SetReservation(ctx, request))
	if r = s.findReservation(t); r == nil || r.EndTime != request.StartTime+5400 {
		t.Errorf("the updated reservation is %+v", r)
	}
	must(t, s.client.DeleteReservation(ctx, "contract"))
	if r = s.findReservation(t); r != nil {
		t.Errorf("the deleted reservation is %+v", r)
	}
	wantCode(t, "deleting it again", s.client.DeleteReservation(ctx, "contract"), slurmclient.CodeNotFound)
}

func (s *suite) findReservation(t *testing.T) *slurm.Reservation {
	t.Helper()
	l, err := s.client.Reservations(t.Context(), 0)
	must(t, err)
	for _, r := range l.Items {
		if r.Name == "contract" {
			return r
		}
	}
	return nil
}

func (s *suite) testInvalidRequests(t *testing.T) {
	_, err := s.client.SubmitJob(t.Context(), completeRequest(slurm.JobRequest{Partition: "nosuch"}))
	wantCode(t, "a job for an unknown partition", err, slurmclient.CodeNotFound)
	_, err = s.client.SubmitJob(t.Context(), completeRequest(slurm.JobRequest{Array: "not an array"}))
	wantCode(t, "a job with an invalid array", err, slurmclient.CodeInvalid)
	_, err = s.client.SubmitJob(t.Context(), completeRequest(slurm.JobRequest{Constraints: "nosuchfeature"}))
	wantCode(t, "a job for a feature that no node has", err, slurmclient.CodeInvalid)
	state := "NOSUCHSTATE"
	err = s.client.UpdateNode(t.Context(), "n1", slurmclient.NodeUpdate{State: &state})
	wantCode(t, "an unknown node state", err, slurmclient.CodeInvalid)
}

func (s *suite) testReconfigure(t *testing.T) { must(t, s.client.Reconfigure(t.Context())) }

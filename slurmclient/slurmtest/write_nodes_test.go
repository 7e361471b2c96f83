package slurmtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func nodeState(t *testing.T, c *slurmtest.Cluster, name string) string {
	t.Helper()
	n, ok := c.Node(name)
	if !ok {
		return "gone"
	}
	return n.State.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestClientDrainsAndUndrainsANodeUnderAJob(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := smallCluster(release)
		cl := newClient(t, c, v)
		mustSubmit(t, c, slurmtest.JobSpec{RunFor: time.Minute, JobRequest: slurm.JobRequest{Nodes: 1, Tasks: 4}})
		c.Step(time.Second)
		var got []string
		look := func() { got = append(got, nodeState(t, c, "n1")) }
		look()
		must(t, cl.Drain(t.Context(), "n1", "repair"))
		look()
		if n, _ := c.Node("n1"); n.Reason != "repair" || n.ReasonBy != "root" || n.ReasonAt != slurm.At(c.Now()) {
			t.Errorf("reason %q by %q at %d", n.Reason, n.ReasonBy, n.ReasonAt)
		}
		c.Step(59 * time.Second)
		look()
		c.Step(time.Second)
		look()
		must(t, cl.Undrain(t.Context(), "n1"))
		look()
		c.Step(3 * time.Second)
		look()
		want := []string{"ALLOCATED", "ALLOCATED+DRAIN", "IDLE+DRAIN+COMPLETING", "IDLE+DRAIN", "IDLE+NOT_RESPONDING",
			"IDLE"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

func TestDownNodeEndsItsJobs(t *testing.T) {
	c := smallCluster("")
	cl := newClient(t, c, "v0.0.45")
	requeued := mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 1, RequiredNodes: "n1"}))
	spec := foreverJob(slurm.JobRequest{Tasks: 1, RequiredNodes: "n1"})
	spec.NoRequeue = true
	failed := mustSubmit(t, c, spec)
	c.Step(time.Second)
	must(t, cl.Down(t.Context(), "n1", "broken"))
	got := []string{nodeState(t, c, "n1"), stateOf(t, c, requeued), stateOf(t, c, failed)}
	want := []string{"DOWN+COMPLETING", "PENDING BeginTime", "NODE_FAIL+COMPLETING NodeDown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must(t, cl.Resume(t.Context(), "n1"))
	c.Step(5 * time.Minute)
	got = []string{nodeState(t, c, "n1"), stateOf(t, c, requeued)}
	if diff := cmp.Diff([]string{"MIXED", "RUNNING None"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFutureRecordsAreCreatedRegisteredAndDeleted(t *testing.T) {
	c := smallCluster("")
	cl := newClient(t, c, "v0.0.45")
	ctx := t.Context()
	must(t, cl.CreateNode(ctx, "NodeName=w[1-2] CPUs=8 RealMemory=8000 Feature=cpu State=FUTURE"))
	list, err := cl.Nodes(ctx, 0)
	must(t, err)
	if len(list.Items) != 4 {
		t.Errorf("the list contains %d nodes, want all 4 with FUTURE ones", len(list.Items))
	}
	parts, err := cl.Partitions(ctx, 0)
	must(t, err)
	if n := parts.Items[0].TotalNodes; n != 4 {
		t.Errorf("the partition counts %d nodes, want 4", n)
	}
	c.StartSlurmd(slurmtest.NodeConf{Names: "w1", CPUs: 8, MemoryMiB: 8000, Features: []string{"cpu"}})
	got := []string{nodeState(t, c, "w1"), nodeState(t, c, "w2")}
	must(t, cl.Drain(ctx, "w1", "scale down"))
	c.StopSlurmd("w1")
	must(t, cl.Future(ctx, "w1"))
	got = append(got, nodeState(t, c, "w1"))
	must(t, cl.DeleteNode(ctx, "w1"))
	got = append(got, nodeState(t, c, "w1"))
	want := []string{"IDLE+DYNAMIC_NORM", "FUTURE+DYNAMIC_NORM", "FUTURE+DYNAMIC_NORM", "gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefusedNodeChanges(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := smallCluster(release)
		c.AddNodes(slurmtest.NodeConf{Names: "dyn1", CPUs: 2, MemoryMiB: 1000, Dynamic: true})
		mustSubmit(t, c, foreverJob(slurm.JobRequest{RequiredNodes: "dyn1"}))
		c.Step(time.Second)
		cl := newClient(t, c, v)
		ctx := t.Context()
		cases := map[string]struct {
			err  error
			want slurmclient.Code
		}{
			"deleting a static node":    {cl.DeleteNode(ctx, "n1"), slurmclient.CodeConflict},
			"deleting a busy node":      {cl.DeleteNode(ctx, "dyn1"), slurmclient.CodeConflict},
			"deleting an unknown node":  {cl.DeleteNode(ctx, "nosuch"), slurmclient.CodeNotFound},
			"draining an unknown node":  {cl.Drain(ctx, "nosuch", "x"), slurmclient.CodeNotFound},
			"making a busy node FUTURE": {cl.Future(ctx, "dyn1"), slurmclient.CodeConflict},
			"cancelling an unknown job": {cl.CancelJob(ctx, "4242"), slurmclient.CodeNotFound},
		}
		for name, tc := range cases {
			if got := slurmclient.CodeOf(tc.err); got != tc.want {
				t.Errorf("%s: %v (%v), want %v", name, got, tc.err, tc.want)
			}
		}
	})
}

func TestClientSubmitsHoldsReleasesAndCancels(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := demoCluster(t, release)
		cl := newClient(t, c, v)
		ctx := t.Context()
		req := slurm.JobRequest{Name: "x", Partition: "gpu,batch", Script: "#!/bin/sh\nsleep 300\n", Nodes: 2,
			Tasks: 4, CPUsPerTask: 2,
			MemoryPerNode: slurm.Num(1000), TimeLimit: slurm.Num(30), Constraints: "h100", TRESPerNode: "gres/gpu:1",
			Licenses: "matlab:2", Comment: "made by a test", Hold: true}
		id, err := cl.SubmitJob(ctx, req)
		must(t, err)
		c.Step(time.Second)
		got := []string{stateOf(t, c, id)}
		no := false
		must(t, cl.UpdateJob(ctx, formatJobID(id), slurmclient.JobUpdate{Hold: &no}))
		c.Step(time.Second)
		got = append(got, stateOf(t, c, id))
		j, _ := c.Job(id)
		if want := "cpu=8,mem=2000M,node=2,billing=8,gres/gpu=2"; j.TRESAllocated != want {
			t.Errorf("allocated %s, want %s", j.TRESAllocated, want)
		}
		licenses, err := cl.Licenses(ctx)
		must(t, err)
		if l := licenses.Items[0]; l.Used != 2 || l.Free != 18 {
			t.Errorf("licenses %+v", l)
		}
		must(t, cl.CancelJob(ctx, formatJobID(id)))
		got = append(got, stateOf(t, c, id))
		c.Step(5 * time.Second)
		got = append(got, stateOf(t, c, id))
		want := []string{"PENDING JobHeldUser", "RUNNING None", "CANCELLED+COMPLETING None", "CANCELLED None"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := cl.CancelJob(ctx, formatJobID(id)); slurmclient.CodeOf(err) != slurmclient.CodeConflict {
			t.Errorf("cancelling the job again: %v", err)
		}
	})
}

func formatJobID(id uint32) string { return slurm.Num(uint64(id)).String() }

func TestReservationAdmitsOnlyItsUsers(t *testing.T) {
	c := smallCluster("")
	cl := newClient(t, c, "v0.0.43")
	ctx := t.Context()
	must(t, cl.SetReservation(ctx, slurm.ReservationRequest{Name: "r", Nodes: []string{"n[1-2]"},
		Users:     []string{"alice"},
		StartTime: baseTime, Duration: slurm.Num(60)}))
	outside := mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 1}))
	inside := mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 1, Reservation: "r"}))
	c.Step(time.Second)
	got := []string{nodeState(t, c, "n1"), nodeState(t, c, "n2"), stateOf(t, c, outside), stateOf(t, c, inside)}
	want := []string{"MIXED+RESERVED", "IDLE+RESERVED", "PENDING Resources", "RUNNING None"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must(t, cl.DeleteReservation(ctx, "r"))
	c.Step(time.Second)
	if got := stateOf(t, c, outside); got != "RUNNING None" {
		t.Errorf("after the reservation was deleted: %s", got)
	}
}

func TestJobStateNamesOfTasksDependOnTheVersion(t *testing.T) {
	for v, want := range map[string][]string{
		"v0.0.40": {"1", "2", "3_0", "3_1", "4", "3_2", "3_9"},
		"v0.0.42": {"1", "2", "5_0", "6_1", "4", "3_2", "3_9"},
	} {
		_, body := doRequest(t, "GET", startServer(t, demoCluster(t, slurmtest.Release2411)).URL+"/slurm/"+v+
			"/jobs/state/", "")
		var ids []string
		for _, j := range decodeJSON(t, body)["jobs"].([]any) {
			ids = append(ids, j.(map[string]any)["job_id"].(string))
		}
		for _, id := range want {
			if !slices.Contains(ids, id) {
				t.Errorf("%s: no %s in %v", v, id, ids)
			}
		}
	}
}

func TestRequeuedJobRunsAgain(t *testing.T) {
	c := smallCluster("")
	id := mustSubmit(t, c, slurmtest.JobSpec{RunFor: time.Minute})
	c.Step(30 * time.Second)
	url := startServer(t, c).URL + "/slurm/v0.0.45/job/1/requeue"
	if status, body := doRequest(t, "GET", url, ""); status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	c.Step(50 * time.Second)
	if j, _ := c.Job(id); j.State.Base != slurm.JobRunning || j.Restarts != 1 {
		t.Errorf("%+v", j)
	}
	c.Step(20 * time.Second)
	if got := stateOf(t, c, id); got != "COMPLETED None" {
		t.Error(got)
	}
}

func TestJobOnACloudNodeIsConfiguringUntilTheNodeRegisters(t *testing.T) {
	c := smallCluster("")
	must(t, c.CreateNodes("NodeName=cl1 CPUs=4 RealMemory=1000 State=CLOUD"))
	id := mustSubmit(t, c, foreverJob(slurm.JobRequest{RequiredNodes: "cl1"}))
	before := nodeState(t, c, "cl1")
	c.Step(time.Second)
	got := []string{before, stateOf(t, c, id)}
	c.StartSlurmd(slurmtest.NodeConf{Names: "cl1", CPUs: 4, MemoryMiB: 1000})
	got = append(got, stateOf(t, c, id), nodeState(t, c, "cl1"))
	want := []string{"IDLE+POWERED_DOWN+CLOUD+DYNAMIC_NORM", "RUNNING+CONFIGURING+POWER_UP_NODE None",
		"RUNNING None", "MIXED+CLOUD+DYNAMIC_NORM"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClientUpdatesTheNodesOfAHostlist(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := smallCluster(release)
		cl := newClient(t, c, v)
		text := "ours"
		must(t, cl.UpdateNode(t.Context(), "n[1-2]", slurmclient.NodeUpdate{Comment: &text}))
		for _, name := range []string{"n1", "n2"} {
			if n, _ := c.Node(name); n.Comment != text {
				t.Errorf("the comment of %s is %q", name, n.Comment)
			}
		}
		if err := cl.UpdateNode(t.Context(), "n1,nobody", slurmclient.NodeUpdate{Comment: &text}); err == nil {
			t.Error("updating a hostlist with an unknown node succeeded")
		}
	})
}

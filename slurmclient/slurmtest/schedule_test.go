package slurmtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// smallCluster has two nodes with 4 CPUs each.
func smallCluster(release string) *slurmtest.Cluster {
	return slurmtest.New(slurmtest.Config{Release: release, Now: testClock,
		Nodes:      []slurmtest.NodeConf{{Names: "n[1-2]", CPUs: 4, MemoryMiB: 4000, Features: []string{"x86"}}},
		Partitions: []slurmtest.PartitionConf{{Name: "batch", Default: true}, {Name: "other", MaxMinutes: 10}},
		Licenses:   []slurmtest.LicenseConf{{Name: "matlab", Total: 2}}})
}

func mustSubmit(t *testing.T, c *slurmtest.Cluster, s slurmtest.JobSpec) uint32 {
	t.Helper()
	id, err := c.Submit(s)
	if err != nil {
		t.Fatalf("submitting %+v: %v", s, err)
	}
	return id
}

func foreverJob(q slurm.JobRequest) slurmtest.JobSpec {
	return slurmtest.JobSpec{JobRequest: q, User: "alice", Forever: true}
}

func stateOf(t *testing.T, c *slurmtest.Cluster, id uint32) string {
	t.Helper()
	j, ok := c.Job(id)
	if !ok {
		return "gone"
	}
	return j.State.String() + " " + j.Reason
}

func TestPendingJobsShowWhyTheyWait(t *testing.T) {
	cases := []struct {
		name string
		job  slurm.JobRequest
		want string
	}{
		{"a job that fits runs", slurm.JobRequest{Tasks: 1}, "RUNNING None"},
		{"a job that would fit an idle cluster waits for resources", slurm.JobRequest{Nodes: 2, Tasks: 8},
			"PENDING Resources"},
		{"a held job", slurm.JobRequest{Hold: true}, "PENDING JobHeldUser"},
		{"a job that begins later", slurm.JobRequest{BeginTime: baseTime + 3600}, "PENDING BeginTime"},
		{"a job that depends on a running job", slurm.JobRequest{Dependency: "afterok:1"}, "PENDING Dependency"},
		{"a job whose licenses are in use", slurm.JobRequest{Licenses: "matlab:1"}, "PENDING Licenses"},
		{"a job with more than the partition's time limit",
			slurm.JobRequest{Partition: "other", TimeLimit: slurm.Num(11)}, "PENDING PartitionTimeLimit"},
		{"a job that fits in one of two partitions",
			slurm.JobRequest{Partition: "other,batch", TimeLimit: slurm.Num(11)}, "RUNNING None"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := smallCluster("")
			mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 3, Licenses: "matlab:2"}))
			c.Step(0)
			id := mustSubmit(t, c, foreverJob(tc.job))
			c.Step(time.Second)
			if got := stateOf(t, c, id); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestJobsBehindAWaitingJobHaveReasonPriority(t *testing.T) {
	c := smallCluster("")
	mustSubmit(t, c, foreverJob(slurm.JobRequest{Nodes: 2, Tasks: 8}))
	first, second := mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 1})),
		mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 2}))
	c.Step(time.Second)
	got := []string{stateOf(t, c, first), stateOf(t, c, second)}
	if diff := cmp.Diff([]string{"PENDING Resources", "PENDING Priority"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestJobsEndAsTheirScriptsSay(t *testing.T) {
	cases := []struct {
		name   string
		spec   slurmtest.JobSpec
		during string
		after  string
	}{
		{"a script that sleeps completes",
			slurmtest.JobSpec{JobRequest: slurm.JobRequest{Script: "#!/bin/sh\nsleep 30\n"}},
			"RUNNING None", "COMPLETED None"},
		{"a script that exits with 3 fails",
			slurmtest.JobSpec{JobRequest: slurm.JobRequest{Script: "#!/bin/sh\nsleep 30\nexit 3\n"}},
			"RUNNING None", "FAILED NonZeroExitCode"},
		{"a job that reaches its time limit times out",
			slurmtest.JobSpec{JobRequest: slurm.JobRequest{TimeLimit: slurm.Num(1)}, RunFor: time.Hour},
			"RUNNING None", "TIMEOUT TimeLimit"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := smallCluster("")
			id := mustSubmit(t, c, tc.spec)
			c.Step(10 * time.Second)
			during := stateOf(t, c, id)
			c.Step(80 * time.Second)
			after := stateOf(t, c, id)
			c.Step(10 * time.Minute)
			got := []string{during, after, stateOf(t, c, id)}
			if diff := cmp.Diff([]string{tc.during, tc.after, "gone"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestArraySplitsItsTasksAsTheyStart(t *testing.T) {
	c := smallCluster("")
	id := mustSubmit(t, c, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Array: "1-5%2"}, RunFor: time.Minute})
	c.Step(time.Second)
	type row struct {
		ID, Task uint64
		Tasks    string
		State    string
	}
	rows := func() (out []row) {
		for _, j := range c.Jobs() {
			out = append(out, row{uint64(j.ID), j.ArrayTaskID.Or(0), j.ArrayTasks, stateOf(t, c, j.ID)})
		}
		return out
	}
	want := []row{{2, 1, "", "RUNNING None"}, {3, 2, "", "RUNNING None"},
		{uint64(id), 0, "3-5%2", "PENDING JobArrayTaskLimit"}}
	if diff := cmp.Diff(want, rows()); diff != "" {
		t.Errorf("after one second: %s", diff)
	}
	c.Step(5 * time.Minute)
	want = []row{{2, 1, "", "COMPLETED None"}, {3, 2, "", "COMPLETED None"}, {4, 3, "", "COMPLETED None"},
		{5, 4, "", "COMPLETED None"}, {1, 5, "", "COMPLETED None"}}
	if diff := cmp.Diff(want, rows()); diff != "" {
		t.Errorf("at the end: %s", diff)
	}
}

func TestDependenciesAreFulfilledOrNeverSatisfied(t *testing.T) {
	cases := []struct {
		name, kind string
		exit       uint32
		want       string
	}{
		{"afterok of a job that succeeds", "afterok", 0, "RUNNING None"},
		{"afterok of a job that fails", "afterok", 1, "PENDING DependencyNeverSatisfied"},
		{"afternotok of a job that fails", "afternotok", 1, "RUNNING None"},
		{"afternotok of a job that succeeds", "afternotok", 0, "PENDING DependencyNeverSatisfied"},
		{"afterany of a job that fails", "afterany", 1, "RUNNING None"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := smallCluster("")
			mustSubmit(t, c, slurmtest.JobSpec{RunFor: time.Minute, ExitCode: tc.exit})
			id := mustSubmit(t, c, foreverJob(slurm.JobRequest{Dependency: tc.kind + ":1"}))
			c.Step(2 * time.Second)
			if got := stateOf(t, c, id); got != "PENDING Dependency" {
				t.Errorf("before: %s", got)
			}
			c.Step(2 * time.Minute)
			if got := stateOf(t, c, id); got != tc.want {
				t.Errorf("after: %s, want %s", got, tc.want)
			}
		})
	}
}

func TestRefusedJobs(t *testing.T) {
	cases := []struct {
		name       string
		job        slurm.JobRequest
		old, young int
	}{
		{"an unknown partition", slurm.JobRequest{Partition: "nosuch"}, 2000, 2000},
		{"a feature that no node has", slurm.JobRequest{Constraints: "arm"}, 2029, 2029},
		{"an unknown node", slurm.JobRequest{RequiredNodes: "n9"}, 2018, 2018},
		{"an invalid array", slurm.JobRequest{Array: "9-1"}, 2081, 2081},
		{"an invalid dependency", slurm.JobRequest{Dependency: "whenever:3"}, 2038, 2038},
		{"more licenses than exist", slurm.JobRequest{Licenses: "matlab:3"}, 2048, 2048},
		{"GPUs on nodes without GPUs", slurm.JobRequest{TRESPerNode: "gres/gpu:1"}, 2014, 2014},
		{"more nodes than exist", slurm.JobRequest{Nodes: 3}, 2014, 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for release, want := range map[string]int{slurmtest.Release2411: tc.old, slurmtest.Release2605: tc.young} {
				_, err := smallCluster(release).Submit(foreverJob(tc.job))
				got := 0
				if r := (*slurmtest.Refusal)(nil); errors.As(err, &r) {
					got = r.Number
				}
				if got != want {
					t.Errorf("%s: error %d (%v), want %d", release, got, err, want)
				}
			}
		})
	}
}

func TestReleasesDifferInAnEmptyPartition(t *testing.T) {
	empty := func(release string) *slurmtest.Cluster {
		return slurmtest.New(slurmtest.Config{Release: release, Now: testClock,
			Partitions: []slurmtest.PartitionConf{{Name: "cpu", Default: true, Feature: "cpu"}}})
	}
	if _, err := empty(slurmtest.Release2411).Submit(foreverJob(slurm.JobRequest{})); err == nil {
		t.Error("24.11 accepted a job in an empty partition")
	}
	young := empty(slurmtest.Release2605)
	id := mustSubmit(t, young, foreverJob(slurm.JobRequest{Array: "1-3"}))
	young.Step(time.Second)
	if got := stateOf(t, young, id); got != "PENDING PartitionConfig" {
		t.Errorf("26.05: %s", got)
	}
	for _, release := range []string{slurmtest.Release2411, slurmtest.Release2605} {
		c := empty(release)
		if err := c.CreateNodes("NodeName=cpu-[0-2] CPUs=4 RealMemory=1000 Feature=cpu State=FUTURE"); err != nil {
			t.Fatal(err)
		}
		id := mustSubmit(t, c, foreverJob(slurm.JobRequest{Nodes: 2, Constraints: "cpu"}))
		c.Step(time.Second)
		if j, _ := c.Job(id); j.State.Base != slurm.JobPending || j.ReasonText() == "" {
			t.Errorf("%s: %+v", release, j)
		}
		c.StartSlurmd(slurmtest.NodeConf{Names: "cpu-[0-1]", CPUs: 4, MemoryMiB: 1000, Features: []string{"cpu"}})
		c.Step(time.Second)
		if got := stateOf(t, c, id); got != "RUNNING None" {
			t.Errorf("%s: %s after two nodes registered", release, got)
		}
	}
}

func TestComponentsOfAHeterogeneousJobStartTogether(t *testing.T) {
	c := smallCluster("")
	blocker := mustSubmit(t, c, slurmtest.JobSpec{RunFor: time.Minute, JobRequest: slurm.JobRequest{Tasks: 3}})
	spec := foreverJob(slurm.JobRequest{Tasks: 4})
	spec.Components = []slurmtest.JobSpec{foreverJob(slurm.JobRequest{Tasks: 3})}
	leader := mustSubmit(t, c, spec)
	c.Step(10 * time.Second)
	got := []string{stateOf(t, c, blocker), stateOf(t, c, leader), stateOf(t, c, leader+1)}
	if diff := cmp.Diff([]string{"RUNNING None", "PENDING Resources", "PENDING Resources"}, got); diff != "" {
		t.Errorf("with room for one component only: %s", diff)
	}
	c.Step(time.Minute)
	got = []string{stateOf(t, c, leader), stateOf(t, c, leader+1)}
	if diff := cmp.Diff([]string{"RUNNING None", "RUNNING None"}, got); diff != "" {
		t.Errorf("with room for both: %s", diff)
	}
	j, _ := c.Job(leader + 1)
	if j.HetJobID != leader || j.HetOffset != 1 || j.HetJobIDs() != "2-3" {
		t.Errorf("%+v", j)
	}
	must(t, c.Cancel(formatJobID(leader)))
	got = []string{stateOf(t, c, leader), stateOf(t, c, leader+1)}
	if diff := cmp.Diff([]string{"CANCELLED+COMPLETING None", "CANCELLED+COMPLETING None"}, got); diff != "" {
		t.Errorf("cancelled: %s", diff)
	}
}

func TestLimitsOfPartitionsAndQOSKeepJobsWaiting(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{Now: testClock,
		Nodes: []slurmtest.NodeConf{{Names: "n[1-4]", CPUs: 4, MemoryMiB: 4000}},
		Partitions: []slurmtest.PartitionConf{{Name: "batch", Default: true}, {Name: "down", State: "DOWN"},
			{Name: "idle", State: "INACTIVE"}, {Name: "narrow", MaxNodes: 1}},
		QOS: []slurmtest.QOSConf{{Name: "normal"}, {Name: "one", MaxJobsPerUser: 1}}})
	jobs := []slurm.JobRequest{{QOS: "one"}, {QOS: "one"}, {Partition: "down"}, {Partition: "idle"},
		{Partition: "narrow", Nodes: 2, Tasks: 2}}
	var got []string
	for _, q := range jobs {
		mustSubmit(t, c, foreverJob(q))
	}
	c.Step(time.Second)
	for _, j := range c.Jobs() {
		got = append(got, stateOf(t, c, j.ID))
	}
	want := []string{"RUNNING None", "PENDING QOSMaxJobsPerUserLimit", "PENDING PartitionDown",
		"PENDING PartitionInactive", "PENDING PartitionNodeLimit"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c.SetPartitionState("down", slurm.PartitionUp)
	c.Step(time.Second)
	if got := stateOf(t, c, 3); got != "RUNNING None" {
		t.Errorf("after the partition is up: %s", got)
	}
}

func TestHigherPriorityStartsFirst(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{Now: testClock,
		Nodes: []slurmtest.NodeConf{{Names: "n1", CPUs: 4, MemoryMiB: 4000}}})
	low := mustSubmit(t, c, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Tasks: 4}, RunFor: time.Minute})
	high := mustSubmit(t, c, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Tasks: 4, QOS: "high"},
		RunFor: time.Minute})
	c.Step(time.Second)
	got := []string{stateOf(t, c, low), stateOf(t, c, high)}
	c.Step(90 * time.Second)
	got = append(got, stateOf(t, c, low), stateOf(t, c, high))
	want := []string{"PENDING Resources", "RUNNING None", "RUNNING None", "COMPLETED None"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

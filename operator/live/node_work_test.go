package live

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// newJob returns a job that runs on n1 and ends at 1000, with changes.
func newJob(id uint32, state string, change ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{ID: id, State: slurm.ParseJobState(strings.Split(state, "+")...), Nodes: "n1", NodeCount: slurm.Num(1),
		EndTime: 1000, TimeLimit: slurm.Num(10)}
	for _, f := range change {
		f(j)
	}
	return j
}

func onNodes(nodes string) func(*slurm.Job) { return func(j *slurm.Job) { j.Nodes = nodes } }

func endingAt(at slurm.Time) func(*slurm.Job) { return func(j *slurm.Job) { j.EndTime = at } }

func withoutTimeLimit(j *slurm.Job) { j.TimeLimit = slurm.Infinite() }

func TestWorkOnSlurmNodes(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	for _, tc := range []struct {
		name string
		jobs []*slurm.Job
		want map[string]Work
	}{
		{"no jobs, no work", nil, map[string]Work{}},
		{"a running job", []*slurm.Job{newJob(1, "RUNNING")}, map[string]Work{"n1": {1, 1, at(1000)}}},
		{"on several nodes", []*slurm.Job{newJob(1, "RUNNING", onNodes("n[1-2],x"))}, map[string]Work{"n1": {1, 1, at(1000)}, "n2": {1, 1, at(1000)}, "x": {1, 1, at(1000)}}},
		{"the job that ends last", []*slurm.Job{newJob(1, "RUNNING"), newJob(2, "RUNNING", endingAt(2000)), newJob(3, "RUNNING", endingAt(1500))}, map[string]Work{"n1": {3, 2, at(2000)}}},
		{"a job without a limit ends last", []*slurm.Job{newJob(1, "RUNNING"), newJob(2, "RUNNING", withoutTimeLimit), newJob(3, "RUNNING", endingAt(9000))}, map[string]Work{"n1": {3, 2, time.Time{}}}},
		{"the end of a suspended job is unknown", []*slurm.Job{newJob(1, "SUSPENDED"), newJob(2, "RUNNING")}, map[string]Work{"n1": {2, 1, time.Time{}}}},
		{"a pending job has no nodes", []*slurm.Job{newJob(1, "PENDING", onNodes(""))}, map[string]Work{}},
		{"a requeued job that is still completing", []*slurm.Job{newJob(1, "PENDING+COMPLETING")}, map[string]Work{"n1": {1, 1, at(1000)}}},
		{"a finished job has released its nodes", []*slurm.Job{newJob(1, "COMPLETED"), newJob(2, "NODE_FAIL"), newJob(3, "TIMEOUT")}, map[string]Work{}},
		{"a finished job that is completing has not", []*slurm.Job{newJob(1, "CANCELLED+COMPLETING")}, map[string]Work{"n1": {1, 1, at(1000)}}},
		{"nor a job whose files are staged out", []*slurm.Job{newJob(1, "COMPLETED+STAGE_OUT")}, map[string]Work{"n1": {1, 1, at(1000)}}},
		{"nor a job with an unknown flag", []*slurm.Job{newJob(1, "COMPLETED+LOITERING")}, map[string]Work{"n1": {1, 1, at(1000)}}},
		{"configuring, stopped, signaling", []*slurm.Job{newJob(1, "RUNNING+CONFIGURING"), newJob(2, "RUNNING+STOPPED"), newJob(3, "RUNNING+SIGNALING")}, map[string]Work{"n1": {3, 1, at(1000)}}},
		{"an unknown state", []*slurm.Job{newJob(1, "DREAMING")}, map[string]Work{"n1": {1, 1, at(1000)}}},
		{"a job that has released all its nodes", []*slurm.Job{newJob(1, "RUNNING", onNodes(""), func(j *slurm.Job) { j.NodeCount = slurm.Num(0) })}, map[string]Work{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, problem := workOf(tc.jobs)
			if diff := cmp.Diff(tc.want, got); diff != "" || problem != "" {
				t.Errorf("%s %s", problem, diff)
			}
		})
	}
}

func TestJobWithUnknownNodesLeavesAllWorkUnknown(t *testing.T) {
	for name, lost := range map[string]*slurm.Job{
		"a list that makes no sense":   newJob(7, "RUNNING", onNodes("n[1-")),
		"a running job without nodes":  newJob(7, "RUNNING", onNodes("")),
		"a suspended one":              newJob(7, "SUSPENDED", onNodes("")),
		"one whose count is not known": newJob(7, "RUNNING", onNodes(""), func(j *slurm.Job) { j.NodeCount = slurm.Number{} }),
	} {
		t.Run(name, func(t *testing.T) {
			work, problem := workOf([]*slurm.Job{newJob(1, "RUNNING"), lost, newJob(9, "RUNNING")})
			if work != nil || !strings.Contains(problem, "job 7") {
				t.Errorf("the work is %v, the problem %q", work, problem)
			}
		})
	}
}

// TestWorkAgreesWithTheStatesOfNodes simulates a cluster: according to the job list, exactly the
// nodes whose state says so must have work.
func TestWorkAgreesWithTheStatesOfNodes(t *testing.T) {
	cluster := slurmtest.NewDemo(time.Now)
	server := httptest.NewServer(cluster.Handler())
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Token: slurmclient.TokenFromKey([]byte("k"), "root", time.Hour, time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	busy, idle, completing := 0, 0, 0
	for range 100 {
		cluster.Step(time.Second)
		nodes, err := client.Nodes(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := client.Jobs(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		work, problem := workOf(jobs.Items)
		if problem != "" {
			t.Fatal(problem)
		}
		for _, n := range nodes.Items {
			says := n.AllocCPUs > 0 || n.State.Has(slurm.NodeCompleting)
			if has := work[n.Name].Jobs > 0; has != says {
				t.Fatalf("%s is %v with %d CPUs in use and has work: %v", n.Name, n.State, n.AllocCPUs, has)
			}
			if says {
				busy++
			} else {
				idle++
			}
			if n.State.Has(slurm.NodeCompleting) {
				completing++
			}
		}
	}
	if busy == 0 || idle == 0 || completing == 0 {
		t.Errorf("the history covers too little: %d busy, %d idle, %d completing", busy, idle, completing)
	}
}

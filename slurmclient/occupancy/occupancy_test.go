package occupancy_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// newJob runs on n1 and ends at 1000, changed.
func newJob(id uint32, state string, change ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{ID: id, State: slurm.ParseJobState(strings.Split(state, "+")...), Nodes: "n1",
		NodeCount: slurm.Num(1),
		EndTime:   1000, TimeLimit: slurm.Num(10)}
	for _, f := range change {
		f(j)
	}
	return j
}

func onNodes(nodes string) func(*slurm.Job) { return func(j *slurm.Job) { j.Nodes = nodes } }

func endingAt(at slurm.Time) func(*slurm.Job) { return func(j *slurm.Job) { j.EndTime = at } }

func withoutTimeLimit(j *slurm.Job) { j.TimeLimit = slurm.Infinite() }

func component(leader, offset uint32) func(*slurm.Job) {
	return func(j *slurm.Job) { j.HetJobID, j.HetOffset = leader, offset }
}

func TestByNode(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	for _, tc := range []struct {
		name string
		jobs []*slurm.Job
		want map[string]occupancy.Work
	}{
		{"no jobs, no work", nil, map[string]occupancy.Work{}},
		{"a running job", []*slurm.Job{newJob(1, "RUNNING")}, map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"on several nodes", []*slurm.Job{newJob(1, "RUNNING", onNodes("n[1-2],x"))},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}, "n2": {1, 1, at(1000)}, "x": {1, 1, at(1000)}}},
		{"the one that ends last", []*slurm.Job{newJob(1, "RUNNING"), newJob(2, "RUNNING", endingAt(2000)),
			newJob(3, "RUNNING", endingAt(1500))}, map[string]occupancy.Work{"n1": {3, 2, at(2000)}}},
		{"one without a limit is last", []*slurm.Job{newJob(1, "RUNNING"), newJob(2, "RUNNING", withoutTimeLimit),
			newJob(3, "RUNNING", endingAt(9000))}, map[string]occupancy.Work{"n1": {3, 2, time.Time{}}}},
		{"a suspended one ends nobody knows when", []*slurm.Job{newJob(1, "SUSPENDED"), newJob(2, "RUNNING")},
			map[string]occupancy.Work{"n1": {2, 1, time.Time{}}}},
		{"a pending one has no nodes", []*slurm.Job{newJob(1, "PENDING", onNodes(""))}, map[string]occupancy.Work{}},
		{"one that is queued again and still completing", []*slurm.Job{newJob(1, "PENDING+COMPLETING")},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"a finished one has gone", []*slurm.Job{newJob(1, "COMPLETED"), newJob(2, "NODE_FAIL"), newJob(3, "TIMEOUT")},
			map[string]occupancy.Work{}},
		{"a finished one that completes has not", []*slurm.Job{newJob(1, "CANCELLED+COMPLETING")},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"nor one whose files are staged out", []*slurm.Job{newJob(1, "COMPLETED+STAGE_OUT")},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"nor one with a flag that nobody knows", []*slurm.Job{newJob(1, "COMPLETED+LOITERING")},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"configuring, stopped, signaling", []*slurm.Job{newJob(1, "RUNNING+CONFIGURING"), newJob(2, "RUNNING+STOPPED"),
			newJob(3, "RUNNING+SIGNALING")}, map[string]occupancy.Work{"n1": {3, 1, at(1000)}}},
		{"a state that nobody knows", []*slurm.Job{newJob(1, "DREAMING")},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"a running one of a heterogeneous job, and one that has not started",
			[]*slurm.Job{newJob(1, "RUNNING", component(1, 0)), newJob(2, "PENDING", component(1, 1), onNodes(""))},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"all of a heterogeneous job",
			[]*slurm.Job{newJob(1, "RUNNING", component(1, 0)), newJob(2, "RUNNING", component(1, 1), onNodes("n2"))},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}, "n2": {1, 2, at(1000)}}},
		{"tasks of an array, and those that wait", []*slurm.Job{newJob(1, "PENDING", onNodes("")), newJob(2, "RUNNING"),
			newJob(3, "RUNNING")}, map[string]occupancy.Work{"n1": {2, 2, at(1000)}}},
		{"one that is queued again", []*slurm.Job{newJob(1, "PENDING+REQUEUED", onNodes(""))},
			map[string]occupancy.Work{}},
		{"one that is held after it was queued again and still completes",
			[]*slurm.Job{newJob(1, "PENDING+REQUEUE_HOLD+COMPLETING")},
			map[string]occupancy.Work{"n1": {1, 1, at(1000)}}},
		{"one that a federation gave to another cluster", []*slurm.Job{newJob(1, "RUNNING+REVOKED", onNodes(""))},
			map[string]occupancy.Work{}},
		{"one that gave all its nodes back",
			[]*slurm.Job{newJob(1, "RUNNING", onNodes(""), func(j *slurm.Job) { j.NodeCount = slurm.Num(0) })},
			map[string]occupancy.Work{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reversed := slices.Clone(tc.jobs)
			slices.Reverse(reversed)
			for _, jobs := range [][]*slurm.Job{tc.jobs, reversed} {
				got, err := occupancy.ByNode(jobs)
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
					t.Errorf("%v %s", err, diff)
				}
			}
		})
	}
}

func TestAJobThatCannotBePlacedLeavesAllWorkUnknown(t *testing.T) {
	for name, lost := range map[string]*slurm.Job{
		"a list that makes no sense":  newJob(7, "RUNNING", onNodes("n[1-")),
		"a running job without nodes": newJob(7, "RUNNING", onNodes("")),
		"a suspended one":             newJob(7, "SUSPENDED", onNodes("")),
		"one whose count is not known": newJob(7, "RUNNING", onNodes(""),
			func(j *slurm.Job) { j.NodeCount = slurm.Number{} }),
	} {
		t.Run(name, func(t *testing.T) {
			work, err := occupancy.ByNode([]*slurm.Job{newJob(1, "RUNNING"), lost, newJob(9, "RUNNING")})
			if work != nil || err == nil || !strings.Contains(err.Error(), "job 7") {
				t.Errorf("the work is %v, the error %v", work, err)
			}
		})
	}
}

// TestWorkAgreesWithTheStatesOfNodes plays a cluster's life: the list of jobs must have
// work on those nodes that say they have some, and on no other.
func TestWorkAgreesWithTheStatesOfNodes(t *testing.T) {
	cluster := slurmtest.NewDemo(time.Now)
	server := httptest.NewServer(cluster.Handler())
	defer server.Close()
	client, err := slurmclient.New(
		slurmclient.Config{URL: server.URL, Token: slurmclient.TokenFromKey([]byte("k"), "root", time.Hour, time.Now)})
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
		work, err := occupancy.ByNode(jobs.Items)
		if err != nil {
			t.Fatal(err)
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
		t.Errorf("the history shows too little: %d busy, %d idle, %d completing", busy, idle, completing)
	}
}

func TestGotWork(t *testing.T) {
	node := func(base slurm.NodeBase, cpus uint32, memory uint64) *slurm.Node {
		return &slurm.Node{State: slurm.NodeState{Base: base}, AllocCPUs: cpus, AllocMemoryMiB: memory}
	}
	completing := node(slurm.NodeIdle, 0, 0)
	completing.State.Flags = slurm.NodeCompleting
	for _, tc := range []struct {
		name        string
		before, now *slurm.Node
		want        bool
	}{
		{"its first job", node(slurm.NodeIdle, 0, 0), node(slurm.NodeMixed, 1, 0), true},
		{"a job while the last one completes", completing, node(slurm.NodeMixed, 1, 0), true},
		{"more CPUs", node(slurm.NodeMixed, 1, 8), node(slurm.NodeMixed, 2, 8), true},
		{"more memory", node(slurm.NodeMixed, 1, 8), node(slurm.NodeMixed, 1, 9), true},
		{"a new node with a job", nil, node(slurm.NodeAllocated, 4, 8), true},
		{"a new node without a job", nil, node(slurm.NodeIdle, 0, 0), false},
		{"fewer CPUs", node(slurm.NodeAllocated, 4, 8), node(slurm.NodeMixed, 2, 8), false},
		{"no change", node(slurm.NodeMixed, 1, 8), node(slurm.NodeMixed, 1, 8), false},
		{"the last job completes", node(slurm.NodeMixed, 1, 8), completing, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := occupancy.GotWork(tc.before, tc.now); got != tc.want {
				t.Errorf("it is %v", got)
			}
		})
	}
}

package reading

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func isKnown(string) bool { return true }

func TestFreshness(t *testing.T) {
	unread := func(r *slurmclients.Reading) { r.Snapshot.Jobs.Poll = slurmclient.Poll{} }
	from := func(nodes, jobs string) func(*slurmclients.Reading) {
		return func(r *slurmclients.Reading) { r.Snapshot.Nodes.Cluster, r.Snapshot.Jobs.Cluster = nodes, jobs }
	}
	for _, tc := range []struct {
		name         string
		change       func(*slurmclients.Reading)
		after        time.Duration
		problem      string
		known, fresh bool
		want         string
	}{
		{"a young reading is fresh", func(*slurmclients.Reading) {}, time.Minute, "", true, true, ""},
		{"before nodes were read nothing is known",
			func(r *slurmclients.Reading) { r.Snapshot.Nodes.Poll = slurmclient.Poll{} }, 0, "", false, false,
			"Slurm has not been read yet"},
		{"before jobs were read nothing is known", unread, 0, "", false, false, "Slurm has not been read yet"},
		{"and why is told", unread, 0, "no token", false, false, "no token"},
		{"jobs that cannot be placed leave all unknown",
			func(r *slurmclients.Reading) { r.Work, r.Problem = nil, "the nodes of job 7 cannot be read" }, 0, "",
			false, false,
			"the nodes of job 7 cannot be read"},
		{"nodes grow old", func(*slurmclients.Reading) {}, time.Minute + 1, "", true, false,
			"the reading of nodes is 1m0s old"},
		{"jobs grow old", func(r *slurmclients.Reading) { r.Snapshot.Jobs.ReadAt = nodesettest.Noon.Add(-time.Hour) },
			0, "",
			true, false,
			"the reading of jobs is 1h0m0s old"},
		{"nodes and jobs of two clusters", from("one", "two"), 0, "", true, false,
			"the nodes were read from the Slurm cluster one, the jobs from two"},
		{"jobs of a cluster that does not tell its name", from("one", ""), 0, "", true, true, ""},
		{"a poll of nodes that failed", func(r *slurmclients.Reading) { r.Snapshot.Nodes.Err = errors.New("no route") },
			0,
			"no route", true, false, "reading nodes: no route"},
		{"a poll of jobs that failed", func(r *slurmclients.Reading) { r.Snapshot.Jobs.Err = errors.New("no route") },
			0, "",
			true, false, "reading jobs: no route"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Freshness{time.Minute}.ReadingOf(nodesettest.Noon.Add(tc.after),
				&nodesettest.FakeSlurm{Outage: tc.problem},
				nodesettest.NewReading(tc.change), nodesettest.NodeSetUID, isKnown, isKnown, nil)
			if !got.Connected || got.Known != tc.known || got.Fresh != tc.fresh || got.Problem != tc.want ||
				got.Mixed != strings.HasPrefix(tc.want, "the nodes were read from") {
				t.Errorf("it is %+v", got)
			}
		})
	}
	if got := (Freshness{time.Minute}).ReadingOf(nodesettest.Noon, nil, nil, nodesettest.NodeSetUID, isKnown,
		isKnown, nil); got.Connected ||
		got.Known || got.Fresh || got.Problem == "" {
		t.Errorf("of no cluster it is %+v", got)
	}
}

func TestWhatOfAReadingConcernsANodeSet(t *testing.T) {
	owned := nodesettest.NewSlurmNode("old-7", "IDLE")
	owned.Comment = `{"nodeSetName":"gpu","nodeSetUID":"uid-gpu","node":"kube-0"}`
	r := nodesettest.NewReading(func(r *slurmclients.Reading) {
		for _, n := range []*slurm.Node{nodesettest.NewSlurmNode("gpu-0", "ALLOCATED"),
			nodesettest.NewSlurmNode("gpu-1", "FUTURE"),
			nodesettest.NewSlurmNode("cpu-0", "ALLOCATED"), owned} {
			r.Nodes[n.Name] = n
		}
		end := nodesettest.Noon.Add(time.Hour)
		r.Work["gpu-0"], r.Work["cpu-0"] = occupancy.Work{Jobs: 2, LastJob: 7, End: end}, occupancy.Work{Jobs: 1}
		r.DrainedSince["gpu-0"] = nodesettest.Noon
	})
	gpus := func(name string) bool { return name == "gpu-0" || name == "gpu-1" || name == "gpu-2" }
	got := Freshness{time.Minute}.ReadingOf(nodesettest.Noon, &nodesettest.FakeSlurm{}, r, nodesettest.NodeSetUID, gpus,
		func(string) bool { return false }, nil)
	want := plan.SlurmReading{
		Connected: true, Known: true, Fresh: true, TotalNodes: 3,
		Records: map[string]plan.Record{
			"gpu-0": {Name: "gpu-0", Dynamic: true, Busy: true},
			"gpu-1": {Name: "gpu-1", Dynamic: true, Future: true},
			"old-7": {Name: "old-7", Dynamic: true, OwnerUID: nodesettest.NodeSetUID,
				KubeNode: "kube-0", KubeNodeGone: true},
		},
		Work:         map[string]occupancy.Work{"gpu-0": {Jobs: 2, LastJob: 7, End: nodesettest.Noon.Add(time.Hour)}},
		DrainedSince: r.DrainedSince, JobsReadAt: nodesettest.Noon.Add(time.Second), NodesReadAt: nodesettest.Noon,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastLook(t *testing.T) {
	none, failing := &nodesettest.FakeSlurm{},
		&nodesettest.FakeSlurm{Fail: map[string]error{"look": errors.New("no answer")}}
	with := func(state ...string) *nodesettest.FakeSlurm {
		n := nodesettest.NewSlurmNode("gpu-0", state...)
		n.Reason = "slurm-operator: scale-in"
		return &nodesettest.FakeSlurm{Nodes: map[string]*slurm.Node{"gpu-0": n}}
	}
	for _, tc := range []struct {
		name  string
		slurm SlurmCluster
		look  plan.Precondition
		want  bool
		fails bool
	}{
		{"at nothing asks nobody", nil, plan.NoPrecondition, true, false},
		{"without a cluster fails", nil, plan.PreconditionDrained, false, true},
		{"that is not answered fails", failing, plan.PreconditionUnregistered, false, true},
		{"finds it drained", with("IDLE", "DRAIN"), plan.PreconditionDrained, true, false},
		{"finds it undrained meanwhile", with("IDLE"), plan.PreconditionDrained, false, false},
		{"finds that it got a job", with("MIXED", "DRAIN"), plan.PreconditionDrained, false, false},
		{"finds that it completes one", with("IDLE", "DRAIN", "COMPLETING"), plan.PreconditionDrained, false, false},
		{"finds a state that it does not know", with("HIBERNATING", "DRAIN"), plan.PreconditionDrained, false, false},
		{"finds none where one is to be drained", none, plan.PreconditionDrained, false, false},
		{"finds none where none should be", none, plan.PreconditionUnregistered, true, false},
		{"finds the record of one to come", with("FUTURE"), plan.PreconditionUnregistered, true, false},
		{"finds one that registered meanwhile", with("IDLE"), plan.PreconditionUnregistered, false, false},
		{"finds our own drain", with("IDLE", "DRAIN"), plan.PreconditionUndrainable, true, false},
		{"finds it down", with("DOWN", "DRAIN"), plan.PreconditionUndrainable, false, false},
	} {
		t.Run("the look "+tc.name, func(t *testing.T) {
			got, err := CheckPrecondition(t.Context(), tc.slurm, func(*slurm.Node) bool { return true }, nil, observed.RecordShape{},
				plan.Step{SlurmName: "gpu-0", Precondition: tc.look})
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("it is %t, %v", got, err)
			}
		})
	}
	others := func(*slurm.Node) bool { return false }
	if ok, err := CheckPrecondition(t.Context(), with("IDLE", "DRAIN"), others, nil, observed.RecordShape{},
		plan.Step{SlurmName: "gpu-0", Precondition: plan.PreconditionDrained}); ok || err != nil {
		t.Errorf("the look at a Slurm node of another NodeSet is %t, %v", ok, err)
	}
}

func TestWorkOfANodeThatTheReadingLacksCounts(t *testing.T) {
	r := nodesettest.NewReading(func(r *slurmclients.Reading) {
		r.Work["gpu-7"], r.Work["cpu-7"] = occupancy.Work{Jobs: 1, LastJob: 9}, occupancy.Work{Jobs: 1}
	})
	ours := func(name string) bool { return name == "gpu-7" }
	got := Freshness{time.Minute}.ReadingOf(nodesettest.Noon, &nodesettest.FakeSlurm{}, r, nodesettest.NodeSetUID, ours,
		isKnown, nil)
	if len(got.Work) != 1 || got.Work["gpu-7"].LastJob != 9 {
		t.Errorf("the work is %+v", got.Work)
	}
}

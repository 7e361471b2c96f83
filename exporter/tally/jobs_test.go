package tally

import (
	"maps"
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestARevokedRecordIsNoJobOfThisCluster(t *testing.T) {
	is := func(words ...string) func(*slurm.Job) {
		return func(j *slurm.Job) { j.State, j.Reason = slurm.ParseJobState(words...), "Resources" }
	}
	totals := TotalJobs([]*slurm.Job{
		exportertest.NewJob(1, is("CANCELLED", "REVOKED")), exportertest.NewJob(2, is("PENDING", "REVOKED")),
		exportertest.NewJob(3, is("CANCELLED")), exportertest.NewJob(4, is("PENDING")),
	})
	all := &totals.All
	if all.InState(slurm.JobCancelled) != 1 || all.InState(slurm.JobPending) != 1 || all.Total != 2 ||
		totals.ByReason["Resources"] != 1 {
		t.Errorf("%d cancelled, %d pending, %d in all, reasons %v", all.InState(slurm.JobCancelled),
			all.InState(slurm.JobPending), all.Total, totals.ByReason)
	}
	if n := all.WithFlag(slurm.JobRevoked); n != 2 {
		t.Errorf("%d have the flag", n)
	}
}

func TestPendingGPUsByType(t *testing.T) {
	job := func(id uint32, state, request, total string, tasks string) *slurm.Job {
		return exportertest.NewJob(id, func(j *slurm.Job) {
			j.State, j.TRESRequested = slurm.ParseJobState(state), "cpu=1,node=1,"+total
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = request })
			if tasks != "" {
				j.ArrayJobID, j.ArrayTasks = id, tasks
			}
		})
	}
	totals := TotalJobs([]*slurm.Job{
		job(1, "PENDING", "gres/gpu:2", "gres/gpu=2", ""), job(2, "PENDING", "gres/gpu:h100:2", "gres/gpu=2", "1-3"),
		job(3, "RUNNING", "gres/gpu:h100:4", "gres/gpu=4", ""), job(4, "PENDING", "", "billing=1", ""),
	})
	if want := map[string]uint64{"": 2, "h100": 6}; !maps.Equal(totals.PendingGPUs, want) {
		t.Errorf("%v, want %v", totals.PendingGPUs, want)
	}
	if all := totals.All.Pending.GPUs; all != 8 {
		t.Errorf("%d in all", all)
	}
}

func TestNodesOfReservationsAndOtherGRES(t *testing.T) {
	// As slurmctld 26.05 shows a node with two GPUs, eight shards and another resource.
	n := &slurm.Node{Name: "n1", Reservation: "r", State: slurm.ParseNodeState("MIXED"), GRES: "gpu:h100:2,shard:h100:8,craynetwork:4",
		GRESUsed: "gpu:h100:1(IDX:1),shard:h100:2(2/4,-/4),craynetwork:1"}
	totals := TotalNodes([]*slurm.Node{n, {Name: "n2", State: slurm.ParseNodeState("IDLE"), GRES: "shard:3,shard:l40s:2"}})
	want := []GRESCount{{"craynetwork", "", 4, 1}, {"shard", "h100", 8, 2}}
	if got := totals.Nodes[0].OtherGRES; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want = []GRESCount{{"shard", "", 3, 0}, {"shard", "l40s", 2, 0}}
	if got := totals.Nodes[1].OtherGRES; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if r := totals.ByReservation; len(r) != 1 || r["r"].Total != 1 || r["r"].ByWord["mixed"] != 1 {
		t.Errorf("by reservation: %v", r)
	}
}

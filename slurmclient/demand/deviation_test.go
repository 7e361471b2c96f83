package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestUnmodelledJobsAreCounted(t *testing.T) {
	limited := func(j *slurm.Job) { j.QOS = "limited" }
	limits := slurm.QOS{Name: "limited", MaxTRESPerUser: map[string]uint64{"gres/gpu:h100": 8}}
	minutes := func(j *slurm.Job) { j.QOS = "minutes" }
	for name, tc := range map[string]struct {
		job  *slurm.Job
		want map[demand.Deviation]uint64
	}{
		"a limit in minutes": {newJob(1, minutes),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"GPUs without a type, with a limit on a type": {newJob(1, limited, withTRES("cpu=1,gres/gpu=1")),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"GPUs of the limited type": {newJob(1, limited,
			withTRES("cpu=1,gres/gpu=1,gres/gpu:h100=1")), nil},
		"no GPUs, with a limit on a type": {newJob(1, limited, withTRES("cpu=1")), nil},
		"a plain job":                     {newJob(1), nil},
		"features that count nodes": {newJob(1, withConstraint("a*2&b*2")),
			map[demand.Deviation]uint64{demand.DeviationFeatures: 1}},
		"nodes with one common feature": {newJob(1, withConstraint("[a|b]")),
			map[demand.Deviation]uint64{demand.DeviationFeatures: 1}},
		"array tasks inside a reservation": {newJob(1, withArray(1, "1-3", 0),
			withChange(func(j *slurm.Job) { j.Reservation = "r" })),
			map[demand.Deviation]uint64{demand.DeviationReservation: 3}},
		"adjacent nodes": {newJob(1,
			withChange(func(j *slurm.Job) { j.Contiguous = true })),
			map[demand.Deviation]uint64{demand.DeviationTopology: 1}},
		"GPUs per socket": {newJob(1,
			withChange(func(j *slurm.Job) { j.TRESPerSocket = "gres/gpu:1" })),
			map[demand.Deviation]uint64{demand.DeviationSockets: 1}},
		"GPUs on any number of nodes": {newJob(1, withTasks(4),
			withChange(func(j *slurm.Job) { j.TRESPerTask = "cpu=1,gres/gpu=2" })),
			map[demand.Deviation]uint64{demand.DeviationGRES: 1}},
		"a component of a heterogeneous job": {newJob(1, asComponent(1, 0)),
			map[demand.Deviation]uint64{demand.DeviationHeterogeneous: 1}},
		"GPUs that fit on one node": {newJob(1, withTasks(2),
			withChange(func(j *slurm.Job) { j.TRESPerTask = "cpu=1,gres/gpu=2" })), nil},
		"tasks that MaxCPUsPerNode cuts": {newJob(1, inPartition("small"), withTasks(2),
			withChange(func(j *slurm.Job) { j.CPUs, j.CPUsPerTask = slurm.Num(4), slurm.Num(2) })),
			map[demand.Deviation]uint64{demand.DeviationTasks: 1}},
		"shared cores": {newJob(1, inPartition("forced")),
			map[demand.Deviation]uint64{demand.DeviationSharing: 1}},
		"a job that another cluster could run": {newJob(1,
			withChange(func(j *slurm.Job) { j.Siblings = "east,west" })),
			map[demand.Deviation]uint64{demand.DeviationFederation: 1}},
		"a job that only this cluster can run": {newJob(1,
			withChange(func(j *slurm.Job) { j.Siblings = "east" })), nil},
		"jobs that end after a reservation starts": {newJob(1, withArray(1, "1-3", 0),
			withChange(func(j *slurm.Job) { j.Partition, j.TimeLimit = "reserved", slurm.Num(61) })),
			map[demand.Deviation]uint64{demand.DeviationUpcomingReservation: 3}},
		"a job without a time limit": {newJob(1, inPartition("reserved"),
			withChange(func(j *slurm.Job) { j.TimeLimit = slurm.Infinite() })),
			map[demand.Deviation]uint64{demand.DeviationUpcomingReservation: 1}},
		"a job that ends before a reservation starts": {newJob(1, inPartition("reserved"),
			withChange(func(j *slurm.Job) { j.TimeLimit = slurm.Num(60) })), nil},
		"more GPUs than a node has": {newJob(1, onNodes(1),
			withChange(func(j *slurm.Job) { j.TRESPerJob = "gres/gpu:9" })),
			map[demand.Deviation]uint64{demand.DeviationGRES: 1}},
		"alternative licenses": {newJob(1,
			withChange(func(j *slurm.Job) { j.Licenses = "ansys:1|matlab:1" })),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"several licenses": {newJob(1,
			withChange(func(j *slurm.Job) { j.Licenses = "ansys:1,matlab:1" })), nil},
		"partitions with different QOS": {newJob(1, inPartition("cpu,paid")),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"one partition with a QOS": {newJob(1, inPartition("paid")), nil},
		// Seed 12044 of the oracle.
		"GPUs of a job with several tasks per node": {newJob(1, withTasks(2), withChange(func(j *slurm.Job) {
			j.TRESPerJob, j.TasksPerNode, j.MinCPUsPerNode = "gres/gpu:1", slurm.Num(3), slurm.Num(3)
		})), map[demand.Deviation]uint64{demand.DeviationGRES: 1}},
		"GPUs of a job with one task": {newJob(1, withTasks(1),
			withChange(func(j *slurm.Job) { j.TRESPerJob = "gres/gpu:2" })), nil},
	} {
		t.Run(name, func(t *testing.T) {
			small := newPartition("small")
			small.MaxCPUsPerNode = slurm.Num(3)
			forced := newPartition("forced")
			forced.OversubscribeJobs = 4
			paid := newPartition("paid", func(p *slurm.Partition) { p.QOS = "limited" })
			soon := &slurm.Reservation{Name: "r", StartTime: noon + 3600, EndTime: noon + 7200, Nodes: "r-0"}
			s := snapshotOf(t, newPartition("cpu"), small, forced, newPartition("reserved"), soon, paid,
				newNode("r-0", inPartitions("reserved")),
				newNode("w-0", withFeatures("w"), func(n *slurm.Node) { n.GRES = "gpu:4" }), tc.job)
			setLimits(s, limits, slurm.QOS{Name: "minutes", MinuteLimits: true}, slurm.License{Name: "ansys", Total: 9})
			d := demand.Compute(time.Unix(int64(noon), 0), s,
				demand.Pool{Name: "w", Feature: "w", Partitions: []string{"cpu", "small", "forced", "reserved", "paid"},
					Max: 9})
			if diff := cmp.Diff(tc.want, d.Pools[0].Unmodelled); diff != "" {
				t.Error(diff)
			}
		})
	}
}

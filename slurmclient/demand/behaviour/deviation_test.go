package behaviour

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestUnmodelledJobsAreCounted(t *testing.T) {
	limited := func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.QOS = "limited" }) }
	limits := slurm.QOS{Name: "limited", MaxTRESPerUser: map[string]uint64{"gres/gpu:h100": 8}}
	minutes := func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.QOS = "minutes" }) }
	for name, tc := range map[string]struct {
		job  *slurm.Job
		want map[demand.Deviation]uint64
	}{
		"a limit in minutes": {demandtest.NewJob(1, minutes),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"GPUs without a type, with a limit on a type": {demandtest.NewJob(1, limited, withTRES("cpu=1,gres/gpu=1")),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"GPUs of the limited type": {demandtest.NewJob(1, limited,
			withTRES("cpu=1,gres/gpu=1,gres/gpu:h100=1")), nil},
		"no GPUs, with a limit on a type": {demandtest.NewJob(1, limited, withTRES("cpu=1")), nil},
		"a plain job":                     {demandtest.NewJob(1), nil},
		"features that count nodes": {demandtest.NewJob(1, demandtest.WithConstraint("a*2&b*2")),
			map[demand.Deviation]uint64{demand.DeviationFeatures: 1}},
		"nodes with one common feature": {demandtest.NewJob(1, demandtest.WithConstraint("[a|b]")),
			map[demand.Deviation]uint64{demand.DeviationFeatures: 1}},
		"array tasks inside a reservation": {demandtest.NewJob(1, demandtest.WithArray(1, "1-3", 0),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Reservation = "r" })),
			map[demand.Deviation]uint64{demand.DeviationReservation: 3}},
		"adjacent nodes": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Contiguous = true })),
			map[demand.Deviation]uint64{demand.DeviationTopology: 1}},
		"GPUs per socket": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerSocket = "gres/gpu:1" })),
			map[demand.Deviation]uint64{demand.DeviationSockets: 1}},
		"more names than demand reads": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = "x[0-1047999]" })),
			map[demand.Deviation]uint64{demand.DeviationNames: 1}},
		"GPUs on any number of nodes": {demandtest.NewJob(1, demandtest.WithTasks(4),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerTask = "cpu=1,gres/gpu=2" })),
			map[demand.Deviation]uint64{demand.DeviationGRES: 1}},
		"a component of a heterogeneous job": {demandtest.NewJob(1, demandtest.AsComponent(1, 0)),
			map[demand.Deviation]uint64{demand.DeviationHeterogeneous: 1}},
		"GPUs that fit on one node": {demandtest.NewJob(1, demandtest.WithTasks(2),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerTask = "cpu=1,gres/gpu=2" })), nil},
		"tasks that MaxCPUsPerNode cuts": {demandtest.NewJob(1, demandtest.InPartition("small"),
			demandtest.WithTasks(2),
			demandtest.WithChange(func(j *slurm.Job) {
				j.CPUs = slurm.Num(4)
				j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(2) })
			})),
			map[demand.Deviation]uint64{demand.DeviationTasks: 1}},
		"shared cores": {demandtest.NewJob(1, demandtest.InPartition("forced")),
			map[demand.Deviation]uint64{demand.DeviationSharing: 1}},
		"a job that another cluster could run": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Siblings = "east,west" })),
			map[demand.Deviation]uint64{demand.DeviationFederation: 1}},
		"a job that only this cluster can run": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Siblings = "east" })), nil},
		"jobs that end after a reservation starts": {demandtest.NewJob(1, demandtest.WithArray(1, "1-3", 0),
			demandtest.WithChange(func(j *slurm.Job) { j.Partition, j.TimeLimit = "reserved", slurm.Num(61) })),
			map[demand.Deviation]uint64{demand.DeviationUpcomingReservation: 3}},
		"a job without a time limit": {demandtest.NewJob(1, demandtest.InPartition("reserved"),
			demandtest.WithChange(func(j *slurm.Job) { j.TimeLimit = slurm.Infinite() })),
			map[demand.Deviation]uint64{demand.DeviationUpcomingReservation: 1}},
		"a job that ends before a reservation starts": {demandtest.NewJob(1, demandtest.InPartition("reserved"),
			demandtest.WithChange(func(j *slurm.Job) { j.TimeLimit = slurm.Num(60) })), nil},
		"more GPUs than a node has": {demandtest.NewJob(1, demandtest.OnNodes(1),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerJob = "gres/gpu:9" })),
			map[demand.Deviation]uint64{demand.DeviationGRES: 1}},
		"alternative licenses": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:1|matlab:1" })),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"several licenses": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:1,matlab:1" })), nil},
		"a hierarchical resource": {demandtest.NewJob(1,
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "hot:1" })),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"partitions with different QOS": {demandtest.NewJob(1, demandtest.InPartition("cpu,paid")),
			map[demand.Deviation]uint64{demand.DeviationLimits: 1}},
		"one partition with a QOS": {demandtest.NewJob(1, demandtest.InPartition("paid")), nil},
		// Seed 12044 of the oracle.
		"GPUs of a job with several tasks per node": {demandtest.NewJob(1, demandtest.WithTasks(2),
			demandtest.WithDetails(func(d *slurm.JobDetails) {
				d.TRESPerJob, d.TasksPerNode, d.MinCPUsPerNode = "gres/gpu:1", slurm.Num(3), slurm.Num(3)
			})), map[demand.Deviation]uint64{demand.DeviationGRES: 1}},
		"GPUs of a job with one task": {demandtest.NewJob(1, demandtest.WithTasks(1),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerJob = "gres/gpu:2" })), nil},
	} {
		t.Run(name, func(t *testing.T) {
			small := demandtest.NewPartition("small")
			small.MaxCPUsPerNode = slurm.Num(3)
			forced := demandtest.NewPartition("forced")
			forced.OversubscribeJobs = 4
			paid := demandtest.NewPartition("paid", func(p *slurm.Partition) { p.QOS = "limited" })
			soon := &slurm.Reservation{Name: "r", StartTime: demandtest.Noon + 3600, EndTime: demandtest.Noon + 7200,
				Nodes: "r-0"}
			s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), small, forced,
				demandtest.NewPartition("reserved"), soon, paid,
				demandtest.NewNode("r-0", demandtest.InPartitions("reserved")),
				demandtest.NewNode("w-0", demandtest.WithFeatures("w"), func(n *slurm.Node) { n.GRES = "gpu:4" }),
				tc.job)
			demandtest.SetLimits(s, limits, slurm.QOS{Name: "minutes", MinuteLimits: true},
				slurm.License{Name: "ansys", Total: 9}, slurm.License{Name: "hot", Total: 9, Nodes: "w-0"})
			d := demand.Compute(time.Unix(int64(demandtest.Noon), 0), s,
				demand.Pool{Name: "w", Feature: "w", Partitions: []string{"cpu", "small", "forced", "reserved", "paid"},
					Max: 9})
			if diff := cmp.Diff(tc.want, d.Pools[0].Unmodelled); diff != "" {
				t.Error(diff)
			}
		})
	}
}

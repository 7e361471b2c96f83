package behaviour

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestEveryNodeIsInOneOfFiveUses(t *testing.T) {
	busy := demand.Partition{BusyNodes: 1}
	idle := demand.Partition{IdleNodes: 1}
	booting := demand.Partition{BootingNodes: 1}
	unusable := demand.Partition{UnusableNodes: 1}
	off := demand.Partition{OffNodes: 1}
	tests := map[string]struct {
		state string
		want  demand.Partition
	}{
		"idle":                           {"IDLE", idle},
		"planned by backfill":            {"IDLE+PLANNED", idle},
		"idle cloud node, powered up":    {"IDLE+CLOUD+DYNAMIC_NORM", idle},
		"a canceled reboot":              {"IDLE+REBOOT_CANCELED", idle},
		"allocated":                      {"ALLOCATED", busy},
		"mixed":                          {"MIXED", busy},
		"draining":                       {"MIXED+DRAIN", busy},
		"failing with work":              {"ALLOCATED+FAIL", busy},
		"completing":                     {"IDLE+COMPLETING", busy},
		"drained, with a running epilog": {"IDLE+DRAIN+COMPLETING", busy},
		"powering up for a job":          {"ALLOCATED+POWERING_UP", busy},
		"not responding with work":       {"ALLOCATED+NOT_RESPONDING", busy},
		"reserved":                       {"IDLE+RESERVED", busy},
		"in maintenance":                 {"IDLE+MAINTENANCE", busy},
		"blocked for another job":        {"IDLE+BLOCKED", busy},
		"powering up":                    {"IDLE+CLOUD+POWERING_UP", booting},
		"requested to power up":          {"IDLE+POWER_UP", booting},
		"not responding yet":             {"IDLE+NOT_RESPONDING", booting},
		"rebooting":                      {"IDLE+REBOOT_ISSUED", booting},
		"drained":                        {"IDLE+DRAIN", unusable},
		"drained and reserved":           {"IDLE+DRAIN+RESERVED", unusable},
		"drained and planned":            {"IDLE+DRAIN+PLANNED", unusable},
		"down":                           {"DOWN", unusable},
		"down and not responding":        {"DOWN+NOT_RESPONDING", unusable},
		"down and reserved":              {"DOWN+RESERVED", unusable},
		"failed":                         {"IDLE+FAIL", unusable},
		"with an invalid registration":   {"IDLE+INVALID_REG+DRAIN", unusable},
		"never registered":               {"UNKNOWN+NOT_RESPONDING", unusable},
		"in error":                       {"ERROR", unusable},
		"in an unknown state":            {"LEVITATING", unusable},
		"powered down":                   {"IDLE+CLOUD+POWERED_DOWN", off},
		"powering down":                  {"IDLE+POWERING_DOWN", off},
		"a FUTURE record":                {"FUTURE+DYNAMIC_NORM", off},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.want.Name, tt.want.RequiredNodes = "cpu", tt.want.BusyNodes
			if diff := cmp.Diff(tt.want, demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"),
				demandtest.NewNode("n1", demandtest.WithState(tt.state)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestANodeThatLooksIdleIsBusyWhenSomethingHoldsIt(t *testing.T) {
	flag := func(f slurm.JobFlags) demandtest.JobOption { return func(j *slurm.Job) { j.State.Flags = f } }
	base := func(b slurm.JobBase) demandtest.JobOption { return func(j *slurm.Job) { j.State.Base = b } }
	reservation := func(start, end slurm.Time) *slurm.Reservation {
		return &slurm.Reservation{Name: "r", StartTime: start, EndTime: end, Nodes: "n1"}
	}
	tests := map[string]struct {
		noun any
		busy uint64
	}{
		"a suspended job": {demandtest.NewJob(1, demandtest.RunningOn("n1"), base(slurm.JobSuspended)),
			1},
		"a configuring job": {demandtest.NewJob(1, demandtest.RunningOn("n1"),
			flag(slurm.JobConfiguring)), 1},
		"a suspended job on another node": {demandtest.NewJob(1, demandtest.RunningOn("n2"), base(slurm.JobSuspended)),
			0},
		"an ended job": {demandtest.NewJob(1, demandtest.RunningOn("n1"), base(slurm.JobTimeout)),
			0},
		"a pending job that names it": {demandtest.NewJob(1, demandtest.WithReason("JobHeldUser"),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "n1" })), 0},
		"an active reservation":          {reservation(demandtest.Noon-10, demandtest.Noon+10), 1},
		"a future reservation":           {reservation(demandtest.Noon+1, demandtest.Noon+10), 0},
		"a past reservation":             {reservation(demandtest.Noon-10, demandtest.Noon), 0},
		"a reservation of licenses only": {&slurm.Reservation{Name: "r", EndTime: slurm.Never}, 0},
		"a suspended job on several nodes": {demandtest.NewJob(1, demandtest.RunningOn("n0,n1"),
			base(slurm.JobSuspended)), 1},
		"a suspended job with a malformed hostlist": {demandtest.NewJob(1, demandtest.RunningOn("n[1"),
			base(slurm.JobSuspended)), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"), demandtest.NewNode("n1"), tt.noun)
			if p.BusyNodes != tt.busy || p.IdleNodes != 1-tt.busy || p.RequiredNodes != tt.busy {
				t.Errorf("busy %d, idle %d, required %d; want busy %d", p.BusyNodes, p.IdleNodes, p.RequiredNodes,
					tt.busy)
			}
		})
	}
}

func TestANodeCountsInEachOfItsPartitions(t *testing.T) {
	d := demandtest.ComputeDemand(demandtest.SnapshotOf(t, demandtest.NewPartition("a"), demandtest.NewPartition("b"),
		demandtest.NewPartition("c"),
		demandtest.NewNode("n1", demandtest.InPartitions("a", "b")),
		demandtest.NewNode("n2", demandtest.InPartitions("b", "gone"), demandtest.WithState("ALLOCATED"))))
	want := []demand.Partition{
		{Name: "a", IdleNodes: 1},
		{Name: "b", IdleNodes: 1, BusyNodes: 1, RequiredNodes: 1},
		{Name: "c"},
	}
	if diff := cmp.Diff(want, d.Partitions); diff != "" {
		t.Error(diff)
	}
}

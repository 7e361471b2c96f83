// Package exportertest provides snapshots and a source of snapshots for tests of the exporter.
package exportertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Epoch is the time of the snapshots.
var Epoch = time.Unix(1_800_000_000, 0)

// Source is an exporter.Source that a test sets.
type Source struct {
	mu      sync.Mutex
	now     *slurmclient.Snapshot
	changed chan struct{}
}

// NewSource returns a source of the snapshot.
func NewSource(s *slurmclient.Snapshot) *Source {
	return &Source{now: s, changed: make(chan struct{})}
}

// Snapshot returns the newest snapshot.
func (f *Source) Snapshot() *slurmclient.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Next waits for a snapshot whose sequence is greater than after.
func (f *Source) Next(ctx context.Context, after uint64) (*slurmclient.Snapshot, error) {
	for {
		f.mu.Lock()
		s, changed := f.now, f.changed
		f.mu.Unlock()
		if s.Sequence > after {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Publish publishes a changed copy of the snapshot.
func (f *Source) Publish(change func(*slurmclient.Snapshot)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := *f.now
	next.Sequence++
	change(&next)
	f.now = &next
	close(f.changed)
	f.changed = make(chan struct{})
}

func knownPoll(r slurmclient.Resource) slurmclient.Poll {
	return slurmclient.Poll{
		Resource: r, Enabled: true, Known: true, Sequence: 1, ReadAt: Epoch.Add(-3 * time.Second),
		Period: 10 * time.Second, ServerTime: slurm.At(Epoch),
	}
}

func knownReading[T any](r slurmclient.Resource, v T) slurmclient.Reading[T] {
	return slurmclient.Reading[T]{Value: v, Poll: knownPoll(r)}
}

// EmptySnapshot returns a snapshot with every resource enabled and none read.
func EmptySnapshot() *slurmclient.Snapshot {
	unread := func(r slurmclient.Resource) slurmclient.Poll { return slurmclient.Poll{Resource: r, Enabled: true} }
	s := &slurmclient.Snapshot{Sequence: 1, PublishedAt: Epoch}
	s.Pings.Poll, s.Nodes.Poll, s.Jobs.Poll = unread(slurmclient.Pings), unread(slurmclient.Nodes),
		unread(slurmclient.Jobs)
	s.Partitions.Poll, s.Reservations.Poll = unread(slurmclient.Partitions), unread(slurmclient.Reservations)
	s.Licenses.Poll, s.Stats.Poll, s.Shares.Poll = unread(slurmclient.Licenses), unread(slurmclient.Stats),
		unread(slurmclient.Shares)
	s.QOS.Poll = unread(slurmclient.QOS)
	return s
}

// SmallCluster returns a snapshot with a sample for every family.
func SmallCluster() *slurmclient.Snapshot {
	s := EmptySnapshot()
	s.Server = slurm.Server{Cluster: "c1", Release: "26.05.5", Accounting: "accounting_storage/slurmdbd"}
	s.Version = "v0.0.45"
	s.Pings = knownReading(slurmclient.Pings,
		[]slurm.Ping{{Hostname: "ctl", Responding: true, Primary: true, LatencyMicros: 250, Status: "UP"}})
	s.Nodes = knownReading(slurmclient.Nodes, smallNodes())
	s.Jobs = knownReading(slurmclient.Jobs, smallJobs())
	s.Jobs.Round, s.Jobs.Reader = 10*time.Minute, slurmclient.ReadDelta
	s.Partitions = knownReading(slurmclient.Partitions, []*slurm.Partition{
		{Name: "cpu", State: slurm.PartitionUp, Nodes: "n[1-3]", TotalNodes: 3, MaxTime: slurm.Num(60),
			DefaultTime: slurm.Num(30), MaxNodes: slurm.Infinite(), PriorityTier: 1},
		{Name: "gpu", State: slurm.PartitionDrain, Nodes: "g1", TotalNodes: 1, MaxTime: slurm.Infinite(),
			MaxNodes: slurm.Num(4), PriorityTier: 2},
	})
	s.Reservations = knownReading(slurmclient.Reservations, []*slurm.Reservation{
		{Name: "maint", StartTime: slurm.At(Epoch) - 60, EndTime: slurm.At(Epoch) + 3600, Nodes: "n3", NodeCount: 1,
			CoreCount: 8, Users: "root"},
	})
	s.Licenses = knownReading(slurmclient.Licenses,
		[]slurm.License{{Name: `mat"lab`, Total: 20, Used: 3, Free: 15, Reserved: 2}})
	s.Stats = knownReading(slurmclient.Stats, smallStats())
	s.Shares = knownReading(slurmclient.Shares, []slurm.Share{
		{Name: "root", Shares: slurm.Unset(), SharesNormalized: slurm.Flt(2.3e-10), Factor: slurm.UnsetFloat(),
			Level: slurm.UnsetFloat()},
		{Name: "ml", Parent: "root", Shares: slurm.Num(5), SharesNormalized: slurm.Flt(0.5),
			EffectiveUsage: slurm.Flt(0.25), Usage: 3600, Factor: slurm.Flt(0.75), Level: slurm.InfiniteFloat()},
		{Name: "alice", Parent: "ml", User: true, Shares: slurm.Num(1), SharesNormalized: slurm.Flt(1),
			EffectiveUsage: slurm.Flt(1), Usage: 3600, Factor: slurm.Flt(0.6), Level: slurm.Flt(1)},
	})
	s.QOS = knownReading(slurmclient.QOS, []slurm.QOS{
		{Name: "normal", Priority: slurm.Num(0), MaxJobs: slurm.Infinite(), MaxJobsPerUser: slurm.Num(50),
			GrpTRES:        map[string]uint64{"gres/gpu": 8, "cpu": 64},
			MaxTRESPerUser: map[string]uint64{"gres/gpu": 2}, MaxJobsPerAccount: slurm.Num(70),
			MaxSubmitPerUser: slurm.Num(500), MaxWallMinutesPerJob: slurm.Num(90)},
	})
	return s
}

func smallNodes() []*slurm.Node {
	node := func(name, partition string, state slurm.NodeState, change func(n *slurm.Node)) *slurm.Node {
		n := &slurm.Node{
			Name: name, Address: "10.0.0.1", State: state, Partitions: []string{partition}, CPUs: 16, EffectiveCPUs: 16,
			IdleCPUs:  16,
			MemoryMiB: 64000, FreeMemoryMiB: slurm.Num(1000), Load: slurm.Flt(0.5), Weight: 1, Version: "26.05.5",
			Architecture: "x86_64", Features: []string{"rack1", "fast"}, BootTime: 1_799_000_000,
			LastBusy: 1_799_999_000,
			TRES:     "cpu=16,mem=64000M,billing=16",
		}
		change(n)
		return n
	}
	return []*slurm.Node{
		node("g1", "gpu", slurm.ParseNodeState("MIXED", "DRAIN"), func(n *slurm.Node) {
			n.GRES, n.GRESUsed = "gpu:h100:4(S:0-1),shard:h100:16", "gpu:h100:1(IDX:0),shard:h100:2(2/4,-/4,-/4,-/4)"
			n.AllocCPUs, n.IdleCPUs, n.AllocMemoryMiB = 4, 12, 32000
			n.Reason, n.ReasonBy, n.ReasonAt = `fan "3" is \broken\`, "root", 1_799_990_000
		}),
		node("n1", "cpu", slurm.ParseNodeState("ALLOCATED"),
			func(n *slurm.Node) { n.AllocCPUs, n.IdleCPUs, n.AllocMemoryMiB = 16, 0, 1600 }),
		node("n2", "cpu", slurm.ParseNodeState("IDLE"),
			func(n *slurm.Node) { n.FreeMemoryMiB, n.Load = slurm.Unset(), slurm.UnsetFloat() }),
		node("n3", "cpu", slurm.ParseNodeState("DOWN", "NOT_RESPONDING"),
			func(n *slurm.Node) { n.Reason, n.Reservation = "not responding", "maint" }),
		node("n4", "cpu", slurm.ParseNodeState("FUTURE"), func(*slurm.Node) {}),
	}
}

// NewJob returns a pending job of user alice that waits for resources.
func NewJob(id uint32, change func(j *slurm.Job)) *slurm.Job {
	j := &slurm.Job{
		ID: id, Name: fmt.Sprint("job", id),
		SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "alice", UserID: 3001, Account: "ml", QOS: "normal"}),
		Partition:   "cpu",
		State:       slurm.ParseJobState("PENDING"), Reason: "Resources", Priority: slurm.Num(100),
		NodeCount:  slurm.Num(1),
		CPUs:       slurm.Num(4),
		SubmitTime: slurm.At(Epoch) - 1000, EligibleTime: slurm.At(Epoch) - 900, LastSchedEval: slurm.At(Epoch) - 10,
		TRESRequested: "cpu=4,mem=400M,node=1,billing=4",
	}
	change(j)
	return j
}

// SetRunning makes j a job that runs on n1.
func SetRunning(j *slurm.Job) {
	j.State, j.Reason, j.Nodes = slurm.ParseJobState("RUNNING"), "None", "n1"
	j.StartTime = slurm.At(Epoch) - 600
	j.TRESAllocated = j.TRESRequested
}

func smallJobs() []*slurm.Job {
	return []*slurm.Job{
		NewJob(1, SetRunning),
		NewJob(2, func(j *slurm.Job) {
			SetRunning(j)
			j.Partition, j.Nodes = "gpu", "g1"
			j.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID, o.Account = "bob", 3002, "hpc" })
			j.TRESAllocated = "cpu=4,mem=31.25G,node=1,billing=4,gres/gpu=1,gres/gpu:h100=1"
		}),
		NewJob(3, func(j *slurm.Job) { j.Partition = "cpu,gpu" }),
		NewJob(9, func(j *slurm.Job) {
			j.Partition, j.TRESRequested = "gpu", "cpu=4,mem=400M,node=1,billing=4,gres/gpu=2"
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:h100:2" })
		}),
		NewJob(4, func(j *slurm.Job) { j.Hold, j.Reason, j.Priority = true, "JobHeldUser", slurm.Num(0) }),
		NewJob(5, func(j *slurm.Job) {
			j.ArrayJobID, j.ArrayTaskID, j.ArrayTasks = 5, slurm.Unset(), "1-10%2"
			j.EditDetails(func(d *slurm.JobDetails) { d.ArrayMaxRunning = 2 })
			j.Reason = "JobArrayTaskLimit"
		}),
		NewJob(6, func(j *slurm.Job) {
			j.State, j.Reason = slurm.ParseJobState("FAILED"), "NonZeroExitCode"
			j.StartTime, j.EndTime, j.Nodes = slurm.At(Epoch)-800, slurm.At(Epoch)-700, "n1"
		}),
		NewJob(7, func(j *slurm.Job) { SetRunning(j); j.State = slurm.ParseJobState("SUSPENDED") }),
		NewJob(8, func(j *slurm.Job) { SetRunning(j); j.State = slurm.ParseJobState("CANCELLED", "COMPLETING") }),
	}
}

func smallStats() *slurm.Stats {
	return &slurm.Stats{
		At: slurm.At(Epoch), Since: slurm.At(Epoch) - 5000, ServerThreads: 3, AgentQueue: 1, Agents: 2, AgentThreads: 4,
		DBDAgentQueue: 5,
		JobsSubmitted: 100, JobsStarted: 90, JobsCompleted: 70, JobsCanceled: 6, JobsFailed: 1, JobsPending: 14,
		JobsRunning: 2,
		Main: slurm.MainScheduler{
			CycleMaxMicros: 2500, CycleLastMicros: 500, CycleMeanMicros: 800, Cycles: 40, MeanDepth: 3,
			CyclesPerMinute: 2, QueueLength: 14,
			CycleSumMicros: slurm.Num(32_000), Depth: slurm.Num(120),
			Exit: map[string]uint64{"end_job_queue": 39, "default_queue_depth": 1},
		},
		Backfill: slurm.Backfill{
			BackfilledJobs: 9, LastBackfilledJobs: 4, BackfilledHetJobs: 1, Cycles: 20, CycleMeanMicros: 900,
			CycleSumMicros:  18_000,
			CycleLastMicros: 700, LastDepth: 14, LastDepthTry: 6, DepthSum: 280, DepthTrySum: 100, DepthMean: 14,
			DepthTryMean: 5,
			QueueLength:  14, QueueLengthMean: 13, QueueLengthSum: 260, TableSize: 5, TableSizeMean: 4,
			CycleMaxMicros: slurm.Num(1500), TableSizeSum: slurm.Num(80),
			LastCycleAt: slurm.At(Epoch) - 30, Active: true, Exit: map[string]uint64{"end_job_queue": 20},
		},
		RPCsByType: []slurm.RPC{{Name: "REQUEST_PING", ID: 1008, Count: 12, TotalMicros: 3000, Queued: slurm.Num(0),
			Dropped: slurm.Num(2)}},
		RPCsByUser:  []slurm.RPC{{Name: "root", Count: 11, TotalMicros: 21512}, {Name: "alice", ID: 3001, Count: 2, TotalMicros: 4823}},
		PendingRPCs: []slurm.RPC{{Name: "REQUEST_TERMINATE_JOB", ID: 6011, Count: 3}},
	}
}

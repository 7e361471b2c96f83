package slurm

// Stats contains the statistics that sdiag(1) shows. Durations are in microseconds, as slurmctld
// measures them. Counters restart at Since.
type Stats struct {
	// At is when slurmctld collected the statistics, Since when its counters last restarted.
	At, Since Time

	ServerThreads, AgentQueue, Agents, AgentThreads, DBDAgentQueue uint64
	// ClockLatencyMicros is the cost of gettimeofday() over 1,000 calls.
	ClockLatencyMicros uint64

	JobsSubmitted, JobsStarted, JobsCompleted, JobsCanceled, JobsFailed uint64
	// JobsPending and JobsRunning are gauges as of JobStatesAt.
	JobsPending, JobsRunning uint64
	JobStatesAt              Time

	Main     MainScheduler
	Backfill Backfill

	RPCsByType []RPC
	RPCsByUser []RPC
	// PendingRPCs is the queue of the RPC manager, absent before API v0.0.41.
	PendingRPCs []RPC
}

// MainScheduler contains the statistics of the main scheduler.
type MainScheduler struct {
	CycleMaxMicros, CycleLastMicros, CycleMeanMicros uint64
	Cycles, MeanDepth, CyclesPerMinute, QueueLength  uint64
	// CycleSumMicros and Depth are absent before API v0.0.41.
	CycleSumMicros, Depth Number
	// Exit counts cycles by the reason for their end, with slurmrestd's names (end_job_queue, …).
	Exit map[string]uint64
}

// Backfill contains the statistics of the backfill scheduler.
type Backfill struct {
	BackfilledJobs, LastBackfilledJobs, BackfilledHetJobs                   uint64
	Cycles                                                                  uint64
	CycleMeanMicros, CycleSumMicros, CycleLastMicros                        uint64
	LastDepth, LastDepthTry, DepthSum, DepthTrySum, DepthMean, DepthTryMean uint64
	QueueLength, QueueLengthMean, QueueLengthSum                            uint64
	TableSize, TableSizeMean                                                uint64
	// CycleMaxMicros and TableSizeSum are absent before API v0.0.41.
	CycleMaxMicros, TableSizeSum Number
	LastCycleAt                  Time
	Active                       bool
	Exit                         map[string]uint64
}

// RPC is one row of sdiag's remote procedure call tables.
type RPC struct {
	// Name is the message type or the user's name, ID its number.
	Name        string
	ID          uint32
	Count       uint64
	TotalMicros uint64
	// Queued and Dropped are absent before API v0.0.41.
	Queued, Dropped Number
}

// JobUpdates returns the number of requests that changed jobs (scontrol hold, release, update, requeue and top) or
// limits.
func (s *Stats) JobUpdates() (n uint64) {
	for _, r := range s.RPCsByType {
		switch r.Name {
		case "REQUEST_UPDATE_JOB", "REQUEST_JOB_REQUEUE", "REQUEST_TOP_JOB", "REQUEST_SUSPEND", "ACCOUNTING_UPDATE_MSG",
			"REQUEST_UPDATE_PARTITION", "REQUEST_RECONFIGURE":
			n += r.Count
		}
	}
	return n
}

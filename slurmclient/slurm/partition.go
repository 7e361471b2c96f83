package slurm

// Partition is one record of slurmctld's partition table (scontrol(1), "show partition").
type Partition struct {
	Name  string
	State PartitionState
	// Position is the place in slurmctld's table, beginning with 1. sinfo(1) shows partitions in this order.
	Position uint32
	// Default is whether jobs that name no partition run in this one. It is always false before
	// API v0.0.45, which does not report it.
	Default bool
	// Nodes is the hostlist of configured nodes, TotalNodes their number including FUTURE
	// records, and NodeSets the node sets named in slurm.conf.
	Nodes, NodeSets       string
	TotalNodes, TotalCPUs uint32
	TRES                  string
	MinNodes              uint32
	MaxNodes              Number
	MaxCPUsPerNode        Number
	// OversubscribeJobs is how many jobs may share a core (OverSubscribe=YES:n or FORCE:n); 0 and
	// 1 if jobs do not share. Slurm 26.05 reports it from API v0.0.45 on.
	OversubscribeJobs    uint32
	MaxMemoryPerNode     Number // MiB
	MaxMemoryPerCPU      Number // MiB
	DefaultMemoryPerNode Number // MiB
	DefaultMemoryPerCPU  Number // MiB
	// MaxTime and DefaultTime are in minutes.
	MaxTime, DefaultTime          Number
	OverTimeLimit                 Number // minutes
	GraceTime                     uint32 // seconds
	PriorityTier, JobFactor       uint32
	AllowAccounts, DenyAccounts   string
	AllowGroups                   string
	AllowQOS, DenyQOS, QOS        string
	PreemptMode                   []string
	Alternate                     string
	AllowAllocNodes, JobDefaults  string
	SuspendTimeout, ResumeTimeout Number // seconds
}

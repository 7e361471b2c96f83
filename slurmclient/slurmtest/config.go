package slurmtest

import (
	"slices"
	"time"
)

// The releases whose behaviour the simulator knows.
const (
	Release2411 = "24.11"
	Release2605 = "26.05"
)

// Config describes a cluster. The zero value is an empty cluster of release
// 26.05 with one partition, "batch", that holds whatever nodes come.
type Config struct {
	// Release is Release2411 or Release2605; anything else counts as the latter.
	Release string
	// Versions are the API versions served; nil means those of the release
	// (v0.0.40 to 42, or v0.0.42 to 45).
	Versions []string
	// ClusterName is ClusterName of slurm.conf, "sim" if empty.
	ClusterName string
	// Key verifies tokens (HS256). Without one any token that is not empty counts,
	// as that of root.
	Key []byte
	// Now is the clock for New, Run and the expiry of tokens; nil is time.Now.
	Now func() time.Time
	// Compact is what SLURMRESTD_JSON=compact does; 24.11 ignores it.
	Compact bool
	// PrivateData is that of slurm.conf, such as jobs and nodes. Clients are told of it
	// (API v0.0.45); nothing is kept from anybody.
	PrivateData []string
	// NoAccounting leaves out slurmdbd.
	NoAccounting bool

	Nodes      []NodeConf
	Partitions []PartitionConf
	Licenses   []LicenseConf
	// Users are those that exist; nil means root, slurm, alice (account ml) and
	// bob (account hpc). root and slurm may do everything.
	Users []UserConf
	// QOS are the qualities of service; nil means "normal" and "high".
	QOS []QOSConf

	// DefMemPerCPU is in MiB, 100 if zero.
	DefMemPerCPU uint64
	// MinJobAge is how long finished jobs are kept, 300 s if zero.
	MinJobAge time.Duration
	// Completing is how long a job stays COMPLETING, 1 s if zero.
	Completing time.Duration
	// PingAfter is how long a node stays NOT_RESPONDING after RESUME or UNDRAIN,
	// 2 s if zero.
	PingAfter time.Duration
	// Depth is how many jobs the scheduler tries in one pass, 1,000 if zero.
	Depth int
	// MessageTimeout is how long requests wait for a hung slurmctld, 3 s if zero;
	// those to one that is down fail at once.
	MessageTimeout time.Duration
	// BitstrLen is where array_task_string is cut, 64 if zero (SLURM_BITSTR_LEN).
	BitstrLen int
	// MaxArraySize is that of slurm.conf, 200,000 if zero.
	MaxArraySize uint32
}

// NodeConf is a line NodeName=… of slurm.conf.
type NodeConf struct {
	// Names is a hostlist.
	Names string
	// CPUs defaults to the product of the next three, or to 1.
	CPUs uint32
	// Sockets defaults to CPUs, the others to 1.
	Sockets, CoresPerSocket, ThreadsPerCore uint32
	// MemoryMiB is RealMemory, 1 if zero.
	MemoryMiB uint64
	// GRES is such as "gpu:h100:4"; the simulator knows GPUs only.
	GRES     string
	Features []string
	Weight   uint32
	// Dynamic nodes may be deleted and set back to FUTURE.
	Dynamic bool
	// State is "" (IDLE), "UNKNOWN", "DOWN", "FUTURE" or "CLOUD".
	State string
	Port  uint32
}

// PartitionConf is a line PartitionName=… of slurm.conf.
type PartitionConf struct {
	Name    string
	Default bool
	// Nodes is a hostlist; empty or "ALL" are all nodes, unless Feature is set.
	Nodes string
	// Feature makes the partition hold the nodes that have this feature, now and
	// later, as a NodeSet does.
	Feature string
	// MaxNodes and MaxMinutes limit one job; 0 is no limit.
	MaxNodes, MaxMinutes uint32
	DefaultMinutes       uint32
	// State is UP if empty, or DOWN, DRAIN, INACTIVE.
	State        string
	PriorityTier uint32
}

// LicenseConf is one of the Licenses of slurm.conf.
type LicenseConf struct {
	Name  string
	Total uint64
}

// UserConf is a user with one association.
type UserConf struct {
	Name    string
	UID     uint32
	Account string
	Shares  uint32
	// Admin may change nodes, reservations and the jobs of others.
	Admin bool
}

// QOSConf is a quality of service.
type QOSConf struct {
	Name           string
	Priority       uint32
	MaxJobsPerUser uint32 // running; 0 is no limit
}

func (cfg Config) withDefaults() Config {
	if cfg.Release != Release2411 {
		cfg.Release = Release2605
	}
	if cfg.Versions == nil {
		cfg.Versions = versionsOf(cfg.Release)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Partitions == nil {
		cfg.Partitions = []PartitionConf{{Name: "batch", Default: true}}
	}
	if cfg.Users == nil {
		cfg.Users = defaultUsers()
	}
	if cfg.QOS == nil {
		cfg.QOS = []QOSConf{{Name: "normal"}, {Name: "high", Priority: 1000, MaxJobsPerUser: 50}}
	}
	cfg.Compact = cfg.Compact && cfg.Release != Release2411
	setDefault(&cfg.ClusterName, "sim")
	setDefault(&cfg.DefMemPerCPU, 100)
	setDefault(&cfg.MinJobAge, 300*time.Second)
	setDefault(&cfg.Completing, time.Second)
	setDefault(&cfg.PingAfter, 2*time.Second)
	setDefault(&cfg.Depth, 1000)
	setDefault(&cfg.MessageTimeout, 3*time.Second)
	setDefault(&cfg.BitstrLen, 64)
	setDefault(&cfg.MaxArraySize, 200_000)
	return cfg
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func versionsOf(release string) []string {
	if release == Release2411 {
		return []string{"v0.0.40", "v0.0.41", "v0.0.42"}
	}
	return []string{"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"}
}

func defaultUsers() []UserConf {
	return []UserConf{
		{Name: "root", Account: "root", Shares: 1, Admin: true},
		{Name: "slurm", UID: 64030, Account: "root", Shares: 1, Admin: true},
		{Name: "alice", UID: 3001, Account: "ml", Shares: 5},
		{Name: "bob", UID: 3002, Account: "hpc", Shares: 1},
	}
}

func (cfg Config) serves(version string) bool { return slices.Contains(cfg.Versions, version) }

package slurmctld

import (
	"slices"
	"time"
)

// The releases that the simulator imitates.
const (
	Release2411 = "24.11"
	Release2605 = "26.05"
)

// Config describes a cluster. The zero value is an empty cluster of release 26.05 with one
// partition, "batch", which contains all nodes added later.
type Config struct {
	// Release is Release2411 or Release2605; any other value means Release2605.
	Release string
	// Versions are the served API versions; nil serves the versions of the release (v0.0.40 to v0.0.42, or v0.0.42 to
	// v0.0.45).
	Versions []string
	// ClusterName is ClusterName of slurm.conf, "sim" if empty.
	ClusterName string
	// Key verifies tokens (HS256). Without a key, any non-empty token authenticates as the user
	// named in X-SLURM-USER-NAME, or as root.
	Key []byte
	// Now is the clock for New, Run and the expiry of tokens; nil means time.Now.
	Now func() time.Time
	// Compact drops white space from answers, like SLURMRESTD_JSON=compact; release 24.11 ignores
	// it.
	Compact bool
	// PrivateData is PrivateData of slurm.conf, such as jobs and nodes. API v0.0.45 reports it to clients, but the
	// simulator does not restrict any user's view.
	PrivateData []string
	// NoAccounting is whether the cluster lacks a slurmdbd.
	NoAccounting bool

	Nodes      []NodeConf
	Partitions []PartitionConf
	Licenses   []LicenseConf
	// Users are the known users; nil means root, slurm, alice (account ml) and bob (account hpc).
	// root and slurm are administrators.
	Users []UserConf
	// QOS are the qualities of service; nil means "normal" and "high".
	QOS []QOSConf

	// DefMemPerCPU is DefMemPerCPU of slurm.conf, in MiB; 100 if zero.
	DefMemPerCPU uint64
	// MinJobAge is how long finished jobs are kept; 300 s if zero.
	MinJobAge time.Duration
	// CompletingTime is how long a job stays COMPLETING; 1 s if zero.
	CompletingTime time.Duration
	// PingDelay is how long a node stays NOT_RESPONDING after RESUME or UNDRAIN; 2 s if zero.
	PingDelay time.Duration
	// SchedulerDepth is how many jobs the scheduler tries in one pass; 1,000 if zero.
	SchedulerDepth int
	// MessageTimeout is how long requests wait for a hung slurmctld; 3 s if zero. Requests to a
	// slurmctld that is down fail at once.
	MessageTimeout time.Duration
	// BitstrLen is the length at which array_task_string is truncated (SLURM_BITSTR_LEN); 64 if
	// zero.
	BitstrLen int
	// MaxArraySize is MaxArraySize of slurm.conf; 200,000 if zero.
	MaxArraySize uint32
}

// NodeConf is a NodeName= line of slurm.conf.
type NodeConf struct {
	// Names is a hostlist of the nodes' names.
	Names string
	// CPUs defaults to the product of the next three, or to 1.
	CPUs uint32
	// Sockets defaults to CPUs divided by cores and threads; CoresPerSocket and ThreadsPerCore
	// default to 1.
	Sockets, CoresPerSocket, ThreadsPerCore uint32
	// MemoryMiB is RealMemory; 1 if zero.
	MemoryMiB uint64
	// GRES is a list such as "gpu:h100:4"; the simulator ignores everything but GPUs.
	GRES     string
	Features []string
	Weight   uint32
	// Dynamic allows the nodes to be deleted and set to FUTURE.
	Dynamic bool
	// State is "" (IDLE), "UNKNOWN", "DOWN", "FUTURE" or "CLOUD".
	State string
	Port  uint32
}

// PartitionConf is a PartitionName= line of slurm.conf.
type PartitionConf struct {
	Name    string
	Default bool
	// Nodes is a hostlist; empty or "ALL" means all nodes, unless Feature is set.
	Nodes string
	// Feature makes the partition contain all nodes that have this feature, now and later, as a
	// NodeSet of slurm.conf does.
	Feature string
	// MaxNodes and MaxMinutes limit each job; 0 means no limit.
	MaxNodes, MaxMinutes uint32
	DefaultMinutes       uint32
	// State is UP (the default), DOWN, DRAIN or INACTIVE.
	State        string
	PriorityTier uint32
}

// LicenseConf is one entry of Licenses in slurm.conf.
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
	// Admin allows the user to change nodes, reservations and the jobs of others.
	Admin bool
}

// QOSConf is a quality of service.
type QOSConf struct {
	Name           string
	Priority       uint32
	MaxJobsPerUser uint32 // limits running jobs; 0 means no limit
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
		cfg.Users = DefaultUsers()
	}
	if cfg.QOS == nil {
		cfg.QOS = []QOSConf{{Name: "normal"}, {Name: "high", Priority: 1000, MaxJobsPerUser: 50}}
	}
	cfg.Compact = cfg.Compact && cfg.Release != Release2411
	setDefault(&cfg.ClusterName, "sim")
	setDefault(&cfg.DefMemPerCPU, 100)
	setDefault(&cfg.MinJobAge, 300*time.Second)
	setDefault(&cfg.CompletingTime, time.Second)
	setDefault(&cfg.PingDelay, 2*time.Second)
	setDefault(&cfg.SchedulerDepth, 1000)
	setDefault(&cfg.MessageTimeout, 3*time.Second)
	setDefault(&cfg.BitstrLen, 64)
	setDefault(&cfg.MaxArraySize, 200_000)
	return cfg
}

// FullRelease returns the release with its maintenance number.
func (cfg Config) FullRelease() string {
	if cfg.Release == Release2411 {
		return "24.11.5"
	}
	return "26.05.5"
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

// DefaultUsers returns the users of a configuration that names none.
func DefaultUsers() []UserConf {
	return []UserConf{
		{Name: "root", Account: "root", Shares: 1, Admin: true},
		{Name: "slurm", UID: 64030, Account: "root", Shares: 1, Admin: true},
		{Name: "alice", UID: 3001, Account: "ml", Shares: 5},
		{Name: "bob", UID: 3002, Account: "hpc", Shares: 1},
	}
}

// Serves reports whether the API version is served.
func (cfg Config) Serves(version string) bool { return slices.Contains(cfg.Versions, version) }

package slurm

// Server describes the server that sent an answer.
type Server struct {
	// Cluster is ClusterName, Release slurmrestd's version such as "24.11.5".
	Cluster, Release string
	// Accounting is the accounting storage plugin, empty if the answer does not name one. NoAccounting is whether the answer reports that the
	// cluster has no accounting storage.
	Accounting   string
	NoAccounting bool
}

// Ping is one slurmctld as slurmrestd sees it.
type Ping struct {
	Hostname string
	// Responding is whether slurmctld answered slurmrestd.
	Responding bool
	Primary    bool
	// LatencyMicros is the round trip in microseconds.
	LatencyMicros uint64
	// Status is the text of the server, such as "UP" or "Protocol authentication error".
	Status string
}

// Conf contains the settings of slurmctld's running configuration that this module uses.
type Conf struct {
	// PrivateData are the words of PrivateData (slurm.conf(5)) in lower case, with "all" expanded; empty if no data is private.
	PrivateData []string
	// AccountingEnforce are the words of AccountingStorageEnforce. SelectTypeParameters are the words of the option with the same name. Both
	// are spelled as the server sends them.
	AccountingEnforce, SelectTypeParameters []string
	// NextJobID is the id that slurmctld gives the next job, 0 if unknown. It is no setting, and Snapshot.Conf does not have it.
	NextJobID uint32
}

// Reservation is one advance reservation (scontrol(1), "show reservation").
type Reservation struct {
	Name               string
	StartTime, EndTime Time
	Nodes              string // hostlist
	NodeCount          uint32
	CoreCount          uint32
	Partition          string
	Users, Accounts    string
	Groups, Features   string
	Licenses           string
	TRES               string
	Flags              []string
}

// Active reports whether the reservation is active at t.
func (r *Reservation) Active(t Time) bool { return r.StartTime <= t && t < r.EndTime }

// ReservationRequest describes a reservation to create or update.
type ReservationRequest struct {
	Name      string
	StartTime Time
	// Either EndTime or Duration (minutes) determines the end.
	EndTime         Time
	Duration        Number
	Nodes           []string
	NodeCount       Number
	Users, Accounts []string
	Partition       string
	Licenses        string
	Flags           []string
	Comment         string
}

// License is one licence pool.
type License struct {
	Name                        string
	Total, Used, Free, Reserved uint64
	// Deficit is how many licences of a remote pool other clusters use beyond their share.
	Deficit uint64
	Remote  bool
	// Nodes are the nodes that share these licences, empty for all. A hierarchical resource (resources.yaml(5), 25.05 and later) has a record
	// for each of its layers. Servers before v0.0.44 do not send the nodes, so its records look alike.
	Nodes string
}

// Share is one row of the fair-share tree (sshare(1)): an account, or a user in one.
type Share struct {
	// Name is the name of an account, or of a user if User is true.
	Name, Parent, Partition string
	User                    bool
	Shares                  Number
	SharesNormalized        Float
	UsageNormalized         Float
	EffectiveUsage          Float
	// Usage is the raw usage in TRES-seconds.
	Usage uint64
	// Factor is the fair-share factor, 0 to 1; Level is LevelFS, which may be infinite.
	Factor, Level Float
}

// Association is one row of slurmdbd's association table (sacctmgr(1)).
type Association struct {
	ID                                uint32
	Account, User, Partition, Cluster string
	ParentAccount                     string
	SharesRaw                         int64
	Default                           bool
	QOS                               []string
	// GrpJobs, GrpSubmitJobs and GrpTRES limit the association and all associations below it
	// together. The other limits apply to the association of one user or to each of its jobs;
	// users inherit them from their accounts.
	GrpJobs, GrpSubmitJobs Number
	GrpTRES                map[string]uint64
	MaxJobs, MaxSubmitJobs Number
	MaxTRESPerJob          map[string]uint64
	MaxTRESPerNode         map[string]uint64 // average over the nodes of a job
	MaxWallMinutesPerJob   Number
	// MinuteLimits is whether there are limits in minutes that many jobs share.
	MinuteLimits bool
}

// Account is one account of slurmdbd.
type Account struct{ Name, Description, Organization string }

// User is one user of slurmdbd.
type User struct {
	Name       string
	AdminLevel []string
	// DefaultAccount may be empty, since slurmrestd does not always send it.
	DefaultAccount string
}

// QOS is one quality of service of slurmdbd.
type QOS struct {
	ID                   int32
	Name, Description    string
	Priority             Number
	Flags                []string
	MaxJobs              Number // running, all users
	MaxJobsPerUser       Number
	MaxJobsPerAccount    Number
	MaxSubmitJobs        Number
	MaxSubmitPerUser     Number
	GrpTRES              map[string]uint64
	MaxTRESPerUser       map[string]uint64
	MaxTRESPerAccount    map[string]uint64
	MaxTRESPerJob        map[string]uint64
	MaxTRESPerNode       map[string]uint64 // average over the nodes of a job
	MinTRESPerJob        map[string]uint64
	UsageFactor          Float
	MaxWallMinutesPerJob Number
	// MinuteLimits is whether there are limits in minutes that many jobs share.
	MinuteLimits bool
}

package slurm

// Server is what an answer tells of the server that gave it.
type Server struct {
	// Cluster is ClusterName, Release slurmrestd's version such as "24.11.5".
	Cluster, Release string
	// Accounting is the accounting storage plugin, empty when there is none or the answer
	// does not tell. NoAccounting is whether it tells that there is none.
	Accounting   string
	NoAccounting bool
}

// Ping is one slurmctld as slurmrestd sees it.
type Ping struct {
	Hostname string
	// Responding is whether slurmctld answered.
	Responding bool
	Primary    bool
	// LatencyMicros is the round trip in microseconds.
	LatencyMicros uint64
	// Status is the server's text, such as "UP" or "Protocol authentication error".
	Status string
}

// Conf is what slurmctld's configuration, as it runs, tells of what is read here.
type Conf struct {
	// PrivateData are the words of PrivateData in slurm.conf(5), in small letters and
	// with "all" spelt out; none where nothing is private.
	PrivateData []string
	// AccountingEnforce are the words of AccountingStorageEnforce, SelectTypeParameters
	// those of SelectTypeParameters, in the server's letters.
	AccountingEnforce, SelectTypeParameters []string
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

// Active reports whether the reservation holds its resources at the moment t.
func (r *Reservation) Active(t Time) bool { return r.StartTime <= t && t < r.EndTime }

// ReservationRequest is what creating or updating a reservation needs.
type ReservationRequest struct {
	Name      string
	StartTime Time
	// EndTime or Duration (minutes) ends it.
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
	// Deficit is how many of a remote pool others are known to use beyond their part.
	Deficit uint64
	Remote  bool
}

// Share is one row of the fair-share tree (sshare(1)): an account, or a user in one.
type Share struct {
	// Name is the account's or the user's name; User tells which it is.
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
	// GrpJobs, GrpSubmitJobs and GrpTRES bound what the association and all below it have
	// together; the others bound a user's association alone, and each of its jobs. They
	// come to users from their accounts.
	GrpJobs, GrpSubmitJobs Number
	GrpTRES                map[string]uint64
	MaxJobs, MaxSubmitJobs Number
	MaxTRESPerJob          map[string]uint64
	MaxTRESPerNode         map[string]uint64 // of a job, on average
	MaxWallMinutesPerJob   Number
	// MinuteLimits is whether there are limits of minutes that many jobs share.
	MinuteLimits bool
}

// Account is one account of slurmdbd.
type Account struct{ Name, Description, Organization string }

// User is one user of slurmdbd.
type User struct {
	Name       string
	AdminLevel []string
	// DefaultAccount may be empty: slurmrestd does not always tell.
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
	MaxTRESPerNode       map[string]uint64 // of a job, on average
	MinTRESPerJob        map[string]uint64
	UsageFactor          Float
	MaxWallMinutesPerJob Number
	// MinuteLimits is whether there are limits of minutes that many jobs share.
	MinuteLimits bool
}

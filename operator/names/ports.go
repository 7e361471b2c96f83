package names

// Default ports of Slurm's daemons and of sshd.
const (
	// SlurmctldPort is the port of slurmctld (slurm.conf(5), SlurmctldPort).
	SlurmctldPort = 6817
	// SlurmdPort is the port of slurmd. Slurm uses the port in the node's record, or this one if the record has
	// none.
	SlurmdPort = 6818
	// SlurmdbdPort is the port of slurmdbd (slurmdbd.conf(5), DbdPort).
	SlurmdbdPort = 6819
	// SlurmrestdPort is the port of slurmrestd.
	SlurmrestdPort = 6820
	// SlurmrestdTLSPort is the port at which slurm-agent ends TLS in front of slurmrestd.
	SlurmrestdTLSPort = 6821
	// SSHPort is the port of sshd in login pods and workers.
	SSHPort = 22
	// DatabasePort is the port of MariaDB and MySQL.
	DatabasePort = 3306
	// SlurmAgentPort is the port where slurm-agent serves its status, in the pods of slurmctld, slurmdbd, slurmd,
	// sackd and, with TLS, slurmrestd.
	SlurmAgentPort = 6826
)

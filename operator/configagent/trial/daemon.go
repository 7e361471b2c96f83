package trial

// Daemon is a daemon whose configuration trials check.
type Daemon struct {
	// Name is that of the program, and Conf that of its configuration file.
	Name, Conf string
	// NewConf returns the configuration file of a trial. Each line of the original has its number, so that
	// messages of the daemon name the right one.
	NewConf func(text string, s Settings) string
	// CheckFiles returns an error that names what the file refers to and what is not among the files.
	CheckFiles func(text string, files map[string]bool) error
	// acceptedText is in the log of a daemon that has read its configuration and goes on.
	acceptedText string
}

// Arguments returns those of the daemon in the foreground, with the slurm.conf of the trial.
func (d Daemon) Arguments(slurmConf string) []string {
	if d.Conf == "slurm.conf" {
		return []string{"-D", "-f", slurmConf}
	}
	return []string{"-D"}
}

// Slurmctld returns what a trial of slurmctld is.
func Slurmctld() Daemon {
	return Daemon{Name: "slurmctld", Conf: "slurm.conf", NewConf: SlurmConf, CheckFiles: CheckScripts,
		acceptedText: "Running as primary controller"}
}

// Slurmdbd returns what a trial of slurmdbd is. It reads everything before it connects to its database,
// of which the trial has none.
func Slurmdbd() Daemon {
	return Daemon{Name: "slurmdbd", Conf: "slurmdbd.conf", NewConf: SlurmdbdConf,
		CheckFiles:   func(string, map[string]bool) error { return nil },
		acceptedText: "The database must be up when starting the MYSQL plugin"}
}

package trial

import (
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Daemon is a daemon whose configuration trials check.
type Daemon struct {
	// Name is the name of the program, and Conf the name of its configuration file.
	Name, Conf string
	// NewConf returns the configuration file of a trial, where files are all its files that are no keys. Each line of the
	// original has its number, so that messages of the daemon name the right one.
	NewConf func(files map[string]string, s Settings) string
	// newRewriter returns the replacement of the configuration's lines in a trial. files are the same as for NewConf.
	newRewriter func(files map[string]string) lineRewriter
	// CheckFiles returns an error that names missing files that the configuration refers to. files contains no keys.
	CheckFiles func(files map[string]string) error
	// acceptedText is in the log of a daemon that has read its configuration and continues.
	acceptedText string
	// Serves is whether a daemon whose log has acceptedText may still end, and answers on its port when it does not.
	Serves bool
}

// Arguments returns the arguments of the daemon in the foreground, with the slurm.conf of the trial.
func (d Daemon) Arguments(slurmConf string) []string {
	if d.Conf == "slurm.conf" {
		return []string{"-D", "-f", slurmConf}
	}
	return []string{"-D"}
}

// ConfsWithIncluded returns the configuration file and the files that it includes, unchanged.
func (d Daemon) ConfsWithIncluded(files map[string]string) map[string]string {
	out := map[string]string{d.Conf: files[d.Conf]}
	for _, s := range slurmconf.ParseFiles(files, files[d.Conf]) {
		if s.File != "" {
			out[s.File] = files[s.File]
		}
	}
	return out
}

// Trial is one start of a daemon.
type Trial struct {
	// Confs are the configuration file, the files that it includes, and files of gres.conf whose lines differ in the trial.
	Confs map[string]string
	// Checked is the name of the file whose lines refusals name.
	Checked string
}

// Trials returns the trials of a configuration, one after the other.
func (d Daemon) Trials(files map[string]string, s Settings) []Trial {
	confs := d.TrialConfs(files, s)
	out := []Trial{{confs, d.Conf}}
	if d.Conf == "slurm.conf" && isGresReadable(files) {
		out = append(out, gresTrials(confs, files)...)
	}
	return out
}

// TrialConfs returns the configuration file of a trial and the files that it includes, without the options that the trial
// replaces.
func (d Daemon) TrialConfs(files map[string]string, s Settings) map[string]string {
	out, rewrite := d.ConfsWithIncluded(files), d.newRewriter(files)
	for name, text := range out {
		out[name] = joinLines(rewriteLines(text, rewrite))
	}
	out[d.Conf] = d.NewConf(files, s)
	return out
}

// Slurmctld returns the trial of slurmctld.
func Slurmctld() Daemon {
	return Daemon{Name: "slurmctld", Conf: "slurm.conf", NewConf: SlurmConf, newRewriter: rewriteSlurmConf, CheckFiles: CheckSlurmConf,
		acceptedText: "Running as primary controller", Serves: true}
}

// Slurmdbd returns the trial of slurmdbd. slurmdbd reads everything before it connects to its database, which the trial does
// not have.
func Slurmdbd() Daemon {
	return Daemon{Name: "slurmdbd", Conf: "slurmdbd.conf", NewConf: SlurmdbdConf, newRewriter: rewriteSlurmdbdConf,
		CheckFiles: CheckSlurmdbdConf, acceptedText: "The database must be up when starting the MYSQL plugin"}
}

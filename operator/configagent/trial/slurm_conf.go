package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Settings are a trial's own settings.
type Settings struct {
	// Dir is the folder of its state and its pid file.
	Dir string
	// Host is the name of the host on which it runs.
	Host string
	// Port is a free port.
	Port int
}

// replacedOptions are the options, in lower case, that the trial replaces. It must not reach the database, nodes or other
// slurmctlds, must run no program, and must write to its own folders. Slurm parses their values before (package
// configagent).
var replacedOptions = []string{"slurmctldhost", "slurmctldaddr", "slurmctldport", "slurmctldpidfile", "slurmctldlogfile",
	"slurmctlddebug", "slurmctldsyslogdebug", "statesavelocation", "authinfo", "accountingstoragehost",
	"accountingstoragebackuphost", "accountingstorageport", "slurmdtimeout", "suspendtime", "healthcheckinterval",
	"healthcheckprogram", "slurmctldprimaryonprog", "slurmctldprimaryoffprog"}

// replacedValues are the values of options, in lower case, that make slurmctld look for a database at its start. Other
// values, such as a missing plugin, are tried.
var replacedValues = map[string]string{
	"accountingstoragetype": "accounting_storage/slurmdbd",
	"jobcomptype":           "jobcomp/mysql",
}

// isReplaced reports whether the trial of slurmctld does not take a setting from the configuration. A line that Slurm cannot
// read is kept, so that slurmctld refuses it.
func isReplaced(s slurmconf.Setting) bool {
	name := strings.ToLower(s.Name)
	value, has := replacedValues[name]
	return s.IsOneOption() && (has && s.Value == value || slices.Contains(replacedOptions, name))
}

// SlurmConf returns the slurm.conf of a trial. Each line of the original has its number, so that
// messages of slurmctld name the right one.
func SlurmConf(files map[string]string, s Settings) string {
	authInfo := ""
	last := map[string]string{} // the last value of an option counts
	for _, setting := range slurmconf.ParseFiles(files, files["slurm.conf"]) {
		name := strings.ToLower(setting.Name)
		last[name] = setting.Value
		if name == "authinfo" {
			authInfo = setting.Value + ","
		}
	}
	lines := rewriteLines(files["slurm.conf"], rewriteSlurmConf(files))
	lines = append(lines,
		"SlurmctldHost="+s.Host,
		fmt.Sprintf("SlurmctldPort=%d", s.Port),
		"SlurmctldPidFile="+s.Dir+"/slurmctld.pid",
		"StateSaveLocation="+s.Dir+"/state",
		// "Running as primary controller" has this level.
		"SlurmctldDebug=info",
		// The socket belongs to the running slurmctld.
		"AuthInfo="+authInfo+"disable_sack",
		// The slurmds belong to it, too.
		"SlurmdTimeout=0",
		"SuspendTime=-1")
	for _, name := range []string{"AccountingStorageType", "JobCompType"} {
		if key := strings.ToLower(name); last[key] == replacedValues[key] {
			plugin, _, _ := strings.Cut(replacedValues[key], "/")
			lines = append(lines, name+"="+plugin+"/none")
		}
	}
	return joinLines(lines)
}

// lineRewriter returns the line of a setting in a trial, and reports whether the trial has one.
type lineRewriter func(slurmconf.Setting) (text string, kept bool)

// rewriteSlurmConf returns the rewriter of slurm.conf and of the files that it includes.
func rewriteSlurmConf(files map[string]string) lineRewriter {
	tres := readTRES(slurmconf.ParseFiles(files, files["slurm.conf"]))
	return func(s slurmconf.Setting) (string, bool) { return tres.replaceIn(s), !isReplaced(s) }
}

// rewriteLines returns the lines of a text in a trial, each at its place.
func rewriteLines(text string, rewrite lineRewriter) []string {
	var lines []string
	for _, setting := range slurmconf.ParseSettings(text) {
		line, kept := rewrite(setting)
		if !kept {
			continue
		}
		for len(lines) < setting.Line-1 {
			lines = append(lines, "")
		}
		lines = append(lines, line)
	}
	return lines
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") + "\n" }

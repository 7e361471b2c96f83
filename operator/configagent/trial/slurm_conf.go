package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Settings are what a trial has of its own.
type Settings struct {
	// Dir is the folder of its state and its pid file.
	Dir string
	// Host is the name of the host on which it runs.
	Host string
	// Port is a free port.
	Port int
}

// replacedOptions are the options, in lower case, that the trial does not take from the
// configuration: it must reach neither the database nor nodes nor other slurmctlds, run no program,
// and write where nobody else does.
var replacedOptions = []string{"slurmctldhost", "slurmctldaddr", "slurmctldport", "slurmctldpidfile", "slurmctldlogfile",
	"slurmctlddebug", "slurmctldsyslogdebug", "statesavelocation", "authinfo", "accountingstoragetype",
	"accountingstoragehost", "accountingstoragebackuphost", "accountingstorageport", "accountingstorageenforce",
	"jobcomptype", "slurmdtimeout", "suspendtime", "healthcheckinterval", "healthcheckprogram",
	"slurmctldprimaryonprog", "slurmctldprimaryoffprog"}

// SlurmConf returns the slurm.conf of a trial. Each line of the original has its number, so that
// messages of slurmctld name the right one.
func SlurmConf(text string, s Settings) string {
	authInfo := ""
	lines := keepLines(text, func(setting slurmconf.Setting) bool {
		name := strings.ToLower(setting.Name)
		if name == "authinfo" {
			authInfo = setting.Value + ","
		}
		return !slices.Contains(replacedOptions, name)
	})
	lines = append(lines,
		"SlurmctldHost="+s.Host,
		fmt.Sprintf("SlurmctldPort=%d", s.Port),
		"SlurmctldPidFile="+s.Dir+"/slurmctld.pid",
		"StateSaveLocation="+s.Dir+"/state",
		// "Running as primary controller" has this level.
		"SlurmctldDebug=info",
		// The socket belongs to the slurmctld that runs.
		"AuthInfo="+authInfo+"disable_sack",
		"AccountingStorageType=accounting_storage/none",
		// The slurmds belong to it, too.
		"SlurmdTimeout=0",
		"SuspendTime=-1")
	return strings.Join(lines, "\n") + "\n"
}

// keepLines returns the lines of a text whose settings are kept, each at its place.
func keepLines(text string, keep func(slurmconf.Setting) bool) []string {
	var lines []string
	for _, setting := range slurmconf.ParseSettings(text) {
		if !keep(setting) {
			continue
		}
		for len(lines) < setting.Line-1 {
			lines = append(lines, "")
		}
		lines = append(lines, setting.Text)
	}
	return lines
}

// scriptOptions are the options, in lower case, whose value is a script that slurmctld or slurmd runs.
// slurmctld does not look for them when it starts.
var scriptOptions = []string{"prolog", "epilog", "prologslurmctld", "epilogslurmctld"}

// CheckScripts returns an error that names the first script of the directory of slurm.conf that is not
// among its files. Scripts elsewhere may exist on the workers only.
func CheckScripts(text string, files map[string]bool) error {
	for _, setting := range slurmconf.ParseSettings(text) {
		if !slices.Contains(scriptOptions, strings.ToLower(setting.Name)) {
			continue
		}
		name := strings.TrimPrefix(setting.Value, slurmconf.Dir+"/")
		if !strings.Contains(name, "/") && !strings.ContainsAny(name, "*?[") && !files[name] {
			return fmt.Errorf("slurm.conf, line %d: %s: there is no file %s", setting.Line, setting.Text, name)
		}
	}
	return nil
}

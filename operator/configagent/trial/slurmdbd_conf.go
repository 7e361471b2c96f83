package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// replacedSlurmdbdOptions are the options of slurmdbd.conf, in lower case, that a trial replaces. It must not reach the
// database, know its password, or write where the running slurmdbd does. Other lines, such as DbdPort, are kept, so that
// slurmdbd checks their values, and lines at the end replace them.
var replacedSlurmdbdOptions = []string{"authinfo", "logfile", "storagebackuphost", "storagepass"}

// silentLevels are the values of DebugLevel, in lower case, at which slurmdbd does not log errors. The trial needs the errors.
var silentLevels = []string{"quiet", "fatal", "0", "1"}

// SlurmdbdConf returns the slurmdbd.conf of a trial. Each line of the original has its number. At its
// StoragePort nothing may listen.
func SlurmdbdConf(files map[string]string, s Settings) string {
	authInfo := ""
	for _, setting := range slurmconf.ParseSettings(files["slurmdbd.conf"]) {
		if strings.EqualFold(setting.Name, "authinfo") {
			authInfo = setting.Value + ","
		}
	}
	lines := rewriteLines(files["slurmdbd.conf"], rewriteSlurmdbdConf(files))
	lines = append(lines,
		fmt.Sprintf("DbdPort=%d", s.Port),
		"PidFile="+s.Dir+"/slurmdbd.pid",
		// The socket belongs to the running slurmdbd.
		"AuthInfo="+authInfo+"disable_sack",
		"StorageHost=127.0.0.1",
		fmt.Sprintf("StoragePort=%d", s.Port),
		"StoragePass=none")
	return joinLines(lines)
}

// rewriteSlurmdbdConf returns the rewriter of slurmdbd.conf.
func rewriteSlurmdbdConf(map[string]string) lineRewriter {
	return func(s slurmconf.Setting) (string, bool) { return s.Text, !isReplacedOfSlurmdbd(s) }
}

// isReplacedOfSlurmdbd reports whether the trial of slurmdbd does not take a setting from the configuration.
func isReplacedOfSlurmdbd(s slurmconf.Setting) bool {
	name := strings.ToLower(s.Name)
	return s.IsOneOption() && (slices.Contains(replacedSlurmdbdOptions, name) ||
		name == "debuglevel" && slices.Contains(silentLevels, strings.ToLower(s.Value)))
}

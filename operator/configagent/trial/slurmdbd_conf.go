package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// replacedSlurmdbdOptions are the options of slurmdbd.conf, in lower case, that a trial does not take from the
// configuration: it must not reach the database, know its password, or write where the running slurmdbd
// does.
var replacedSlurmdbdOptions = []string{"authinfo", "dbdport", "pidfile", "logfile", "storagehost", "storagebackuphost",
	"storageport", "storagepass"}

// silentLevels are the values of DebugLevel, in lower case, with which slurmdbd does not log errors, by which the
// trial sees what it does.
var silentLevels = []string{"quiet", "fatal", "0", "1"}

// SlurmdbdConf returns the slurmdbd.conf of a trial. Each line of the original has its number. At its
// StoragePort nothing may listen.
func SlurmdbdConf(text string, s Settings) string {
	authInfo := ""
	lines := keepLines(text, func(setting slurmconf.Setting) bool {
		name := strings.ToLower(setting.Name)
		if name == "authinfo" {
			authInfo = setting.Value + ","
		}
		return !slices.Contains(replacedSlurmdbdOptions, name) &&
			(name != "debuglevel" || !slices.Contains(silentLevels, strings.ToLower(setting.Value)))
	})
	lines = append(lines,
		fmt.Sprintf("DbdPort=%d", s.Port),
		"PidFile="+s.Dir+"/slurmdbd.pid",
		// The socket belongs to the slurmdbd that runs.
		"AuthInfo="+authInfo+"disable_sack",
		"StorageHost=127.0.0.1",
		fmt.Sprintf("StoragePort=%d", s.Port),
		"StoragePass=none")
	return strings.Join(lines, "\n") + "\n"
}

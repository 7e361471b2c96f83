package trial

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// scriptOptions are the options, in lower case, whose value is a script that slurmctld or slurmd runs.
// slurmctld does not look for them when it starts.
var scriptOptions = []string{"prolog", "epilog", "prologslurmctld", "epilogslurmctld"}

// CheckSlurmConf returns an error that names the first missing file: a script in the directory of slurm.conf, or an
// Include. The daemon would print the lines of a key, and wait a minute for a missing file. Scripts elsewhere may exist
// only on the workers.
func CheckSlurmConf(files map[string]string) error {
	settings := slurmconf.ParseFiles(files, files["slurm.conf"])
	if err := slurmconf.CheckIncludes(settings, files, "slurm.conf"); err != nil {
		return err
	}
	for _, setting := range settings {
		if !slices.Contains(scriptOptions, strings.ToLower(setting.Name)) {
			continue
		}
		name := strings.TrimPrefix(setting.Value, slurmconf.Dir+"/")
		_, has := files[name]
		if !strings.Contains(name, "/") && !strings.ContainsAny(name, "*?[") && !has {
			return fmt.Errorf("%s: %s: there is no file %s", setting.Place("slurm.conf"), setting.Text, name)
		}
	}
	return checkOtherIncludes(files)
}

// CheckSlurmdbdConf returns an error that names the first Include of slurmdbd.conf.
func CheckSlurmdbdConf(files map[string]string) error {
	return slurmconf.CheckIncludes(slurmconf.ParseSettings(files["slurmdbd.conf"]), nil, "slurmdbd.conf")
}

// checkOtherIncludes returns an error that names the first Include of a key in the files that slurmctld or slurmd reads
// besides slurm.conf, such as gres.conf. They may include files that only workers have.
func checkOtherIncludes(files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".conf" {
			continue
		}
		for _, s := range slurmconf.ParseFiles(files, files[name]) {
			if key := path.Base(s.Value); s.IsInclude() && IsKey(key) {
				return fmt.Errorf("%s must not include %s, a key", s.Place(name), s.Value)
			}
		}
	}
	return nil
}

// IsKey reports whether a file of the directory of slurm.conf is a secret. slurmdbd.conf contains one.
func IsKey(name string) bool {
	return strings.HasSuffix(name, ".key") || name == "slurm.jwks" || name == "slurmdbd.conf"
}

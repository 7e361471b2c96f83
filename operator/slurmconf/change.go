package slurmconf

import (
	"maps"
	"slices"
	"strings"
)

// Effect is the action that a changed configuration needs before it is in force.
type Effect int

// The effects, the least first.
const (
	// NoEffect is of a change of comments, space or order of records only.
	NoEffect Effect = iota
	// NeedsReconfigure is of a change that "scontrol reconfigure" applies.
	NeedsReconfigure
	// NeedsRestart is of a change that only a new slurmctld applies.
	NeedsRestart
)

// restartNames are the options of slurm.conf, in lower case, that "scontrol reconfigure" does not apply. It looks
// for slurmctld at the new address while slurmctld still has the old one, or it ends slurmctld.
var restartNames = []string{"slurmctldhost", "slurmctldport", "slurmctldaddr", "slurmuser", "statesavelocation",
	"authtype"}

// CompareSlurmConf returns the action that applies a changed slurm.conf (docs/development/slurm.md, "What a
// reconfigure applies", measured).
func CompareSlurmConf(old, changed string) Effect { return compareConf(old, changed, restartNames) }

// slurmdbdRestartNames are the options of slurmdbd.conf, in lower case, that slurmdbd does not apply when
// it reads the file again.
var slurmdbdRestartNames = []string{"authalttypes", "authaltparameters", "authinfo", "authtype", "communicationparameters",
	"dbdaddr", "dbdbackuphost", "dbdhost", "dbdport", "hashplugin", "pidfile", "plugindir", "privatedata", "slurmuser",
	"storagebackuphost", "storagehost", "storageloc", "storageparameters", "storagepass", "storageport", "storagetype",
	"storageuser", "trackwckey", "tlstype", "tlsparameters"}

// CompareSlurmdbdConf returns the action that applies a changed slurmdbd.conf. NeedsReconfigure means that SIGHUP
// applies the change (docs/development/slurm.md, "What SIGHUP applies to slurmdbd", measured).
func CompareSlurmdbdConf(old, changed string) Effect {
	return compareConf(old, changed, slurmdbdRestartNames)
}

// compareConf returns the action that applies a changed file, if a change of some options needs a restart.
func compareConf(old, changed string, restartNames []string) Effect {
	before, after := effectiveSettings(old), effectiveSettings(changed)
	effect := NoEffect
	for _, key := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
		if before[key] == after[key] {
			continue
		}
		name, _, _ := strings.Cut(key, "=")
		if slices.Contains(restartNames, name) {
			return NeedsRestart
		}
		effect = NeedsReconfigure
	}
	return effect
}

// effectiveSettings returns the settings of a file that count, by key: the last one of an option and, of records,
// the options that hold for them.
func effectiveSettings(text string) map[string]string {
	out := map[string]string{}
	settings := ParseSettings(text)
	for _, s := range settings {
		if key := s.key(); !strings.Contains(key, "=") {
			_, out[key], _ = strings.Cut(s.Text, "=")
			if fields := s.Fields(); len(fields) == 1 {
				out[key] = fields[0].Value
			}
		}
	}
	if slices.ContainsFunc(settings, Setting.IsInclude) { // the included lines are unknown here, so every line counts
		for _, s := range settings {
			out["include"] += s.Text + "\n"
		}
	}
	for _, r := range resolveRecords(settings) {
		switch key := r.kind + "=" + r.name; {
		case strings.EqualFold(r.name, defaultRecord):
			out[r.kind+"="+defaultRecord] = r.text() // nodes and partitions that are created later also have them
		case len(r.options) == 0: // the order of hosts and of scripts counts
			out[r.kind] += r.name + "\n"
		case r.kind == "nodeset" && out[key] != "":
		default:
			out[key] += r.text()
		}
		if strings.EqualFold(r.options["default"], "YES") {
			out["default "+r.kind] = r.name // the last one counts
		}
	}
	return out
}

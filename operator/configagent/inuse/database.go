package inuse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// checkDatabase returns *configagent.HeldError if slurmctld needs an answer of slurmdbd to start with the wanted files, and slurmdbd
// does not answer. slurmctld would end at the reconfigure and at each start after it (measured: docs/development/slurm.md). The trial
// has no slurmdbd and cannot show it. slurmctld keeps what it once read from slurmdbd.
func (j Judge) checkDatabase(ctx context.Context, inForce, wanted configagent.Files) error {
	before, after := partition.Settings(inForce), partition.Settings(wanted)
	if !hasAssociations(after) {
		return nil
	}
	// slurmdbd has these two from the beginning.
	known := append(slurmconf.AccountedTRES(before), "gres/gpumem", "gres/gpuutil")
	added := slices.DeleteFunc(slurmconf.AccountedTRES(after), func(name string) bool { return slices.Contains(known, name) })
	held := func(what string) error {
		return &configagent.HeldError{Reason: v1beta1.ReasonSlurmdbdDown, Message: what + ", and slurmctld would not start without " +
			"slurmdbd, which does not answer; it is applied when slurmdbd answers"}
	}
	what := "it turns accounting on (AccountingStorageType)"
	if hasAssociations(before) {
		what = "it adds " + limitList(added) + " to AccountingStorageTRES"
	}
	switch {
	case hasAssociations(before) && len(added) == 0:
		return nil
	case !j.ReachesSlurmdbd(ctx, after):
		return held(what)
	case hasAssociations(before) && !j.hasStarted():
		return held(what) // it starts with the files in force, and can answer then
	case !j.hasStarted(), !hasAssociations(before), slurmdbdOf(before) != slurmdbdOf(after):
		return nil // sacctmgr would ask nothing, or another slurmdbd
	}
	// slurmdbd accepts connections without its database.
	_, err := j.ask(ctx, "sacctmgr", "--noheader", "show", "tres")
	if err != nil && !strings.Contains(err.Error(), "fatal:") { // sacctmgr asks nothing if it cannot read slurm.conf
		return held(fmt.Sprintf("%s (%v)", what, err))
	}
	return nil
}

// slurmdbdOf returns the address of slurmdbd in the settings, as text to compare.
func slurmdbdOf(settings []slurmconf.Setting) string {
	last := map[string]string{}
	for _, s := range settings {
		last[strings.ToLower(s.Name)] = s.Value
	}
	return fmt.Sprint(last["accountingstoragehost"], last["accountingstoragebackuphost"], last["accountingstorageport"])
}

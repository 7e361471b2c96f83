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

// checkDatabase returns *configagent.HeldError if slurmctld needs an answer of slurmdbd to start with the wanted files, and slurmdbd does
// not answer: slurmctld would end at the reconfigure and at each start after it (measured: docs/development/slurm.md). The trial, which
// has no slurmdbd, does not show it. What slurmctld has had from slurmdbd once, it keeps.
func (j Judge) checkDatabase(ctx context.Context, inForce, wanted configagent.Files) error {
	before, after := partition.Settings(inForce), partition.Settings(wanted)
	if !hasAssociations(after) {
		return nil
	}
	added := slices.DeleteFunc(accountedTRES(after), func(name string) bool { return slices.Contains(accountedTRES(before), name) })
	held := func(what string) error {
		return &configagent.HeldError{Reason: v1beta1.ReasonSlurmdbdDown, Message: what + ", and slurmctld would not start without " +
			"slurmdbd, which does not answer; it is applied when slurmdbd answers"}
	}
	switch {
	case !hasAssociations(before):
		if !j.ReachesSlurmdbd(ctx, after) {
			return held("it turns accounting on (AccountingStorageType)")
		}
	case len(added) > 0:
		what := "it adds " + limitList(added) + " to AccountingStorageTRES"
		if !j.ReachesSlurmdbd(ctx, after) {
			return held(what)
		}
		// slurmdbd accepts connections without its database.
		if _, err := j.ask(ctx, "sacctmgr", "--noheader", "show", "tres"); err != nil {
			return held(fmt.Sprintf("%s (%v)", what, err))
		}
	}
	return nil
}

// accountedTRES returns the TRES of AccountingStorageTRES, in lower case.
func accountedTRES(settings []slurmconf.Setting) []string {
	var out []string
	for _, setting := range settings {
		if strings.EqualFold(setting.Name, "AccountingStorageTRES") {
			out = slurmconf.SplitList(strings.ToLower(setting.Value))
		}
	}
	return out
}

package trial

import (
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// tresNames are the TRES of AccountingStorageTRES, in lower case, which slurmctld has from slurmdbd.
type tresNames map[string]bool

// builtIn is a TRES that slurmctld knows without slurmdbd. A list or weights may have it more than once.
const builtIn = "cpu"

// readTRES returns the TRES of settings with slurmdbd, and nil otherwise: slurmctld without slurmdbd ends with such a TRES.
func readTRES(settings []slurmconf.Setting) tresNames {
	list, storage := "", ""
	for _, s := range settings {
		switch strings.ToLower(s.Name) {
		case "accountingstoragetres":
			list = s.Value
		case "accountingstoragetype":
			storage = s.Value
		}
	}
	if storage != replacedValues["accountingstoragetype"] {
		return nil
	}
	out := tresNames{}
	for _, name := range slurmconf.SplitList(strings.ToLower(list)) {
		if out[name] = true; name == "gres/gpu" { // slurmctld adds these
			out["gres/gpumem"], out["gres/gpuutil"] = true, true
		}
	}
	return out
}

// replaceIn returns the line of a setting for the trial, which has no slurmdbd: a built-in TRES replaces each TRES that comes from
// slurmdbd.
func (names tresNames) replaceIn(s slurmconf.Setting) string {
	if names == nil {
		return s.Text
	}
	return s.ReplaceTRES(func(name string) string {
		if names[strings.ToLower(name)] || strings.EqualFold(s.Name, "AccountingStorageTRES") {
			return builtIn
		}
		return name
	})
}

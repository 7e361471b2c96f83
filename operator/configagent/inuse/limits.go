package inuse

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// enforcesLimits reports whether slurmctld with the settings ends jobs beyond the limits of associations and QOS: safe and all
// include limits (slurm.conf(5), AccountingStorageEnforce).
func enforcesLimits(settings []slurmconf.Setting) bool {
	out := false
	for _, setting := range settings {
		if !strings.EqualFold(setting.Name, "AccountingStorageEnforce") {
			continue
		}
		out = false
		for word := range strings.SplitSeq(strings.ToLower(setting.Value), ",") {
			switch strings.TrimSpace(word) {
			case "limits", "safe", "all", "1":
				out = true
			}
		}
	}
	return out
}

// hasAssociations reports whether jobs have associations, whose limits can be enforced.
func hasAssociations(settings []slurmconf.Setting) bool {
	out := false
	for _, setting := range settings {
		if strings.EqualFold(setting.Name, "AccountingStorageType") {
			out = filepath.Base(strings.ToLower(setting.Value)) == "slurmdbd"
		}
	}
	return out
}

// checkEnforcement returns *configagent.HeldError if jobs run while the wanted files make slurmctld enforce limits: it ends those
// beyond MaxTRESMins of their association within a minute (measured: docs/development/slurm.md), and does not say which.
func (j Judge) checkEnforcement(ctx context.Context, inForce, wanted configagent.Files) error {
	before, after := partition.Settings(inForce), partition.Settings(wanted)
	if enforcesLimits(before) || !enforcesLimits(after) || !hasAssociations(before) {
		return nil
	}
	const what = "it makes slurmctld enforce limits (AccountingStorageEnforce), and slurmctld would end jobs that have used more"
	held := func(format string, args ...any) error {
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: what + fmt.Sprintf(format, args...)}
	}
	printed, err := j.ask(ctx, "squeue", "--all", "--array", "--noheader", "--states=running,suspended", "--Format="+jobFormat)
	if err != nil {
		return held(", and slurmctld does not say which jobs there are: %v", err)
	}
	jobs, err := parseJobs(printed)
	if err != nil {
		return held(", and slurmctld does not say which jobs there are: %v", err)
	}
	if len(jobs.unfinished) == 0 {
		return nil
	}
	var ids []string
	for _, job := range jobs.unfinished {
		ids = append(ids, job.id)
	}
	return held(": %s; it is applied when these jobs have ended", limitList(ids))
}

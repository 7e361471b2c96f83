package inuse

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// endsAtLimits reports whether slurmctld with the settings ends running jobs beyond the limits of associations and QOS. With safe,
// which all includes, it starts only jobs that can end within the limits, and ends none. 2 is a synonym of limits.
func endsAtLimits(settings []slurmconf.Setting) bool {
	out := false
	for _, setting := range settings {
		if !strings.EqualFold(setting.Name, "AccountingStorageEnforce") {
			continue
		}
		words := strings.Split(strings.ToLower(setting.Value), ",")
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		has := func(word string) bool { return slices.Contains(words, word) }
		out = (has("limits") || has("2")) && !has("safe") && !has("all")
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

// checkEnforcement returns *configagent.HeldError if jobs run while the wanted files make slurmctld end jobs at limits, or change or
// remove the QOS of their partition while it does. slurmctld ends jobs beyond MaxTRESMins within a minute (measured:
// docs/development/slurm.md), and does not announce which.
func (j Judge) checkEnforcement(ctx context.Context, inForce, wanted configagent.Files) error {
	before, after := partition.Settings(inForce), partition.Settings(wanted)
	if !endsAtLimits(after) || !hasAssociations(before) {
		return nil
	}
	if !endsAtLimits(before) {
		return j.holdForRunning(ctx, "it makes slurmctld end jobs at limits (AccountingStorageEnforce with limits, without safe), and "+
			"slurmctld would end jobs that have used more", func(job) bool { return true })
	}
	changed := partitionsWithOtherQOS(before, after)
	if len(changed) == 0 {
		return nil
	}
	return j.holdForRunning(ctx, "it changes or removes the QOS of the partitions "+limitList(changed)+", and slurmctld would end jobs that "+
		"have used more than the limits that apply then", func(running job) bool {
		return slices.ContainsFunc(running.partitions, func(name string) bool { return slices.Contains(changed, name) })
	})
}

// partitionsWithOtherQOS returns, sorted, the partitions whose QOS changes or is removed: the QOS of a partition overrides smaller
// limits of the QOS and the association of a job. A partition that is removed or added counts if it has a QOS.
func partitionsWithOtherQOS(before, after []slurmconf.Setting) []string {
	had, has := partitionQOS(before), partitionQOS(after)
	out := map[string]bool{}
	for _, side := range []map[string]string{had, has} {
		for name := range side {
			if had[name] != has[name] {
				out[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// partitionQOS returns the QOS of partitions by name; empty for a partition without QOS.
func partitionQOS(settings []slurmconf.Setting) map[string]string {
	out := map[string]string{}
	for _, p := range slurmconf.PartitionsOf(settings) {
		out[p.Name] = strings.Trim(p.Value("QOS"), `"`)
	}
	return out
}

// holdForRunning returns *configagent.HeldError if jobs run that count, or if that is unknown. what describes the change.
func (j Judge) holdForRunning(ctx context.Context, what string, counts func(job) bool) error {
	printed, err := j.ask(ctx, "squeue", "--all", "--array", "--noheader", "--states=running,suspended", "--Format="+jobFormat)
	var jobs jobList
	if err == nil {
		jobs, err = parseJobs(printed)
	}
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say which jobs there are: %v", what, err)}
	}
	var ids []string
	for _, running := range jobs.unfinished {
		if counts(running) {
			ids = append(ids, running.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: what + ": " + limitList(ids) +
		"; it is applied when these jobs have ended"}
}

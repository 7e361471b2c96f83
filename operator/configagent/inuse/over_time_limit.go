package inuse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// overTimeLimits are how many minutes jobs may run past their time limit (OverTimeLimit).
type overTimeLimits struct {
	// general holds for partitions that are not in byPartition.
	general     uint64
	byPartition map[string]uint64
}

// readOverTimeLimits returns the OverTimeLimit of slurm.conf and of its partitions.
func readOverTimeLimits(settings []slurmconf.Setting) overTimeLimits {
	out := overTimeLimits{byPartition: map[string]uint64{}}
	for _, setting := range settings {
		if strings.EqualFold(setting.Name, "OverTimeLimit") {
			out.general = parseMinutes(setting.Value)
		}
	}
	for _, p := range slurmconf.PartitionsOf(settings) {
		if value := p.Value("OverTimeLimit"); value != "" {
			out.byPartition[p.Name] = parseMinutes(value)
		}
	}
	return out
}

// parseMinutes returns a value of OverTimeLimit. A value that cannot be read is 0.
func parseMinutes(value string) uint64 {
	minutes, _ := slurmconf.ParseNumber(value)
	return minutes
}

// limitOf returns the limit of a partition.
func (o overTimeLimits) limitOf(partition string) uint64 {
	if limit, has := o.byPartition[partition]; has {
		return limit
	}
	return o.general
}

// isLowered reports whether the limit of some partition is lower in other.
func (o overTimeLimits) isLowered(other overTimeLimits) bool {
	names := slices.Concat(slices.Collect(maps.Keys(o.byPartition)), slices.Collect(maps.Keys(other.byPartition)))
	return other.general < o.general ||
		slices.ContainsFunc(names, func(name string) bool { return other.limitOf(name) < o.limitOf(name) })
}

// timesFormat is the format of squeue that endedJobs reads.
const timesFormat = "JobArrayID:0|,Partition:0|,TimeUsed:0|,TimeLimit:0|"

// endedJobs returns the ids of the jobs in squeue's output whose overrun of their time limit exceeds the limits after, but not the
// limits before.
func endedJobs(printed string, before, after overTimeLimits) ([]string, error) {
	var out []string
	for line := range strings.Lines(printed) {
		fields, err := splitLine(line, timesFormat, 1)
		if err != nil {
			return nil, err
		}
		name, limit := fields[1], fields[3]
		if after.limitOf(name) >= before.limitOf(name) || limit == "UNLIMITED" {
			continue
		}
		used, ok := parseSeconds(fields[2])
		limitSeconds, hasLimit := parseSeconds(limit)
		if !ok || !hasLimit {
			return nil, fmt.Errorf("squeue printed %q", line)
		}
		if used > limitSeconds && (used-limitSeconds)/60 >= after.limitOf(name) {
			out = append(out, fields[0])
		}
	}
	return out, nil
}

// parseSeconds returns the seconds of a time such as 1-02:03:04 or 3:04, and reports whether the text is a time.
func parseSeconds(text string) (uint64, bool) {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	out, err := strconv.ParseUint(days, 10, 32)
	if err != nil {
		return 0, false
	}
	words := strings.Split(clock, ":")
	if len(words) == 2 { // without hours
		words = slices.Insert(words, 0, "0")
	}
	for i, word := range words {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil || len(words) != 3 {
			return 0, false
		}
		out = out*[]uint64{24, 60, 60}[i] + n
	}
	return out, true
}

// checkOverTimeLimit returns *configagent.HeldError if jobs run past their time limit for longer than the wanted files allow:
// slurmctld would end them within a minute.
func (j Judge) checkOverTimeLimit(ctx context.Context, inForce, wanted configagent.Files) error {
	before, after := readOverTimeLimits(partition.Settings(inForce)), readOverTimeLimits(partition.Settings(wanted))
	if len(inForce) == 0 || !before.isLowered(after) {
		return nil
	}
	const what = "it lowers OverTimeLimit, and slurmctld would end jobs that run past their time limit"
	printed, err := j.ask(ctx, "squeue", "--all", "--array", "--noheader", "--states=running,suspended", "--Format="+timesFormat)
	var jobs []string
	if err == nil {
		jobs, err = endedJobs(printed, before, after)
	}
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say which jobs there are: %v", what, err)}
	}
	if len(jobs) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: what + ": " + limitList(jobs) +
		"; it is applied when these jobs have ended"}
}

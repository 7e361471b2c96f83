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

// reservationOverRun returns how many minutes jobs may run past the end of their reservation (ResvOverRun), 0 by default.
func reservationOverRun(settings []slurmconf.Setting) uint64 {
	out := uint64(0)
	for _, setting := range settings {
		if strings.EqualFold(setting.Name, "ResvOverRun") {
			out = parseMinutes(setting.Value)
		}
	}
	return out
}

// checkReservationOverRun returns *configagent.HeldError if jobs run past the end of their reservation and the wanted files allow that
// for a shorter time. slurmctld would end the jobs within half a minute (measured: docs/development/slurm.md).
func (j Judge) checkReservationOverRun(ctx context.Context, inForce, wanted configagent.Files) error {
	if reservationOverRun(partition.Settings(wanted)) >= reservationOverRun(partition.Settings(inForce)) {
		return nil
	}
	const what = "it lowers ResvOverRun, and slurmctld would end jobs that run past the end of their reservation"
	jobs, err := j.jobsPastReservation(ctx)
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

// reservationFormat is the format of squeue that jobsOutside reads.
const reservationFormat = "JobArrayID:0|,Reservation:0|"

// jobsPastReservation returns the ids of the jobs that run while their reservation does not.
func (j Judge) jobsPastReservation(ctx context.Context) ([]string, error) {
	printed, err := j.ask(ctx, "squeue", "--all", "--array", "--noheader", "--states=running,suspended", "--Format="+reservationFormat)
	if err != nil {
		return nil, err
	}
	shown, err := j.ask(ctx, "scontrol", "--oneliner", "show", "reservations")
	if err != nil {
		return nil, err
	}
	return jobsOutside(printed, parseReservations(shown))
}

// jobsOutside returns the ids of the jobs in squeue's output whose reservation has ended or is unknown.
func jobsOutside(printed string, reservations []reservation) ([]string, error) {
	isActive := map[string]bool{}
	for _, r := range reservations {
		isActive[r.name] = r.isActive
	}
	var out []string
	for line := range strings.Lines(printed) {
		fields, err := splitLine(line, reservationFormat, 1)
		if err != nil {
			return nil, err
		}
		names := slurmconf.SplitList(fields[1])
		if fields[1] != "(null)" && slices.ContainsFunc(names, func(name string) bool { return !isActive[name] }) {
			out = append(out, fields[0])
		}
	}
	return out, nil
}

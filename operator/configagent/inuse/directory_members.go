package inuse

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// member is a user or a group of a reservation.
type member struct {
	// database is that of getent(1): passwd or group.
	database, name string
}

// noun returns the kind of member in words.
func (m member) noun() string {
	if m.database == "group" {
		return "group"
	}
	return "user"
}

// addMembers adds the names of a list of scontrol, such as "alice,bob". A - before a name excludes the user.
func (r *reservation) addMembers(database, list string) {
	for _, name := range slurmconf.SplitList(list) {
		r.members = append(r.members, member{database, strings.TrimPrefix(name, "-")})
	}
}

// checkMembers returns *configagent.HeldError if reservations have users or groups that the directory does not know now. slurmctld looks
// them up when it reads its configuration: 24.11 deletes such a reservation and holds the jobs that wait for it, and 26.05 keeps it
// without members until the next reconfigure (measured: docs/development/slurm.md).
func (j Judge) checkMembers(ctx context.Context) error {
	if j.FindMember == nil || !j.hasStarted() {
		return nil
	}
	shown, err := j.ask(ctx, "scontrol", "--oneliner", "show", "reservations")
	j.Silence.note(err == nil)
	switch {
	case err != nil && j.Silence.isShort():
		return &configagent.HeldError{Reason: v1beta1.ReasonUsersUnknown, Message: fmt.Sprintf("slurmctld runs and does not list its "+
			"reservations, whose users it may not find: %v", err)}
	case err != nil:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return heldForMembers(parseReservations(shown), j.findMembers(ctx, parseReservations(shown)))
}

// findMembers looks the members of reservations up, and returns those that cannot be found. One that cannot be looked up, such as without
// the program getent, counts as found.
func (j Judge) findMembers(ctx context.Context, all []reservation) map[member]bool {
	unknown, seen := map[member]bool{}, map[member]bool{}
	for _, r := range all {
		for _, m := range r.members {
			if seen[m] {
				continue
			}
			seen[m] = true
			found, err := j.FindMember(ctx, m.database, m.name)
			if err != nil {
				j.Log.Warn("it is unknown whether slurmctld finds a member of a reservation", "err", err)
			}
			unknown[m] = err == nil && !found
		}
	}
	return unknown
}

// heldForMembers returns *configagent.HeldError if a reservation has an unknown member.
func heldForMembers(all []reservation, unknown map[member]bool) error {
	var lost []string
	for _, r := range all {
		for _, m := range r.members {
			if unknown[m] {
				lost = append(lost, fmt.Sprintf("%s (%s %s)", r.name, m.noun(), m.name))
				break
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonUsersUnknown, Message: "reservations have users or groups that cannot be found now, " +
		"and slurmctld would delete these reservations or let nobody use them: " + limitList(lost) +
		"; it is applied when the directory knows them, or when these reservations have ended, or are changed or deleted"}
}

// getentNotFound is the exit status of getent(1) for a key that no source knows.
const getentNotFound = 2

// Getent returns the function that looks users and groups up with a program getent(1), which asks what slurmctld would: NSS. A source that
// does not answer knows nobody.
func Getent(program string) func(ctx context.Context, database, name string) (bool, error) {
	return func(ctx context.Context, database, name string) (bool, error) {
		err := exec.CommandContext(ctx, program, database, "--", name).Run() //nolint:gosec // see above
		var exit *exec.ExitError
		switch {
		case err == nil:
			return true, nil
		case ctx.Err() != nil, errors.As(err, &exit) && exit.ExitCode() == getentNotFound:
			return false, nil
		}
		return false, fmt.Errorf("looking %s %s up: %w", database, name, err)
	}
}

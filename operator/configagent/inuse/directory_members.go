package inuse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// member is a user or a group of a reservation.
type member struct {
	// database is the database of getent(1): passwd or group.
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

// checkMembers returns *configagent.HeldError if reservations name users or groups that the directory does not find now. slurmctld
// looks them up when it reads its configuration. 24.11 deletes such a reservation and holds the jobs that wait for it. 26.05 keeps it
// without members until the next reconfigure (measured: docs/development/slurm.md).
func (j Judge) checkMembers(ctx context.Context) error {
	if j.FindUnknown == nil || !j.hasStarted() {
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
	all := parseReservations(shown)
	unknown, err := j.findUnknown(ctx, all)
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonUsersUnknown, Message: fmt.Sprintf("the directory does not answer whether it knows "+
			"the users and groups of reservations, which slurmctld looks up: %v; it is applied when the directory answers", err)}
	}
	return heldForMembers(all, unknown)
}

// directoryTimeout limits the lookup of all members. The agent does nothing else meanwhile. SSSD caches the users that it found, so the
// next attempt asks for fewer.
const directoryTimeout = 10 * time.Second

// findUnknown looks the members of reservations up, and returns those that cannot be found. Members that cannot be looked up, such as
// without the program getent, count as found. It returns an error if the directory does not answer in time.
func (j Judge) findUnknown(ctx context.Context, all []reservation) (map[member]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	unknown := map[member]bool{}
	for _, database := range []string{"passwd", "group"} {
		names := memberNames(all, database)
		if len(names) == 0 {
			continue
		}
		missing, err := j.FindUnknown(ctx, database, names)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return nil, err
		case err != nil:
			j.Log.Warn("it is unknown whether slurmctld finds the members of reservations", "err", err)
		}
		for _, name := range missing {
			unknown[member{database, name}] = true
		}
	}
	return unknown, nil
}

// memberNames returns the different users (database passwd) or groups (group) of reservations, sorted.
func memberNames(all []reservation, database string) []string {
	var out []string
	for _, r := range all {
		for _, m := range r.members {
			if m.database == database {
				out = append(out, m.name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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

package plan

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ScheduledUpdate is the time of a scheduled update, and the flags of its reservation in the NodeSet.
type ScheduledUpdate struct {
	Start, End time.Time
	Flags      []string
}

// Reservations are the reservations of the Slurm cluster.
type Reservations struct {
	List []*slurm.Reservation
	// ReadAt is when the reading of List began, WrittenAt when the operator last wrote the
	// NodeSet's reservation, zero for never.
	ReadAt, WrittenAt time.Time
}

// ReservationChange changes the reservation of a scheduled update: Set creates or changes it, Delete is the name of a reservation
// to delete. At most one of them is set.
type ReservationChange struct {
	Set    *slurm.ReservationRequest
	Delete string
}

// planReservation decides about the reservation of a scheduled update. The reservation is created
// when workers are outdated, follows the schedule, and is deleted when nothing is left to update or
// the strategy changes. Without a fresh reading, and before a reading can show the last write,
// nothing changes. A reservation with Slurm nodes of others is not deleted: it may be theirs.
func planReservation(now time.Time, desired *Desired, observed *Observation, actions *Actions) ReservationChange {
	read := observed.Reservations
	isFrozen := desired.Frozen && !desired.Deleting // the outdated workers are unknown
	if isFrozen || !observed.Slurm.Fresh || !read.WrittenAt.IsZero() && !read.WrittenAt.Before(read.ReadAt) {
		return ReservationChange{}
	}
	name, have := findReservation(desired, &observed.Slurm, read.List)
	want := desiredReservation(now, desired, observed, name, actions.NodesToUpdate)
	switch reservationStepOf(now, have, want, isUnderWay(have, actions.Waits)) {
	case setReservation:
		if have != nil && hasBegun(now, have) { // slurmctld refuses any start for it
			want.StartTime = 0
		}
		return ReservationChange{Set: want}
	case deleteReservation:
		if !observed.Slurm.isOfOthers(have) {
			return ReservationChange{Delete: name}
		}
	}
	return ReservationChange{}
}

// isUnderWay reports whether a worker in the reservation waits to be removed.
func isUnderWay(have *slurm.Reservation, waits []Wait) bool {
	if have == nil {
		return len(waits) > 0
	}
	names, err := hostlist.Expand(have.Nodes)
	return slices.ContainsFunc(waits, func(w Wait) bool { return err != nil || slices.Contains(names, w.SlurmName) })
}

// reservationFlags returns the flags of the reservation of a scheduled update: it is for
// maintenance, and may be created although jobs run past its start. The update waits for those
// jobs.
func reservationFlags() []string { return []string{"MAINT", "IGNORE_JOBS"} }

func shortReservation(d *Desired) string { return v1beta1.ReservationPrefix + d.Name }

func longReservation(d *Desired) string {
	return v1beta1.ReservationPrefix + d.Namespace + "_" + d.Name
}

// findReservation returns the name of the reservation of the NodeSet's scheduled update, and the
// reservation if it exists. The name includes the namespace if a NodeSet of the same name in
// another namespace uses the short one.
func findReservation(desired *Desired, s *SlurmReading, list []*slurm.Reservation) (string, *slurm.Reservation) {
	short, long := shortReservation(desired), longReservation(desired)
	name, have := short, (*slurm.Reservation)(nil)
	for _, r := range list {
		switch {
		case r.Name == long:
			return long, r
		case r.Name == short && s.hasReservedNode(r):
			have = r
		case r.Name == short:
			name = long
		}
	}
	return name, have
}

// hasReservedNode reports whether a reservation contains a Slurm node of the NodeSet, or no
// readable node.
func (s *SlurmReading) hasReservedNode(r *slurm.Reservation) bool {
	names, err := hostlist.Expand(r.Nodes)
	return err != nil || len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		_, mine := s.Records[name]
		return mine
	})
}

// isOfOthers reports whether another NodeSet, or slurm.conf, owns a Slurm node in a reservation, or may own one.
func (s *SlurmReading) isOfOthers(r *slurm.Reservation) bool {
	names, err := hostlist.Expand(r.Nodes)
	return err != nil && s.hasOtherOwners() || slices.ContainsFunc(names, func(name string) bool {
		owner := s.OwnedByOthers[name]
		return owner != "" && owner != OwnerOfComment
	})
}

// desiredReservation returns the reservation that a scheduled update needs, or nil. It lasts from when workers are known to need
// an update until the end of its window. A node leaves it with its outdated worker, since a record in a reservation that has
// begun cannot be recreated with another shape.
func desiredReservation(now time.Time, desired *Desired, observed *Observation, name string,
	toUpdate []string) *slurm.ReservationRequest {
	u := desired.ScheduledUpdate
	if u == nil || desired.Deleting {
		return nil
	}
	var names []string
	for _, node := range toUpdate {
		if _, known := observed.Slurm.Records[node]; known {
			names = append(names, node)
		}
	}
	if !now.Before(u.End) || len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	start := u.Start
	if start.Before(now) { // Slurm refuses a start in the past
		start = now.Truncate(time.Second)
	}
	return &slurm.ReservationRequest{
		Name: name, StartTime: slurm.At(start), EndTime: slurm.At(u.End),
		Nodes: names, Users: []string{"root"}, Flags: append(reservationFlags(), u.Flags...),
	}
}

// reservationStep is the next change of the reservation.
type reservationStep int

const (
	leaveReservation reservationStep = iota
	setReservation
	deleteReservation
)

// reservationStepOf returns the change from the existing reservation to the wanted one; either may be nil. Slurm does not move
// the start of a reservation that has begun: it is deleted, and recreated once it is gone. A reservation whose update is still in
// progress stays.
func reservationStepOf(now time.Time, have *slurm.Reservation, want *slurm.ReservationRequest,
	underWay bool) reservationStep {
	switch {
	case have == nil && want == nil:
		return leaveReservation
	case have == nil:
		return setReservation
	case want == nil && underWay:
		return leaveReservation
	case want == nil:
		return deleteReservation
	}
	begun := hasBegun(now, have)
	switch {
	case begun && now.Before(want.StartTime.Time()):
		return deleteReservation
	case !have.EndTime.Time().Equal(want.EndTime.Time()), !hasSameNodes(have.Nodes, want.Nodes),
		!begun && !have.StartTime.Time().Equal(want.StartTime.Time()):
		return setReservation
	}
	return leaveReservation
}

func hasBegun(now time.Time, r *slurm.Reservation) bool { return !now.Before(r.StartTime.Time()) }

// hasSameNodes reports whether a host list contains exactly these names. An unreadable list does
// not.
func hasSameNodes(list string, names []string) bool {
	have, err := hostlist.Expand(list)
	if err != nil {
		return false
	}
	slices.Sort(have)
	return slices.Equal(have, slices.Sorted(slices.Values(names)))
}

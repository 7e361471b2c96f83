package nodeset

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// reservationFlags returns the flags of the reservation of a scheduled update: it is for
// maintenance, and may be created although jobs run past its start. The update waits for those
// jobs.
func reservationFlags() []string { return []string{"MAINT", "IGNORE_JOBS"} }

// findReservation returns the name of the reservation of the NodeSet's scheduled update, and the
// reservation if it exists. The name includes the namespace if a NodeSet of the same name in
// another namespace uses the short one.
func findReservation(s *observation, list []*slurm.Reservation) (string, *slurm.Reservation) {
	short := v1beta1.ReservationPrefix + s.nodeSet.Name
	long := v1beta1.ReservationPrefix + s.nodeSet.Namespace + "_" + s.nodeSet.Name
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
func (s *observation) hasReservedNode(r *slurm.Reservation) bool {
	names, err := hostlist.Expand(r.Nodes)
	return err != nil || len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		_, mine := s.slurm.Records[name]
		return mine
	})
}

// desiredReservation returns the reservation that a scheduled update needs, nil for none: from when
// workers are known to be outdated until the end of its window.
func desiredReservation(now time.Time, s *observation, name string, outdated int) *slurm.ReservationRequest {
	strategy := s.nodeSet.Spec.UpdateStrategy
	u := strategy.ScheduledUpdate
	if strategy.Type != v1beta1.UpdateScheduled || strategy.Paused || outdated == 0 || u == nil || u.StartTime == nil ||
		s.desired.Deleting {
		return nil
	}
	end := u.StartTime.Add(scheduleDuration(u))
	var names []string
	for i := range s.workers {
		if w := &s.workers[i]; w.DeletedAt.IsZero() && !w.Finished {
			if _, known := s.slurm.Records[w.SlurmName]; known {
				names = append(names, w.SlurmName)
			}
		}
	}
	if !now.Before(end) || len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	start := u.StartTime.Time
	if start.Before(now) { // Slurm refuses a start in the past
		start = now.Truncate(time.Second)
	}
	return &slurm.ReservationRequest{
		Name: name, StartTime: slurm.At(start), EndTime: slurm.At(end),
		Nodes: names, Users: []string{"root"}, Flags: append(reservationFlags(), u.Flags...),
	}
}

// reservationStep is what is to be done about the reservation.
type reservationStep int

const (
	leaveReservation reservationStep = iota
	setReservation
	deleteReservation
)

// reservationStepOf returns how to change the existing reservation, nil for none, to the wanted
// one, nil for none. Slurm does not move the start of a reservation that has begun: it is deleted,
// and created again once it is gone. A reservation whose update is still under way stays.
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
	begun := !now.Before(have.StartTime.Time())
	switch {
	case begun && now.Before(want.StartTime.Time()):
		return deleteReservation
	case !have.EndTime.Time().Equal(want.EndTime.Time()):
		return setReservation
	case begun:
		return leaveReservation
	case !have.StartTime.Time().Equal(want.StartTime.Time()) || !hasSameNodes(have.Nodes, want.Nodes):
		return setReservation
	}
	return leaveReservation
}

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

// applyReservation creates the reservation of a scheduled update, changes it with the schedule, and
// deletes it when nothing is left to update or the strategy changes. If the server does not support
// reservations, the update continues without one. A write is not repeated before a reading can show
// it.
func (r *Reconciler) applyReservation(ctx context.Context, s *observation, actions *plan.Actions) error {
	if s.slurmCluster == nil || !s.slurm.Fresh {
		return nil
	}
	read := s.slurmCluster.Reading().Snapshot.Reservations
	if !s.expectations.reservationWrittenAt.IsZero() && !s.expectations.reservationWrittenAt.Before(read.ReadAt) {
		return nil
	}
	name, have := findReservation(s, read.Value)
	want := desiredReservation(r.now(), s, name, actions.Outdated)
	var err error
	switch reservationStepOf(r.now(), have, want, len(actions.Waits) > 0) {
	case setReservation:
		err = s.slurmCluster.SetReservation(ctx, *want)
	case deleteReservation:
		err = s.slurmCluster.DeleteReservation(ctx, name)
	default:
		return nil
	}
	if slurmclient.CodeOf(err) == slurmclient.CodeUnsupported {
		log.FromContext(ctx).Info("slurmrestd cannot make reservations; the update goes on without one", "err",
			err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("reserving for the update of nodeset %s: %w", s.nodeSet.Name, err)
	}
	s.expectations.reservationWrittenAt = r.now()
	return nil
}

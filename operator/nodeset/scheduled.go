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
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// reservationFlags are those of the reservation of a scheduled update: it is for
// maintenance, and may be made although jobs run past its start. Those are waited for.
func reservationFlags() []string { return []string{"MAINT", "IGNORE_JOBS"} }

// reservationName is the name of the reservation of a NodeSet's scheduled update.
func reservationName(nodeSet string) string { return v1beta1.ReservationPrefix + nodeSet }

// reservationOf is the reservation that a scheduled update needs, nil for none: from
// when it is known that workers are outdated until its time is over.
func reservationOf(now time.Time, s *seen, outdated int) *slurm.ReservationRequest {
	strategy := s.nodeSet.Spec.UpdateStrategy
	u := strategy.ScheduledUpdate
	if strategy.Type != v1beta1.UpdateScheduled || strategy.Paused || outdated == 0 || u == nil || u.StartTime == nil || s.wish.Deleting {
		return nil
	}
	end := u.StartTime.Add(lengthOf(u))
	var names []string
	for i := range s.workers {
		if w := &s.workers[i]; w.Going.IsZero() && !w.Finished {
			if _, known := s.slurm.Records[w.SlurmName]; known {
				names = append(names, w.SlurmName)
			}
		}
	}
	if !now.Before(end) || len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &slurm.ReservationRequest{
		Name: reservationName(s.nodeSet.Name), StartTime: slurm.At(u.StartTime.Time), EndTime: slurm.At(end),
		Nodes: names, Users: []string{"root"}, Flags: append(reservationFlags(), u.Flags...),
	}
}

// reserve makes the reservation of a scheduled update, and ends it when nothing is
// left to update. Where the server cannot, the update goes on without one.
func (r *Reconciler) reserve(ctx context.Context, s *seen, todo *plan.Todo) error {
	if s.live == nil || !s.slurm.Fresh || s.nodeSet.Spec.UpdateStrategy.Type != v1beta1.UpdateScheduled {
		return nil
	}
	name := reservationName(s.nodeSet.Name)
	there := slices.ContainsFunc(s.live.Reading().Snapshot.Reservations.Value, func(r *slurm.Reservation) bool { return r.Name == name })
	want := reservationOf(r.now(), s, todo.Outdated)
	var err error
	switch {
	case want != nil && !there:
		err = s.live.SetReservation(ctx, *want)
	case want == nil && there && len(todo.Waits) == 0:
		err = s.live.DeleteReservation(ctx, name)
	}
	if slurmclient.CodeOf(err) == slurmclient.CodeUnsupported {
		log.FromContext(ctx).Info("slurmrestd cannot make reservations; the update goes on without one", "err", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("reserving for the update of nodeset %s: %w", s.nodeSet.Name, err)
	}
	return nil
}

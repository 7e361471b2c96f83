package nodeset

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// applyReservation writes or deletes the reservation of a scheduled update. If the server does not
// support reservations, the update continues without one.
func (r *Reconciler) applyReservation(ctx context.Context, s *observation, change plan.ReservationChange) error {
	var err error
	switch {
	case change.Set != nil:
		err = s.slurmCluster.SetReservation(ctx, *change.Set)
	case change.Delete != "":
		err = s.slurmCluster.DeleteReservation(ctx, change.Delete)
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
	s.expectations.ReservationWrittenAt = r.now()
	return nil
}

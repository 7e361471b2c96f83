package plan

import "github.com/slurmtide/slurmtide/operator/api/v1beta1"

// chooseReboots chooses the workers whose reboot slurmctld requested: a new pod replaces each. The disruption
// budget does not delay them, since their nodes are already out of service.
func (b *planRun) chooseReboots() {
	for _, w := range b.active {
		record, ok := b.registeredRecord(w)
		if ok && b.causes[w.Pod] == "" && record.Rebooting && !isOlderThan(record, w) {
			b.causes[w.Pod] = v1beta1.DrainCauseReboot
		}
	}
}

// isOlderThan reports whether a node went out of service before the worker was created.
func isOlderThan(r Record, w *Worker) bool { return !r.FaultAt.IsZero() && r.FaultAt.Before(w.Created) }

// returnsFromReboot reports whether the node returns to service after its reboot.
func (r Record) returnsFromReboot() bool { return r.Rebooting && r.HasFault() }

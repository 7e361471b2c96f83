package simulation

import (
	"maps"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// slurmFault is Slurm or a health check that drains the node of a worker.
func (w *simulation) slurmFault() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		if p == nil || !p.registered || n.Future || n.Drain || n.Down || n.failing || n.OurReason ||
			n.OwnerUID != w.desired.UID || !w.chance(50) {
			continue
		}
		n.Drain, n.reason, n.Fault, n.FaultAt = true, "Kill task failed", "Kill task failed", w.now
		w.logf("Slurm drains %s", name)
		return
	}
}

// checkFaultWrite checks writes to a node that Slurm drained: it returns to service only once its worker is gone.
func (w *simulation) checkFaultWrite(s plan.Step, n *simRecord) {
	p := w.pods[s.SlurmName]
	switch {
	case s.Verb == plan.Undrain, s.Verb == plan.ClearReason, s.Verb == plan.Drain && n.Drain:
		w.failf("%s of %s, which Slurm drained", s.Verb, s.SlurmName)
	case s.Verb == plan.Resume && (p == nil || !n.FaultAt.Before(p.created)):
		w.failf("%s is resumed, and its faulty worker still runs", s.SlurmName)
	}
}

// observeService marks the workers that could get jobs from Slurm.
func (w *simulation) observeService() {
	for name, n := range w.slurm {
		if _, seen := w.drainSeen[name]; n.Drain && !seen {
			w.drainSeen[name] = w.now
		}
	}
	maps.DeleteFunc(w.drainSeen, func(name string, _ time.Time) bool {
		return w.slurm[name] == nil || !w.slurm[name].Drain
	})
	for name, p := range w.pods {
		n := w.slurm[name]
		if p.registered && n != nil && n.up && !n.Future && !n.Drain && !n.Down && !n.failing {
			p.served = true
			delete(w.flaps, name)
		}
	}
}

// checkFlap limits workers that are deleted without ever serving because of a fault of an earlier one: only one in a row,
// which a scale-in may choose before the operator has seen the fault.
func (w *simulation) checkFlap(p *simPod) {
	n := w.slurm[p.name]
	if p.served || !p.registered || !p.deletedAt.IsZero() || n == nil || n.Fault == "" || !n.FaultAt.Before(p.created) {
		return
	}
	if w.flaps[p.name]++; w.flaps[p.name] > 1 {
		w.failf("worker %s was created and deleted twice without serving", p.name)
	}
}

// requestReboot plays an administrator who reboots a node, and slurmctld's request for it. Or slurmd registers meanwhile,
// which returns the node to service, and gets a job.
func (w *simulation) requestReboot() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		if p != nil && p.running && n.Rebooting && !n.Drain && w.returnToService == 2 && w.chance(50) {
			w.logf("%s registers instead of its reboot", name)
			w.registerSlurmd(p)
			if w.isOpenForJobs(name) {
				w.startJob(n, p)
			}
			return
		}
		if p == nil || !p.registered || n.Future || n.Drain || n.Down || n.failing || n.OurReason || len(n.jobs) > 0 ||
			n.OwnerUID != w.desired.UID || !w.chance(50) {
			continue
		}
		n.Down, n.Rebooting, n.reason, n.Fault, n.FaultAt = true, true, "reboot issued", "reboot: reboot issued", w.now
		w.logf("reboot of %s", name)
		return
	}
}

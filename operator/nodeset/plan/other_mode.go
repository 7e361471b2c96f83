package plan

// hasOtherMode reports whether a worker was created in the other scaling mode. It is outdated: it is
// replaced within the disruption budget.
func (b *planRun) hasOtherMode(w *Worker) bool {
	return b.desired.PerKubeNode != (w.Slot.KubeNode != "")
}

package simulation

// isToRegisterAgain reports whether the agent of a worker follows a request to register again. It waits until nothing runs:
// slurmctld ends what it does not know when a node registers.
func (w *simulation) isToRegisterAgain(p *simPod) bool {
	return !p.noAgent && p.drainMark.RegisterAgain.After(p.asked) && len(p.work) == 0 && !w.isOwnedByOther(p.name)
}

// checkRegisteredAtRest checks that Slurm knows the workers that it had lost.
func (w *simulation) checkRegisteredAtRest() {
	for name, p := range w.pods {
		if n := w.slurm[name]; w.broken == "" && p.ready && (n == nil || n.Future) {
			w.failf("at rest Slurm does not know the worker %s", name)
		}
	}
}

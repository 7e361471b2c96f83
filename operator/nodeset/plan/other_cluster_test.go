package plan

// faults are protections outside the planner that a test takes away.
type faults struct {
	// blind: the operator does not learn who set a node DOWN or FAIL.
	blind bool
	// mixes: nodes and jobs of different Slurm clusters are taken for one reading.
	mixes bool
	// carries: a run of polls that show DRAIN goes on over one of another Slurm cluster.
	carries bool
	// anyLook: the last look is believed whichever Slurm cluster answers it.
	anyLook bool
	// noLook: the last look is left out.
	noLook bool
	// takesBack: adopting a worker makes the NodeSet its owner even while that is being
	// deleted.
	takesBack bool
}

// answering is the name of the Slurm cluster that answers, as it reports it.
func (w *world) answering() string {
	switch {
	case !w.swapped:
		return "a"
	case w.desired.Joins == "b" && w.untold:
		return ""
	}
	return "b"
}

// exchange has the other Slurm cluster answer, or ours again. Nothing is read yet.
func (w *world) exchange() {
	if w.desired.Joins == "b" {
		return
	}
	w.swapped = !w.swapped
	w.exchanges++
	w.say("another Slurm cluster answers: %v", w.swapped)
}

// swap exchanges the Slurm clusters, and the operator reads both lists at once, one of
// them, or none: the last look is what meets the other cluster then.
func (w *world) swap() {
	if w.desired.Joins == "b" {
		return
	}
	w.exchange()
	w.dead = false
	both := w.chance(40)
	if both || w.chance(30) {
		w.readNodes()
	}
	if both || w.chance(30) {
		w.readJobs()
	}
}

// mixed reports that the nodes are those of one Slurm cluster and the jobs of another.
func (w *world) mixed() bool {
	a, b := w.op.cluster, w.op.jobsCluster
	return !w.faults.mixes && a != b && a != "" && b != ""
}

// beginRun notes which Slurm cluster answers a poll of the nodes. One of another cluster
// breaks the run of polls that show DRAIN.
func (w *world) beginRun() {
	from := w.answering()
	if from != w.op.cluster && !w.faults.carries {
		clear(w.op.drained)
	}
	w.op.cluster = from
}

// readOther is a poll of the other cluster's nodes, which are drained and idle.
func (w *world) readOther() {
	for i := range 5 {
		r := w.elsewhere(w.desired.SlurmName(i))
		w.op.nodes[r.Name] = r
		if _, observed := w.op.drained[r.Name]; !observed {
			w.op.drained[r.Name] = w.now
		}
	}
	w.op.total = len(w.op.nodes)
}

// elsewhere is what the other cluster has under a name.
func (w *world) elsewhere(name string) Record {
	return Record{Name: name, Dynamic: true, Owner: w.desired.UID, Drain: true, Ours: true}
}

// look is the last look.
func (w *world) look(s Step) bool {
	// Before it makes records the operator lists the nodes.
	if s.Look == LookAtNothing && s.Verb != Records || w.faults.noLook && s.Verb == Delete {
		return true
	}
	n := w.slurm[s.SlurmName]
	switch {
	case w.dead:
		return false
	case w.swapped:
		return w.lookElsewhere(s)
	case s.Verb == Records:
		return true
	case n == nil:
		return s.Look.Passes(nil)
	}
	r := w.record(n)
	return n.Owner != neighbour && s.Look.Passes(&r)
}

// lookElsewhere is a last look that the other cluster answers: the answer is an error, as
// the step expects ours.
func (w *world) lookElsewhere(s Step) bool {
	w.say("another Slurm cluster answers the look at %s%v", s.SlurmName, s.Names)
	if !w.faults.anyLook {
		return false
	}
	r := w.elsewhere(s.SlurmName)
	switch w.r.IntN(3) {
	case 0:
		return s.Verb == Records || s.Look.Passes(nil)
	case 1:
		r = Record{Name: s.SlurmName, Future: true, Dynamic: true}
	}
	return s.Verb == Records || s.Look.Passes(&r)
}

// clashes reports that what was read, or is to be, is not of the cluster that the workers
// joined.
func (w *world) clashes() bool { return w.op.cluster == "b" || w.desired.Joins == "b" }

// sayMixed logs a plan on nodes and jobs of different Slurm clusters.
func (w *world) sayMixed() {
	if a, b := w.op.cluster, w.op.jobsCluster; a != b && a != "" && b != "" {
		w.say("nodes of %s, jobs of %s", a, b)
	}
}

// repoint has the NodeSet name another Controller, of another Slurm cluster with drained
// nodes of the same names, or the right one again. What was read is forgotten.
func (w *world) repoint() {
	switch {
	case w.desired.Joins == "b":
		w.desired.Joins = "a"
	case len(w.pods) == 0:
		return // without workers it may join whatever it likes
	default:
		w.desired.Joins = "b"
	}
	w.swapped = w.desired.Joins == "b"
	w.say("the NodeSet joins %s", w.desired.Joins)
	w.forget()
	w.readPods()
	if w.chance(70) {
		w.readNodes()
		w.readJobs()
	}
}

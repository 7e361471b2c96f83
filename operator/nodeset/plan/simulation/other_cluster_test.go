package simulation

import "github.com/slurmtide/slurmtide/operator/nodeset/plan"

// faults are protections outside the planner that a test takes away.
type faults struct {
	// anyReasonIsFault: every drain of others counts as one for a fault of the worker.
	anyReasonIsFault bool
	// hideHolds hides from the operator who set a node DOWN or FAIL.
	hideHolds bool
	// mixReadings combines nodes and jobs of different Slurm clusters into one reading.
	mixReadings bool
	// keepDrainedSince continues a run of polls that show DRAIN over a poll of another Slurm cluster.
	keepDrainedSince bool
	// anyLook: the last look is believed whichever Slurm cluster answers it.
	trustAnyCluster bool
	// noLook: the last look is left out, skipNameCheck that before a worker is made or a claim is deleted.
	skipPrecondition, skipNameCheck bool
	// forgetGone: the operator does not remember that a pod has just disappeared.
	forgetGone bool
	// takesBack: adopting a worker makes the NodeSet its owner even while that is being
	// deleted.
	adoptWhileDeleting bool
	// skipReferences leaves out the last look at references to a Slurm node. skipNeeds leaves out the last look at
	// the needs of pending jobs. ignoreLastRecord hides which record is the last. forgetSurplusTime deletes surplus
	// records at once.
	skipReferences, skipNeeds, ignoreLastRecord, forgetSurplusTime bool
	// skipGRES: the operator does not write the GRES of the records that it creates.
	skipGRES bool
}

// answering returns the name that the answering Slurm cluster reports.
func (w *simulation) answering() string {
	switch {
	case !w.otherClusterAnswers:
		return "a"
	case w.desired.ClusterRef == "b" && w.clusterNameHidden:
		return ""
	}
	return "b"
}

// switchCluster makes the other Slurm cluster answer, or ours again. Nothing is read yet.
func (w *simulation) switchCluster() {
	if w.desired.ClusterRef == "b" {
		return
	}
	w.otherClusterAnswers = !w.otherClusterAnswers
	w.clusterSwitches++
	w.logf("another Slurm cluster answers: %v", w.otherClusterAnswers)
}

// switchClusterAndPoll exchanges the Slurm clusters. The operator reads both lists at once, one of them, or none:
// then its last look meets the other cluster.
func (w *simulation) switchClusterAndPoll() {
	if w.desired.ClusterRef == "b" {
		return
	}
	w.switchCluster()
	w.slurmrestdDown = false
	both := w.chance(40)
	if both || w.chance(30) {
		w.readNodes()
	}
	if both || w.chance(30) {
		w.readJobs()
	}
}

// isMixed reports that nodes and jobs come from different Slurm clusters.
func (w *simulation) isMixed() bool {
	a, b := w.operator.cluster, w.operator.jobsCluster
	return !w.faults.mixReadings && a != b && a != "" && b != ""
}

// beginPoll notes which Slurm cluster answers a poll of the nodes. One of another cluster
// breaks the run of polls that show DRAIN.
func (w *simulation) beginPoll() {
	from := w.answering()
	if from != w.operator.cluster && !w.faults.keepDrainedSince {
		clear(w.operator.drained)
	}
	w.operator.cluster = from
}

// readOtherNodes is a poll of the other cluster's nodes, which are drained and idle.
func (w *simulation) readOtherNodes() {
	for i := range 5 {
		r := w.otherClusterRecord(w.desired.SlurmName(i))
		w.operator.nodes[r.Name] = r
		if _, observed := w.operator.drained[r.Name]; !observed {
			w.operator.drained[r.Name] = w.now
		}
	}
	w.operator.total = len(w.operator.nodes)
}

// otherClusterRecord returns the other cluster's record with a name.
func (w *simulation) otherClusterRecord(name string) plan.Record {
	return plan.Record{Name: name, Dynamic: true, OwnerUID: w.desired.UID, Drain: true, OurReason: true}
}

// checkPrecondition is the last look.
func (w *simulation) checkPrecondition(s plan.Step) bool {
	// Before it makes records the operator lists the nodes.
	if s.Precondition == plan.NoPrecondition && s.Verb != plan.CreateRecords || w.faults.skipPrecondition &&
		s.Verb == plan.DeletePod || w.faults.skipNameCheck && (s.Precondition == plan.PreconditionNameFree || s.Precondition == plan.PreconditionJoinable) {
		return true
	}
	n := w.slurm[s.SlurmName]
	switch {
	case w.slurmrestdDown:
		return false
	case w.otherClusterAnswers:
		return w.checkPreconditionElsewhere(s)
	case s.Verb == plan.CreateRecords:
		return true
	case n == nil:
		return s.IsMetBy(nil)
	}
	r := w.record(n)
	if r.Dynamic && r.OwnerUID == w.desired.UID {
		shape := w.shape
		if s.Verb == plan.CreatePod {
			shape = w.shapeIn(s.Revision)
		}
		r.OtherShape, r.ExceedsShape = n.shape != shape, n.shape > shape
		r.LacksGRES = r.Future && !r.OtherShape && n.gres.unwritten && !w.faults.skipGRES
	}
	if s.Verb == plan.CreatePod {
		r.Down = r.Down || !n.up && !r.Future
	}
	return (n.OwnerUID != otherNodeSetUID || n.foreign) && s.IsMetBy(&r)
}

// checkPreconditionElsewhere is a last look that the other cluster answers: the answer is an error, as
// the step expects ours.
func (w *simulation) checkPreconditionElsewhere(s plan.Step) bool {
	w.logf("another Slurm cluster answers the look at %s%v", s.SlurmName, s.Names)
	if !w.faults.trustAnyCluster {
		return false
	}
	r := w.otherClusterRecord(s.SlurmName)
	switch w.rand.IntN(3) {
	case 0:
		return s.Verb == plan.CreateRecords || s.IsMetBy(nil)
	case 1:
		r = plan.Record{Name: s.SlurmName, Future: true, Dynamic: true}
	}
	return s.Verb == plan.CreateRecords || s.IsMetBy(&r)
}

// hasMismatch reports that the last or the next read is not from the cluster that the workers joined.
func (w *simulation) hasMismatch() bool {
	return w.operator.cluster == "b" || w.desired.ClusterRef == "b"
}

// logMixedReading logs a plan on nodes and jobs of different Slurm clusters.
func (w *simulation) logMixedReading() {
	if a, b := w.operator.cluster, w.operator.jobsCluster; a != b && a != "" && b != "" {
		w.logf("nodes of %s, jobs of %s", a, b)
	}
}

// changeClusterRef makes the NodeSet name the Controller of another Slurm cluster with drained nodes of the same
// names, or the right one again. The last reading is forgotten.
func (w *simulation) changeClusterRef() {
	switch {
	case w.desired.ClusterRef == "b":
		w.desired.ClusterRef = "a"
	case len(w.pods) == 0:
		return // without workers it may join any cluster
	default:
		w.desired.ClusterRef = "b"
	}
	w.otherClusterAnswers = w.desired.ClusterRef == "b"
	w.logf("the NodeSet joins %s", w.desired.ClusterRef)
	w.forgetSlurm()
	w.readPods()
	if w.chance(70) {
		w.readNodes()
		w.readJobs()
	}
}

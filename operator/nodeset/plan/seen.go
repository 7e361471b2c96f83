package plan

import "time"

// Slot is the place of a worker: an ordinal, or a Kubernetes node. In scaling mode
// DaemonSet the ordinal is NoOrdinal; elsewhere KubeNode is empty.
type Slot struct {
	Ordinal  int
	KubeNode string
}

// NoOrdinal is the ordinal of workers that have none.
const NoOrdinal = -1

// Wish is what a NodeSet asks for.
type Wish struct {
	// UID is the NodeSet's.
	UID string
	// Deleting: the NodeSet has a deletion timestamp, DeletingSince.
	Deleting      bool
	DeletingSince time.Time
	// Orphaning: it is deleted, and its workers and Slurm's records of them stay as they are.
	Orphaning bool
	// Cluster is Slurm's own name of the cluster that the workers joined, empty while none
	// has; Joins is the Controller or Cluster that the NodeSet names.
	Cluster, Joins string
	// PerKubeNode is scaling mode DaemonSet: one worker for each of KubeNodes.
	// Otherwise there are to be Replicas workers.
	PerKubeNode bool
	KubeNodes   []string
	Replicas    int
	// Max is the most workers there may ever be, for which Slurm keeps records; nil
	// for not known. Records reports whether their shape is known, so that they can be made.
	Max     *int
	Records bool
	// Prune: records are deleted when their Kubernetes node is gone.
	Prune bool
	// SlurmName names the Slurm node of an ordinal, SlurmNameOn that of the worker on a
	// Kubernetes node.
	SlurmName   func(ordinal int) string
	SlurmNameOn func(kubeNode string) string
	// Revision is the newest, Update how workers change to it.
	Revision string
	Update   Update
	// MinReady is how long a worker is Ready until it is available.
	MinReady time.Duration
	Policy   Policy
}

// Desired is the number of workers that there should be.
func (w *Wish) Desired() int {
	switch {
	case w.Deleting:
		return 0
	case w.PerKubeNode:
		return len(w.KubeNodes)
	}
	return w.Replicas
}

// Update says how workers change to the newest revision.
type Update struct {
	// Open: outdated workers may be replaced now. It is false when that is paused,
	// for OnDelete, and outside the time of a scheduled update.
	Open bool
	// MaxUnavailable is how many of the desired workers may be out of service.
	MaxUnavailable int
	// Partition: workers with a lower ordinal keep their revision.
	Partition int
}

// Policy says what happens to work on a worker that is to go.
type Policy struct {
	// Force deletes without regard to work. Timeout, if not zero, does the same to a
	// worker that was chosen that long ago.
	Force   bool
	Timeout time.Duration
}

// Worker is a pod of the NodeSet.
type Worker struct {
	Pod, UID  string
	Slot      Slot
	SlurmName string
	Revision  string
	Created   time.Time
	// KubeNode is where the pod is scheduled, empty before.
	KubeNode string
	// Running: its slurmd is running now, since RunningSince. Ready since ReadySince.
	Running      bool
	RunningSince time.Time
	Ready        bool
	ReadySince   time.Time
	// Finished: all of its containers have ended for good.
	Finished bool
	// Going is when it was deleted, zero for not. Until it is gone nothing is done to it.
	Going time.Time
	// Cordon is why a user or a cordoned Kubernetes node wants it drained, as Slurm's
	// drainReason; empty for neither.
	Cordon string
	// Joined is the Controller or Cluster for which it was made, empty for not known.
	Joined string
	// Bond is how it is tied to the NodeSet.
	Bond Bond
	// Cost is the pod deletion cost.
	Cost int
	// Note is what is noted on the pod.
	Note Note
}

// Note is what the operator notes on a pod. Its times have whole seconds.
type Note struct {
	// Cause is why the worker is to go, and Since when it was chosen: one of
	// v1beta1's causes, or empty.
	Cause string
	Since time.Time
	// Protect: it has or may get work, and evictions are refused. Deadline is when the time limit
	// of its last job ends, zero for none.
	Protect  bool
	Deadline time.Time
}

// Record is a Slurm node as the list of nodes has it.
type Record struct {
	Name string
	// Future: there is no slurmd, there is only the record of one to come.
	Future bool
	// Dynamic: slurmd brought it, and not slurm.conf.
	Dynamic bool
	// Busy: it has work, or a state that does not say that it has none.
	Busy bool
	// Down: DOWN at base, or not responding.
	Down bool
	// Silent: it is Down only because it does not respond, as for seconds after a
	// resume: there is nothing to be resumed.
	Silent bool
	// Drain: it takes no new jobs.
	Drain bool
	// Ours: the reason of its drain, or of its being down, was set by us.
	Ours bool
	// Held: a person or Slurm's health check set it DOWN or FAIL, for a reason of theirs.
	Held bool
	// Owner is the UID of the NodeSet in its comment, empty for none; KubeNodeGone
	// that the Kubernetes node named there is not there any more.
	Owner        string
	KubeNodeGone bool
	// OwnerName names the NodeSet in its comment for people.
	OwnerName string
	// IdleSince is when it last had work, zero for not known.
	IdleSince time.Time
}

// leftOver reports that it has a reason of ours though it is in service: Slurm leaves one
// on a node that registers again, and would keep it for a drain of its own.
func (r Record) leftOver() bool {
	return r.Ours && !r.Held && !r.Future && !r.Drain && (!r.Down || r.Silent)
}

// Foreign reports that somebody else took it out of service: drained it, or set it DOWN
// or FAIL. That is theirs to take back.
func (r Record) Foreign() bool { return r.Held || r.Drain && !r.Ours }

// Work is what the list of jobs has on a Slurm node.
type Work struct {
	Jobs int
	// LastJob ends last, at End; zero for no limit or not known.
	LastJob uint32
	End     time.Time
}

// Slurm is what was last read of the Slurm cluster.
type Slurm struct {
	// Connected: its Controller or Cluster is there.
	Connected bool
	// Known: nodes and jobs were read since the process began. Fresh: both readings
	// are young, and the last polls did not fail. Problem tells people why it is not.
	Known, Fresh bool
	Problem      string
	// Cluster is Slurm's own name of the cluster, empty for not told. Clash is why it is
	// not the NodeSet's, empty when it is; nothing else is known then. Taken are the Slurm
	// nodes that belong to other NodeSets, with the names of those.
	Cluster, Clash string
	Taken          map[string]string
	// Records are the Slurm nodes whose name is that of a worker, or may become one,
	// or whose comment names this NodeSet; Total counts all of the cluster that are
	// not FUTURE.
	Records map[string]Record
	Total   int
	// Work is by Slurm node.
	Work map[string]Work
	// DrainedSince is from when on the readings of nodes show DRAIN, by name;
	// JobsReadAt is when the last reading of jobs began. By one clock.
	DrainedSince map[string]time.Time
	JobsReadAt   time.Time
	// NodesReadAt is when the last reading of nodes began, zero for not known.
	NodesReadAt time.Time
}

// Seen is all that a plan rests on.
type Seen struct {
	Workers []Worker
	Slurm   Slurm
	// Unregistered are the times at which workers were deleted for not being registered.
	Unregistered []time.Time
}

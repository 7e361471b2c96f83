package plan

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/references"
)

// Slot is the place of a worker: an ordinal, or a Kubernetes node. In scaling mode DaemonSet the
// ordinal is NoOrdinal. Otherwise KubeNode is empty.
type Slot struct {
	Ordinal  int
	KubeNode string
}

// NoOrdinal is the ordinal of workers without one.
const NoOrdinal = -1

// Desired is the specification of a NodeSet.
type Desired struct {
	// Namespace, Name and UID identify the NodeSet.
	Namespace, Name, UID string
	// Deleting reports that the NodeSet has a deletion timestamp, DeletingSince.
	Deleting      bool
	DeletingSince time.Time
	// Orphaning reports that the NodeSet is deleted while its workers and their Slurm records stay.
	Orphaning bool
	// Frozen reports that new workers cannot be rendered until a problem with the NodeSet, or with an object that it refers to, is
	// solved.
	Frozen bool
	// HoldsWorkers reports that no worker is created for now, because another step must come first.
	HoldsWorkers bool
	// CordonKubeNodes cordons the Kubernetes nodes of workers that others drained.
	CordonKubeNodes bool
	// ClusterName is Slurm's own name of the cluster that the workers joined, empty without workers. ClusterRef is the Controller or
	// Cluster that the NodeSet names.
	ClusterName, ClusterRef string
	// RecordedCluster is the Slurm cluster name in the NodeSet's status. It is kept without workers.
	RecordedCluster string
	// PerKubeNode is scaling mode DaemonSet: one worker for each of KubeNodes. Otherwise the
	// NodeSet has Replicas workers.
	// KubeNodes are in the order of their age, the oldest first.
	PerKubeNode bool
	KubeNodes   []string
	Replicas    int
	// MaxWorkers is the largest number of workers that the NodeSet may ever have. Slurm keeps records for them. It is nil if unknown.
	// CanCreateRecords reports whether their names and shape are known.
	MaxWorkers       *int
	CanCreateRecords bool
	// PruneRecords deletes records whose Kubernetes node no longer exists.
	PruneRecords bool
	// SlurmName returns the Slurm node name of an ordinal, SlurmNameOn the name for the worker on a Kubernetes node. SlurmNameIn
	// returns the name of an ordinal in an old revision. It is nil if all revisions name their workers alike, and after KeepNames.
	SlurmName   func(ordinal int) string
	SlurmNameIn func(revision string, ordinal int) string
	SlurmNameOn func(kubeNode string) string
	// ReservedNames maps each name that no worker gets to its owner. slurm.conf gives these names to other objects, and slurmctld does
	// not start if a Slurm node has one.
	ReservedNames map[string]string
	// Revision is the newest revision, Update how workers change to it.
	Revision string
	Update   Update
	// RevisionName is the name of the object of the newest revision. RevisionHistoryLimit is the number of unused revisions to keep.
	RevisionName         string
	RevisionHistoryLimit int
	// ScheduledUpdate is when workers change, nil if that is not scheduled, or paused.
	ScheduledUpdate *ScheduledUpdate
	// MinReady is how long a worker must be Ready before it is available.
	MinReady    time.Duration
	DrainPolicy DrainPolicy
	// ClaimRetention is the policy for the claims of the workers.
	ClaimRetention ClaimRetention
}

// WorkerCount is the number of workers that should exist.
func (w *Desired) WorkerCount() int {
	switch {
	case w.Deleting:
		return 0
	case w.PerKubeNode:
		return len(w.KubeNodes)
	}
	return w.Replicas
}

// OrdinalsEnd returns the first ordinal that no worker gets, for given numbers of workers and of unusable names. Without a maximum,
// each desired worker has at most one name to spare.
func (w *Desired) OrdinalsEnd(workers, unusable int) int {
	if w.MaxWorkers != nil {
		return max(*w.MaxWorkers, w.WorkerCount())
	}
	return w.WorkerCount() + workers + min(unusable, w.WorkerCount())
}

// Update describes how workers change to the newest revision.
type Update struct {
	// Allowed reports whether outdated workers may be replaced now. It is false while updates are
	// paused, for OnDelete, and outside the window of a scheduled update.
	Allowed bool
	// MaxUnavailable is the number of desired workers that may be out of service.
	MaxUnavailable int
	// Partition: workers with a lower ordinal keep their revision.
	Partition int
}

// DrainPolicy decides about work on a worker that will be removed.
type DrainPolicy struct {
	// Force deletes the worker regardless of its work. A non-zero Timeout does the same that long
	// after the worker's drain took effect.
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
	// KubeNode is the Kubernetes node of the pod, empty before it is scheduled, which was at Scheduled, zero if that is not known.
	KubeNode  string
	Scheduled time.Time
	// PinnedTo is the only Kubernetes node where a worker with an ordinal may be scheduled. It is empty for any node, and once the
	// worker is scheduled.
	PinnedTo string
	// PinnedToMissing reports that PinnedTo no longer exists, and that a new pod would not be pinned to it.
	PinnedToMissing bool
	// Running reports that slurmd is running, since RunningSince. Ready and ReadySince come from the pod condition Ready.
	Running      bool
	RunningSince time.Time
	Ready        bool
	ReadySince   time.Time
	// NeverStarted reports that no slurmd of the pod has been started yet.
	NeverStarted bool
	// NoAgent reports that no slurm-agent runs beside slurmd, so that only a user can make slurmd register again.
	NoAgent bool
	// Registered is when a slurmd of the pod was seen registered with Slurm, or zero.
	Registered time.Time
	// Finished reports that all of its containers have ended for good.
	Finished bool
	// DeletedAt is the deletion timestamp, or zero. A pod with a timestamp is left alone.
	DeletedAt time.Time
	// ExposedTo is a Kubernetes node where the worker may be scheduled although others have the Slurm node name that it would get
	// there. It is empty without such a node.
	ExposedTo string
	// Namesake is a pod with the worker's Slurm node name that takes precedence, because it is older or its slurmd has run. It is empty
	// without such a pod.
	Namesake string
	// NamesakeHasRun reports that slurmd has run in such a pod, and may have jobs.
	NamesakeHasRun bool
	// BlocksKubeNode reports that the worker is outdated, and that newer workers avoid a Kubernetes node because its name equals this
	// worker's Slurm node name. The worker runs on another Kubernetes node.
	BlocksKubeNode bool
	// CordonReason is Slurm's drainReason if a user or a cordoned Kubernetes node wants the worker drained; otherwise empty.
	CordonReason string
	// ClusterRef is the Controller or Cluster that the pod was created for, empty if it is not
	// known.
	ClusterRef string
	// MissingOwners are the owner references that the pod lacks.
	MissingOwners MissingOwners
	// DeletionCost is the pod deletion cost.
	DeletionCost int
	// DrainMark is the operator's record on the pod.
	DrainMark DrainMark
}

// DrainMark is the operator's record on a pod. Its times have whole seconds.
type DrainMark struct {
	// Cause is the reason for the removal, one of v1beta1's causes or empty. Since is when the worker was chosen.
	Cause string
	Since time.Time
	// Drained is when its Slurm node was first seen to accept no new jobs since then, or zero.
	Drained time.Time
	// RegisterAgain is when slurmd was last asked to register again, zero for never.
	RegisterAgain time.Time
	// Protect reports that the worker has or may get work, so that its evictions are refused. Deadline is when the time limit of its
	// last job ends, or zero.
	Protect  bool
	Deadline time.Time
}

// Record is a Slurm node as the list of nodes shows it.
type Record struct {
	Name string
	// Future reports state FUTURE: no slurmd has registered yet.
	Future bool
	// Dynamic reports that the node is not from slurm.conf.
	Dynamic bool
	// Busy reports that the node has work, or a state that does not rule work out.
	Busy bool
	// Down reports base state DOWN, or NOT_RESPONDING.
	Down bool
	// NotResponding reports that the node is Down only because it does not respond, as for some seconds after a resume. It need not be
	// resumed then.
	NotResponding bool
	// Drain reports that the node accepts no new jobs.
	Drain bool
	// OurReason reports that the operator set the reason for its drain or DOWN, at OurReasonAt; that is zero if it is not known.
	OurReason   bool
	OurReasonAt time.Time
	// DownByOthers reports that a person or Slurm's health check set the node DOWN or FAIL, with another reason than ours.
	DownByOthers bool
	// Rebooting reports that slurmctld asked to reboot the node, at FaultAt. The node has no job then.
	Rebooting bool
	// Fault is the reason with which Slurm or a health check took the node out of service, set at FaultAt. Such a reason ends with the
	// worker. A reboot that returns the node to service also counts. Fault is empty for any other reason, and if the NodeSet keeps
	// these drains. FaultAt is zero if unknown.
	Fault   string
	FaultAt time.Time
	// OwnerMissing reports that the record is the NodeSet's but must be corrected: its comment lacks the owner or the shape, or its
	// features differ from the NodeSet's.
	OwnerMissing bool
	// OtherShape reports that the record was made with other resources than the NodeSet's workers have. ExceedsShape reports that it
	// has more of a resource than the workers report. Both are false while the shape of the workers is unknown.
	OtherShape, ExceedsShape bool
	// LacksGRES reports that the GRES of the FUTURE record must be written before a worker takes it over. LostGRES reports that
	// slurmctld refuses them.
	LacksGRES, LostGRES bool
	// InvalidRegistration reports that Slurm refused the slurmd of the record, which stays FUTURE, because of Refusal.
	InvalidRegistration bool
	Refusal             string
	// OwnerUID is the UID of the NodeSet in the node's comment, or empty. KubeNodeGone reports that the Kubernetes node in the comment
	// no longer exists.
	OwnerUID     string
	KubeNodeGone bool
	// KubeNode is the Kubernetes node in the node's comment.
	KubeNode string
	// Pod is the pod in the node's comment, or empty.
	Pod string
	// OwnerName is the NodeSet of the comment in readable form.
	OwnerName string
	// SlurmdStarted is when its slurmd was started, zero if it is not known.
	SlurmdStarted time.Time
	// ForeignComment reports that the operator did not write the node's comment.
	ForeignComment bool
	// IdleSince is when the node last had work, zero if it is not known.
	IdleSince time.Time
	// Partitions and Features are the node's partitions and features.
	Partitions, Features []string
}

// hasLeftoverReason reports whether the node has a reason of ours although it is in service. Slurm
// leaves the reason on a node that registers again, and would keep it for a later drain of its own.
func (r Record) hasLeftoverReason() bool {
	return r.OurReason && !r.DownByOthers && !r.Future && !r.Drain && (!r.Down || r.NotResponding)
}

// OutOfServiceByOthers reports whether others drained the node, or set it DOWN or FAIL. Only they take that back, unless HasFault.
func (r Record) OutOfServiceByOthers() bool { return r.DownByOthers || r.Drain && !r.OurReason }

// SlurmReading is the last reading of the Slurm cluster.
type SlurmReading struct {
	// Connected reports that the Controller or Cluster exists.
	Connected bool
	// Known reports that nodes and jobs were read since the process started. Fresh reports that
	// both readings are young and that the last polls succeeded. Problem explains to people why a
	// reading is not fresh.
	Known, Fresh bool
	Problem      string
	// Mixed reports that nodes and jobs come from different Slurm clusters, so that Work lacks the jobs of Records.
	Mixed bool
	// ClusterName is Slurm's own name of the cluster, empty if it does not report one.
	// ClusterMismatch explains why it is not the cluster of the NodeSet; the other fields are then
	// empty. It is empty if the cluster is the right one. OwnedByOthers are the Slurm nodes that
	// belong to other NodeSets, with the names of those NodeSets.
	ClusterName, ClusterMismatch string
	OwnedByOthers                map[string]string
	// Commented are the records left out because their comment is not from a NodeSet. Their nodes may still have drains that a cordon
	// follows.
	Commented map[string]Record
	// Owned are the records that are left out because slurm.conf or another NodeSet owns them.
	Owned map[string]Record
	// Records are the Slurm nodes that carry the name of an existing or possible worker, or whose
	// comment names this NodeSet. TotalNodes counts all nodes of the cluster that are not FUTURE.
	Records    map[string]Record
	TotalNodes int
	// Work is keyed by Slurm node.
	Work map[string]occupancy.Work
	// DrainedSince is the time since which every reading shows a node with DRAIN, by name.
	// JobsReadAt is when the last reading of jobs began. Both use the same clock.
	DrainedSince map[string]time.Time
	JobsReadAt   time.Time
	// References maps Slurm nodes to one job, reservation or partition that refers to them. ReferencesProblem is the reason why they
	// are unknown, or empty.
	References        map[string]string
	ReferencesProblem string
	// Pending are the requests of the pending jobs of each partition, known like References. NodesIn counts all nodes that Slurm lists
	// in each partition, including FUTURE nodes and nodes of others.
	Pending references.Pending
	NodesIn references.Nodes
	// NodesReadAt is when the last reading of nodes began, zero if it is not known.
	NodesReadAt time.Time
}

// Observation is everything that a plan is based on.
type Observation struct {
	Workers []Worker
	Slurm   SlurmReading
	// UnregisteredDeletions are the times at which workers were deleted because they had not
	// registered.
	UnregisteredDeletions []time.Time
	Reservations          Reservations
	// GoneSince is when the operator first missed the pods of workers, by Slurm node. A reading that began earlier does not show the
	// later state of the node.
	GoneSince map[string]time.Time
	// TakenAt is when a plan last returned taken names, or zero.
	TakenAt time.Time
	// DisplacedAt is when a plan last displaced workers, or zero.
	DisplacedAt time.Time
	// SurplusSince is the time since when records have been surplus, by name, as far as the process knows.
	SurplusSince map[string]time.Time
	// KubeNodes are the Kubernetes nodes on which workers run, and those that the operator cordoned
	// for this NodeSet.
	KubeNodes map[string]KubeNode
	// Claims are the claims of the NodeSet's workers, including workers that no longer exist.
	Claims []Claim
	// Revisions are the stored revisions of the NodeSet.
	Revisions []Revision
	// AdoptedRevisions maps revisions of another operator to the equal revision of Revisions, or the newest one, that the workers count
	// as here.
	AdoptedRevisions map[string]string
}

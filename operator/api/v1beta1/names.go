package v1beta1

// Prefixes of our labels, annotations, taints and finalizers.
const (
	Prefix           = "slinky.slurm.net/"
	ControllerPrefix = "controller.slinky.slurm.net/"
	NodeSetPrefix    = "nodeset.slinky.slurm.net/"
	LoginSetPrefix   = "loginset.slinky.slurm.net/"
	TopologyPrefix   = "topology.slinky.slurm.net/"
	FeaturesPrefix   = "features.slinky.slurm.net/"
)

// Annotations of NodeSets. Users set them, the operator reads them; all are ours.
const (
	// AnnotationWake overrides whether the operator wakes a NodeSet from zero:
	// WakeAlways or WakeNever. Absent: it wakes one that was created at zero, and
	// not one that somebody took there.
	AnnotationWake = NodeSetPrefix + "wake"
	// AnnotationZeroAfter is a Go duration. The operator may take a NodeSet whose HPA
	// has minReplicas 1 to zero when it was idle that long.
	AnnotationZeroAfter = NodeSetPrefix + "zero-after"
	// AnnotationIdleGrace is a Go duration. Nodes that are idle count as required
	// that long. The metrics adapter reads it too.
	AnnotationIdleGrace = NodeSetPrefix + "idle-grace"
	// AnnotationSlurmCluster is Slurm's own name of the cluster that the NodeSet's workers
	// joined. The operator sets and reads it, and removes it with the last worker; a user
	// removes it when the Slurm cluster got another name.
	AnnotationSlurmCluster = NodeSetPrefix + "slurm-cluster"
)

// Values of AnnotationWake.
const (
	WakeAlways = "always"
	WakeNever  = "never"
)

// MarkSlurmToken is an annotation, or a label, of Secrets: what they hold is a Slurm
// token, which may be sent to the slurmrestd of a Cluster. Its value is MarkAnyServer or,
// for the annotation, a list of values of spec.server, separated by commas, and the token
// is sent nowhere else. Users set it; operator and metrics adapter read it; it is ours.
// Secrets of Tokens need none, nor do tokens that name a Slurm user (claim sun).
const (
	MarkSlurmToken = Prefix + "slurm-token"
	MarkAnyServer  = "true"
)

// Annotations of workers' pods.
const (
	// AnnotationPodCordon "true": the worker is to be drained. Users set it; the
	// operator reads it.
	AnnotationPodCordon = NodeSetPrefix + "pod-cordon"
	// AnnotationPodDeletionCost is an int32; among equals the lower is deleted first.
	// Users set it; the operator reads it.
	AnnotationPodDeletionCost = NodeSetPrefix + "pod-deletion-cost"
	// AnnotationPodDeadline is the time (RFC 3339) when the time limit of the
	// worker's last running job ends. The operator sets it; users read it.
	AnnotationPodDeadline = NodeSetPrefix + "pod-deadline"
	// AnnotationDrainCause is why the operator drains the worker: one of the Cause
	// constants. With it the choice of workers outlives a restart. The operator sets
	// and reads it; it is ours. A worker that has AnnotationPodCordon and no cause was
	// chosen by a user.
	AnnotationDrainCause = NodeSetPrefix + "drain-cause"
	// AnnotationDrainStarted is when the operator chose the worker (RFC 3339). A drain
	// policy's timeout counts from then. The operator sets and reads it; it is ours.
	AnnotationDrainStarted = NodeSetPrefix + "drain-started"
	// AnnotationDeleteWhenScaled "true" is on claims of workers whose NodeSet's retention policy
	// is whenScaled: Delete: scale-in deletes them. Claims that were kept before are without
	// it. The operator sets and reads it; it is ours.
	AnnotationDeleteWhenScaled = NodeSetPrefix + "delete-when-scaled"
	// AnnotationSafeToEvict "false" is on workers that have or may get work: cluster-autoscaler
	// leaves their Kubernetes node. The operator sets it.
	AnnotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	// AnnotationDoNotDisrupt "true" is on workers that have or may get work: Karpenter leaves
	// their Kubernetes node. The operator sets it.
	AnnotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
)

// Values of AnnotationDrainCause.
const (
	// CauseScaleIn: there are more workers than there should be.
	CauseScaleIn = "ScaleIn"
	// CauseUpdate: the worker is of an old revision.
	CauseUpdate = "Update"
	// CauseDeletion: the NodeSet is being deleted.
	CauseDeletion = "Deletion"
)

// Annotations of Kubernetes nodes. Administrators set them; the operator reads them.
const (
	// AnnotationNodeCordonReason is the drain reason of the workers on a Kubernetes
	// node while it is cordoned (at most 256 runes).
	AnnotationNodeCordonReason = NodeSetPrefix + "node-cordon-reason"
	// AnnotationHostnameOverride is the Slurm node's name in scaling mode DaemonSet.
	AnnotationHostnameOverride = NodeSetPrefix + "hostname-override"
	// AnnotationTopology is the Slurm topology of the workers on the Kubernetes node.
	AnnotationTopology = TopologyPrefix + "spec"
	// AnnotationFeatures lists features, separated by commas; each becomes
	// FeaturePrefix + name on the workers' Slurm nodes.
	AnnotationFeatures = FeaturesPrefix + "spec"
)

// AnnotationCordonedFor is on Kubernetes nodes that the operator cordoned, for a NodeSet
// with cordonKubeNodes: "<namespace>/<nodeset>/<slurmNode>", the Slurm node whose drain
// that follows. The operator sets and reads it, and undoes no other cordon; it is ours.
const AnnotationCordonedFor = NodeSetPrefix + "cordoned-for"

// AnnotationOrdinals is on ControllerRevisions: the ordinals, such as "0-2,5", whose
// workers are of that revision as rollingUpdate.partition wants it, and come back in it
// when they are lost. The operator sets and reads it; it is ours.
const AnnotationOrdinals = NodeSetPrefix + "ordinals"

// FeaturePrefix begins the Slurm features that come from AnnotationFeatures.
const FeaturePrefix = "k8s/"

// Annotations of pod templates: hashes of what the pods are given, so that they are
// replaced when it changes. The operator sets and reads them.
const (
	AnnotationSlurmKeyHash     = Prefix + "slurm-key-hash"
	AnnotationJWTKeyHash       = Prefix + "jwt-key-hash"
	AnnotationSlurmConfigHash  = Prefix + "slurm-config-hash"
	AnnotationSlurmdbdConfHash = Prefix + "slurmdbd-conf-hash"
	AnnotationSshdConfHash     = Prefix + "sshd-conf-hash"
	AnnotationSSSDConfHash     = Prefix + "sssd-conf-hash"
	AnnotationSSHHostKeysHash  = Prefix + "ssh-host-keys-hash"
)

// Labels. The operator sets them on what it makes.
const (
	// LabelCluster is on all pods of a cluster: the name of its Controller (or
	// Cluster). Selectors of the operator and of users read it.
	LabelCluster = Prefix + "cluster"

	// LabelPodName is on workers: the pod's name. Services read it.
	LabelPodName = NodeSetPrefix + "pod-name"
	// LabelPodIndex is on workers with an ordinal: the ordinal. The operator reads it.
	LabelPodIndex = NodeSetPrefix + "pod-index"
	// LabelPodHostname is on workers: the Slurm node's name. The operator and the
	// metrics adapter read it.
	LabelPodHostname = NodeSetPrefix + "pod-hostname"
	// LabelPodProtect is "true" on workers that have or may get work. The disruption budget's
	// selector reads it.
	LabelPodProtect = NodeSetPrefix + "pod-protect"
	// LabelScalingMode is on workers: the NodeSet's scalingMode. The operator reads it.
	LabelScalingMode = NodeSetPrefix + "scaling-mode"
)

// ProtectingAnnotations keep others from deleting a worker that has or may get work.
func ProtectingAnnotations() map[string]string {
	return map[string]string{AnnotationSafeToEvict: "false", AnnotationDoNotDisrupt: "true"}
}

// Kubernetes' recommended labels. The operator sets them on all that it makes;
// selectors read them.
const (
	LabelAppName      = "app.kubernetes.io/name"
	LabelAppInstance  = "app.kubernetes.io/instance"
	LabelAppComponent = "app.kubernetes.io/component"
)

// Values of LabelAppName.
const (
	AppSlurmctld  = "slurmctld"
	AppSlurmrestd = "slurmrestd"
	AppSlurmdbd   = "slurmdbd"
	AppSlurmd     = "slurmd"
	AppLogin      = "login"
)

// TaintWorker (effect NoExecute) keeps other pods off the Kubernetes nodes of
// workers. Administrators set it; workers tolerate it.
const TaintWorker = NodeSetPrefix + "worker"

// FinalizerDrain is on NodeSets. The operator sets it, and removes it when no worker
// has work any more or the policy says not to wait. It is ours.
const FinalizerDrain = NodeSetPrefix + "drain"

// Names on Slurm's side.
const (
	// DrainReasonPrefix begins the reasons of our drains: the operator undoes those
	// and no others.
	DrainReasonPrefix = "slurm-operator: "
	// DrainForScaleIn follows the prefix where a worker is drained because there are to be
	// fewer.
	DrainForScaleIn = "scale-in"
	// ReservationPrefix begins the name of the reservation of a scheduled update.
	ReservationPrefix = "SlurmOperatorMaint-"
)

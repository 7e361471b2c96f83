package v1beta1

// Prefixes of our labels, annotations, taints and finalizers.
const (
	Prefix           = "slinky.slurm.net/"
	ControllerPrefix = "controller.slinky.slurm.net/"
	NodeSetPrefix    = "nodeset.slinky.slurm.net/"
	TopologyPrefix   = "topology.slinky.slurm.net/"
	FeaturesPrefix   = "features.slinky.slurm.net/"
)

// Annotations of NodeSets. All are slurmtide extensions. Unless a comment says otherwise, users set them
// and the operator reads them.
const (
	// AnnotationWake overrides whether the operator wakes a NodeSet from zero: WakeAlways or WakeNever. If
	// absent, the operator wakes a NodeSet that was created at zero, but not one that somebody scaled to
	// zero.
	AnnotationWake = NodeSetPrefix + "wake"
	// AnnotationZeroAfter is a Go duration. The operator sets a NodeSet whose HPA has minReplicas 1 to
	// zero when it has been idle for that long.
	AnnotationZeroAfter = NodeSetPrefix + "zero-after"
	// AnnotationScaleUp is ScaleUpImmediate for a NodeSet whose replicas the operator raises as soon as jobs need more, to what its
	// HPA would set at its next sync. If absent, the HPA does.
	AnnotationScaleUp = NodeSetPrefix + "scale-up"
	// AnnotationIdleGrace is a Go duration. Idle nodes count as required for that long. The metrics
	// adapter reads it too.
	AnnotationIdleGrace = NodeSetPrefix + "idle-grace"
	// AnnotationSlurmCluster is the ClusterName of the Slurm cluster that the workers joined. The operator
	// sets and reads it, and removes it with the last worker. Users remove it after they rename the Slurm
	// cluster.
	AnnotationSlurmCluster = NodeSetPrefix + "slurm-cluster"
)

// Values of AnnotationWake.
const (
	WakeAlways = "always"
	WakeNever  = "never"
)

// ScaleUpImmediate is the value of AnnotationScaleUp.
const ScaleUpImmediate = "immediate"

// AnnotationSlurmToken is an annotation, or a label, that marks the content of a Secret as a Slurm token,
// which may be sent to the slurmrestd of a Cluster. Its value is SlurmTokenAnyServer or, in the
// annotation, a comma-separated list of values of spec.server; the token is sent nowhere else. Users set
// it; the operator and the metrics adapter read it. Without it the Secret of a Token is sent only to Services of its namespace,
// and another token that names a Slurm user (claim sun) to the server of any Cluster in the namespace.
// The operator copies the annotation of a Token to its Secret. It is a slurmtide extension.
const (
	AnnotationSlurmToken = Prefix + "slurm-token"
	SlurmTokenAnyServer  = "true"
)

// Annotations of workers' pods.
const (
	// AnnotationPodCordon "true" requests that the worker be drained. Users and the operator set it; the
	// operator reads it.
	AnnotationPodCordon = NodeSetPrefix + "pod-cordon"
	// AnnotationPodDeletionCost is an int32. Among otherwise equal workers, the one with the lower cost is
	// deleted first. Users set it; the operator reads it.
	AnnotationPodDeletionCost = NodeSetPrefix + "pod-deletion-cost"
	// AnnotationPodDeadline is when the time limit of the worker's last running job ends (RFC 3339). The
	// operator sets it; users read it.
	AnnotationPodDeadline = NodeSetPrefix + "pod-deadline"
	// AnnotationDrainCause says why the operator drains the worker: one of the DrainCause constants. It
	// keeps the choice of workers across restarts. The operator sets and reads it. A worker that has
	// AnnotationPodCordon but no cause was chosen by a user. It is a slurmtide extension.
	AnnotationDrainCause = NodeSetPrefix + "drain-cause"
	// AnnotationDrainStarted is when the operator chose the worker (RFC 3339). The operator sets and reads
	// it. It is a slurmtide extension.
	AnnotationDrainStarted = NodeSetPrefix + "drain-started"
	// AnnotationDrained is when the operator first saw that the worker, which it had chosen, accepts no new
	// jobs (RFC 3339). The timeout of the drain policy starts then. The operator sets and reads it. It is a
	// slurmtide extension.
	AnnotationDrained = NodeSetPrefix + "drained"
	// AnnotationRegisterAgain is when the operator last asked the worker's slurmd to register with Slurm again
	// (RFC 3339). The operator sets and reads it. The agent beside slurmd reads it through a volume, and a
	// change makes it send SIGHUP to slurmd. It is a slurmtide extension.
	AnnotationRegisterAgain = NodeSetPrefix + "register-again"
	// AnnotationDeleteWhenScaled "true" is on PersistentVolumeClaims that scale-in deletes, because the
	// NodeSet's retention policy is whenScaled: Delete. Claims that were retained earlier do not have it.
	// The operator sets and reads it. It is a slurmtide extension.
	AnnotationDeleteWhenScaled = NodeSetPrefix + "delete-when-scaled"
	// AnnotationSafeToEvict "false" is on workers that run jobs or may get some. cluster-autoscaler does not
	// remove their Kubernetes node. The operator sets it.
	AnnotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	// AnnotationDoNotDisrupt "true" is on workers that run jobs or may get some. Karpenter does not disrupt
	// their Kubernetes node. The operator sets it.
	AnnotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
)

// Values of AnnotationDrainCause.
const (
	// DrainCauseScaleIn says that there are more workers than desired.
	DrainCauseScaleIn = "ScaleIn"
	// DrainCauseUpdate says that the worker has an old revision.
	DrainCauseUpdate = "Update"
	// DrainCauseDeletion says that the NodeSet is being deleted.
	DrainCauseDeletion = "Deletion"
	// DrainCauseReboot is the cause of a worker whose reboot slurmctld asked for (scontrol reboot).
	DrainCauseReboot = "Reboot"
)

// Annotations of Kubernetes nodes. Administrators set them; the operator reads them.
const (
	// AnnotationNodeCordonReason is the Slurm reason with which the workers on a cordoned Kubernetes node
	// are drained (at most 256 runes).
	AnnotationNodeCordonReason = NodeSetPrefix + "node-cordon-reason"
	// AnnotationHostnameOverride is the name of the Slurm node in scaling mode DaemonSet.
	AnnotationHostnameOverride = NodeSetPrefix + "hostname-override"
	// AnnotationTopology is the Slurm topology of the workers on the Kubernetes node.
	AnnotationTopology = TopologyPrefix + "spec"
	// AnnotationFeatures is a comma-separated list of features. Each becomes the feature FeaturePrefix +
	// name of the workers' Slurm nodes.
	AnnotationFeatures = FeaturesPrefix + "spec"
)

// AnnotationCordonedFor is on Kubernetes nodes that the operator cordoned for a NodeSet with
// cordonKubeNodes. Its value, "<namespace>/<nodeset>/<slurmNode>", names the drained Slurm node. The
// operator sets and reads it, and removes only cordons that have it. It is a slurmtide extension.
const AnnotationCordonedFor = NodeSetPrefix + "cordoned-for"

// AnnotationOrdinals is on ControllerRevisions. It lists the ordinals, such as "0-2,5", that
// rollingUpdate.partition keeps at that revision: a lost worker is created again with it. The operator sets
// and reads it. It is a slurmtide extension.
const AnnotationOrdinals = NodeSetPrefix + "ordinals"

// AnnotationAdoptedRevisions is on ControllerRevisions. It lists revisions, separated by commas, of workers that another
// operator made and that count as of this revision, since the NodeSet was taken over with it. The operator sets and reads
// it. It is a slurmtide extension.
const AnnotationAdoptedRevisions = NodeSetPrefix + "adopted-revisions"

// FeaturePrefix is the prefix of the Slurm features that come from AnnotationFeatures.
const FeaturePrefix = "k8s/"

// AnnotationSlurmKeyHash is an annotation of pod templates: the hash of the key that the pods use, so that
// pods are replaced when it changes. The operator sets and reads it.
const AnnotationSlurmKeyHash = Prefix + "slurm-key-hash"

// AnnotationSlurmConfigHash is an annotation of slurmctld's pods: the revision of the configuration that
// the operator has written. The operator sets it.
const AnnotationSlurmConfigHash = Prefix + "slurm-config-hash"

// AnnotationSSHDConfHash is an annotation of login pods: the hash of their files, such as sshd_config, so that
// pods are replaced when one changes. The operator sets it.
const AnnotationSSHDConfHash = Prefix + "sshd-conf-hash"

// AnnotationNSSwitch is an annotation of pods of slurmctld and slurmrestd that know the users of a directory: their
// nsswitch.conf. The operator sets it, and the pods mount it. It is a slurmtide extension.
const AnnotationNSSwitch = Prefix + "nsswitch-conf"

// AnnotationSyncRequested is an annotation of pods with slurm-agent: when the operator last asked the kubelet to
// update the pod's volumes (RFC 3339), which it does at once when a pod changes. The operator sets it. It is a
// slurmtide extension.
const AnnotationSyncRequested = Prefix + "sync-requested"

// AnnotationTakeOver is on objects of every kind that another operator has worked on, such as Slinky's. Its value is a
// time (RFC 3339): what the other operator wrote up to then does not keep this one from working on the object. A time that
// is ahead does not count. Users set it after they have removed the other operator; the operator reads it. It is a
// slurmtide extension.
const AnnotationTakeOver = Prefix + "take-over"

// AnnotationForceRevision is on Controllers. Its value is a revision of the configuration that ConfigApplied reports as held,
// because unfinished jobs use what it removes: slurmctld gets it nevertheless, which ends these jobs. It has no effect on
// other revisions. Users set it; the operator reads it. It is a slurmtide extension.
const AnnotationForceRevision = Prefix + "force-revision"

// AnnotationRotateKeys is on Controllers. Each new value, such as a date, asks for new keys of the cluster. Users set
// it, also by `kubectl slurm rotate`; the operator reads it. It is a slurmtide extension.
const AnnotationRotateKeys = Prefix + "rotate-keys"

// AnnotationRotateJWTKeys is AnnotationRotateKeys for the key of auth/jwt, with which tokens are signed.
const AnnotationRotateJWTKeys = Prefix + "rotate-jwt-keys"

// AnnotationOutsideKeys is on Controllers. It confirms that all hosts outside of the operator's control have the key set of a
// step of a rotation. Its value is in the message of the condition KeysRotated: the id of the new key with "/added" or
// "/default". Users set it; the operator reads it. It is a slurmtide extension.
const AnnotationOutsideKeys = Prefix + "outside-keys"

// AnnotationRotatedFor is on the Secrets with keys of a rotation: for which Controllers, and which values of their
// AnnotationRotateKeys or AnnotationRotateJWTKeys, keys were made, as a JSON object. The operator sets and reads it. It is a slurmtide extension.
const AnnotationRotatedFor = Prefix + "rotated-for"

// AnnotationImageReleases is on Controllers, Accountings, RestApis, LoginSets and NodeSets. It says of images which release of
// Slurm they have, such as "example.com/slurmctld:site=26.05", separated by commas. The operator does not look these
// up. Users set it, for images in which a lookup cannot run; the operator reads it. It is a slurmtide extension.
const AnnotationImageReleases = Prefix + "image-releases"

// AnnotationRestoredState is on Controllers and Accountings. It says that a copy which an older release has stored, such
// as "24.11", was put in the place of the daemon's state, so that an image of that release is no downgrade. It counts while the
// daemon has no pods, and a value is good for one change of the image; it may go on after the release, as in "24.11 of Monday".
// Users set it, and remove it when the daemon runs. It is a slurmtide extension.
const AnnotationRestoredState = Prefix + "restored-state"

// AnnotationRemoveAccounts is on Accountings. It lists, separated by commas, large removals of accounts and users that
// spec.accounts.prune would make, by the names in the message of AccountsApplied, such as "120-3fa9c1d2". Each is the number
// of accounts and users and a hash of their names, so that it confirms no other removal. Users set it; the operator reads
// it. It is a slurmtide extension.
const AnnotationRemoveAccounts = Prefix + "remove-accounts"

// AnnotationStateMoved is on Controllers and Accountings. It says where somebody has moved the daemon's state: of a
// Controller, the claim ("emptyDir" for none, "CLAIM/FOLDER" for a folder), of an Accounting, the database
// ("HOST:PORT/NAME"). A daemon that runs is given another place only if it is this one. The UID of a Controller's claim, or "empty"
// for a volume that is no claim, confirms that slurmctld starts without the state that is missing there. Users set it; the operator
// reads it. It is a slurmtide extension.
const AnnotationStateMoved = Prefix + "state-moved"

// Annotations of the claim with slurmctld's state. The operator sets and reads them. They are slurmtide extensions.
const (
	// AnnotationStateOf is the name of the Controller.
	AnnotationStateOf = ControllerPrefix + "state-of"
	// AnnotationStateClusterName is the ClusterName in the state.
	AnnotationStateClusterName = ControllerPrefix + "cluster-name"
)

// AnnotationGenerateKeys is on Controllers and Accountings. It lists, separated by commas, for which references the operator is to
// generate the Secret if there is none when slurmctld or slurmdbd is first started: GenerateSlurmKey and GenerateJWTKey of Controllers,
// GenerateStoragePassword of Accountings. The operator never changes such a Secret, and it outlives the object. A Secret with other
// keys is not generated. Users and the chart slurm set the annotation; the operator reads it. It is a slurmtide extension.
const AnnotationGenerateKeys = Prefix + "generate-keys"

// Parts of the value of AnnotationGenerateKeys.
const (
	// GenerateSlurmKey stands for spec.slurmKeyRef.
	GenerateSlurmKey = "slurmKeyRef"
	// GenerateJWTKey stands for spec.jwtKeyRef, or spec.jwtHs256KeyRef without it.
	GenerateJWTKey = "jwtKeyRef"
	// GenerateStoragePassword stands for spec.storageConfig.passwordKeyRef.
	GenerateStoragePassword = "storageConfig.passwordKeyRef"
)

// AnnotationAppliedHash is on the objects that the operator applies: the hash of what it applied, by
// which it notices that a field is no longer wanted. The operator sets and reads it. It is a slurmtide
// extension.
const AnnotationAppliedHash = Prefix + "applied-hash"

// Labels that the operator sets on the objects that it creates.
const (
	// LabelMonitored "true" is on the Service of a Controller that has a ServiceMonitor. The operator sets and reads it.
	// It is a slurmtide extension.
	LabelMonitored = Prefix + "monitored"
	// LabelCluster is the name of the Controller or Cluster. It is on all pods of a cluster. The operator
	// and users select pods by it.
	LabelCluster = Prefix + "cluster"

	// LabelPodName is the pod's name. It is on workers. Services select pods by it.
	LabelPodName = NodeSetPrefix + "pod-name"
	// LabelPodIndex is the ordinal. It is on workers that have one. The operator reads it.
	LabelPodIndex = NodeSetPrefix + "pod-index"
	// LabelPodHostname is the name of the Slurm node. It is on workers. The operator and the metrics
	// adapter read it.
	LabelPodHostname = NodeSetPrefix + "pod-hostname"
	// LabelPodProtect is "true" on workers that run jobs or may get some. The PodDisruptionBudget selects
	// pods by it.
	LabelPodProtect = NodeSetPrefix + "pod-protect"
	// LabelScalingMode is the NodeSet's scalingMode. It is on workers. The operator reads it.
	LabelScalingMode = NodeSetPrefix + "scaling-mode"
)

// ProtectingAnnotations returns the annotations that keep node autoscalers from removing a worker that runs
// jobs or may get some.
func ProtectingAnnotations() map[string]string {
	return map[string]string{AnnotationSafeToEvict: "false", AnnotationDoNotDisrupt: "true"}
}

// Kubernetes' recommended labels. The operator sets them on every object that it creates, and selectors use
// them.
const (
	LabelAppName      = "app.kubernetes.io/name"
	LabelAppInstance  = "app.kubernetes.io/instance"
	LabelAppComponent = "app.kubernetes.io/component"
)

// Values of LabelAppName.
const (
	AppSlurmctld  = "slurmctld"
	AppSlurmd     = "slurmd"
	AppSlurmrestd = "slurmrestd"
	AppSlurmdbd   = "slurmdbd"
	AppLogin      = "login"
	// AppReleaseLookup is on pods that look up the release of Slurm in an image.
	AppReleaseLookup = "slurm-release"
)

// TaintWorker (effect NoExecute) keeps other pods off the Kubernetes nodes of workers. Administrators set
// it; workers tolerate it.
const TaintWorker = NodeSetPrefix + "worker"

// NamespaceLeaseName is the name of the Lease in each namespace in which an operator works. Its holder is the operator.
const NamespaceLeaseName = "slurm-operator-namespace"

// FinalizerDrain is on NodeSets. The operator sets it, and removes it when no worker has jobs any more or
// when the drain policy permits not to wait. It is a slurmtide extension.
const FinalizerDrain = NodeSetPrefix + "drain"

// FinalizerSlurmctld is on Controllers whose slurmctld the operator runs. The operator sets it, and removes it
// when no NodeSet of the Controller has a worker any more. It is a slurmtide extension.
const FinalizerSlurmctld = ControllerPrefix + "slurmctld"

// Names and reasons in Slurm.
const (
	// DrainReasonPrefix is the prefix of the operator's drain reasons. The operator undrains only nodes
	// with this prefix.
	DrainReasonPrefix = "slurm-operator: "
	// DrainReasonScaleIn follows the prefix when the operator drains a worker to scale in.
	DrainReasonScaleIn = "scale-in"
	// ReservationPrefix is the prefix of the reservation name of a scheduled update.
	ReservationPrefix = "SlurmOperatorMaint-"
)

// ScaleInReasons returns the drain reasons of workers that scale-in removes, with * for any text: that of the operator,
// and those of Slinky's slurm-operator, beside which the metrics adapter can run.
func ScaleInReasons() []string {
	return []string{
		DrainReasonPrefix + DrainReasonScaleIn,
		DrainReasonPrefix + "Pod * is pending termination for scale-in",
		DrainReasonPrefix + "Pod * was cordoned pending termination", // of older releases
	}
}

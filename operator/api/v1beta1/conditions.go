package v1beta1

import corev1 "k8s.io/api/core/v1"

// Condition types of several kinds.
const (
	// ConditionReady is on every kind. True: the desired state is reached and works. False: it is not,
	// and the reason says why. Unknown: Slurm, or a part of it, could not be read.
	ConditionReady = "Ready"

	// ConditionWakeUp is on NodeSets that a HorizontalPodAutoscaler scales. It reports what the operator
	// does about a NodeSet at zero replicas that its HPA does not wake. True: the operator set
	// spec.replicas to the required number. False: it did not, and the reason says why. Unknown: the
	// operator does not know whether it should.
	ConditionWakeUp = "WakeUp"
)

// Reasons of the condition Ready.
const (
	// ReasonAvailable (True): the desired state is reached.
	ReasonAvailable = "Available"
	// ReasonProgressing (False): the operator is working towards the desired state, without errors.
	ReasonProgressing = "Progressing"
	// ReasonInvalidSpec (False): the spec is invalid and must be changed.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonReferenceNotFound (False): an object or key to which the spec refers does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonWaitingForConfig (False): slurmctld does not know the GRES of the workers yet. New ones wait for its configuration.
	ReasonWaitingForConfig = "WaitingForConfig"
	// ReasonInvalidCertificate (False): the certificate that the spec names does not fit, has ended or cannot be
	// read.
	ReasonInvalidCertificate = "InvalidCertificate"
	// ReasonUnauthorized (False): slurmrestd rejects the token.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden (False): the operator lacks permission to read or write a required Secret.
	ReasonForbidden = "Forbidden"
	// ReasonTokenNotSendable (False): the Secret is not marked as a token for this server, so the operator
	// does not send it.
	ReasonTokenNotSendable = "TokenNotSendable"
	// ReasonUnreachable (False): slurmrestd does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonIncompatible (False): slurmrestd and the operator have no API version in common.
	ReasonIncompatible = "Incompatible"
	// ReasonOtherSlurmCluster (False): the answering Slurm cluster is not the one that the workers joined.
	// The operator changes nothing.
	ReasonOtherSlurmCluster = "OtherSlurmCluster"
	// ReasonSlurmNodesTaken (False): Slurm nodes with the names of the NodeSet's workers belong to another
	// NodeSet. The operator does not change them.
	ReasonSlurmNodesTaken = "SlurmNodesTaken"
	// ReasonNameTaken (False): the NodeSet is not in slurm.conf, because something else has its name. Of ConfigApplied: the
	// configuration gives the name of a Slurm node to a node set.
	ReasonNameTaken = "NameTaken"
	// ReasonObjectTaken (False): an object that the operator would make exists already, and belongs to
	// somebody else.
	ReasonObjectTaken = "ObjectTaken"
	// ReasonStateElsewhere (False): slurmctld's state is in another claim than the operator would use, which starts no
	// slurmctld without it.
	ReasonStateElsewhere = "StateElsewhere"
	// ReasonHeldByAnotherOperator (False): another operator works on the object, so this one changes nothing but the
	// condition. AnnotationTakeOver ends that.
	ReasonHeldByAnotherOperator = "HeldByAnotherOperator"
	// ReasonTakingOver (Unknown): another operator worked on the object. This one waits whether it does so again before
	// it changes anything.
	ReasonTakingOver = "TakingOver"
	// ReasonWaitingForNodeSets (False): the object is being deleted, and the workers of NodeSets need it still.
	ReasonWaitingForNodeSets = "WaitingForNodeSets"
	// ReasonExternal (Unknown): the daemon runs outside of the operator's control.
	ReasonExternal = "External"
	// ReasonNotObserved (Unknown): there is no complete reading yet, or it is too old.
	ReasonNotObserved = "NotObserved"
)

// Reasons of the condition WakeUp.
const (
	// ReasonWoken (True): the NodeSet was asleep at zero and had demand. The operator set its replicas,
	// and the HPA continues from there.
	ReasonWoken = "Woken"
	// ReasonScaledUp (True): jobs needed more workers, and the operator set the replicas that the HPA would have set at its next
	// sync (AnnotationScaleUp).
	ReasonScaledUp = "ScaledUp"
	// ReasonNotNeeded (False): the NodeSet has replicas, has no demand, or has an HPA that wakes it.
	ReasonNotNeeded = "NotNeeded"
	// ReasonPaused (False): somebody set the NodeSet to zero through the scale subresource to keep it
	// there. AnnotationWake "always" overrides this.
	ReasonPaused = "Paused"
	// ReasonNeverWake (False): AnnotationWake is "never".
	ReasonNeverWake = "NeverWake"
	// ReasonNoAutoscaler (False): no HPA scales the NodeSet, so only users change its replicas. It is Unknown
	// while the operator assumes that a deleted HPA scaled the NodeSet to zero: with a new HPA, the NodeSet wakes.
	ReasonNoAutoscaler = "NoAutoscaler"
	// ReasonTakenToZero (False): the NodeSet was idle for AnnotationZeroAfter, and the operator set it to
	// zero.
	ReasonTakenToZero = "TakenToZero"
	// ReasonBeginsAtZero (False): the NodeSet is new, and its HPA allows no replicas: the operator set it to zero before it had a worker.
	ReasonBeginsAtZero = "BeginsAtZero"
	// ReasonDemandUnknown (Unknown): there is no recent value of the demand.
	ReasonDemandUnknown = "DemandUnknown"
	// ReasonInvalidAnnotation (Unknown): an annotation is invalid. The operator does nothing until it is
	// corrected.
	ReasonInvalidAnnotation = "InvalidAnnotation"
)

// PodConditionPrefix is the prefix of the pod conditions that show a worker's Slurm state. The state or
// flag follows it. The operator sets a condition to True, with Slurm's reason as message, and removes it
// when the state ends. Users read the conditions.
const PodConditionPrefix = "SlurmNodeState"

// The pod conditions of Slurm's base states. A worker has one of them.
const (
	PodConditionAllocated corev1.PodConditionType = PodConditionPrefix + "Allocated"
	PodConditionDown      corev1.PodConditionType = PodConditionPrefix + "Down"
	PodConditionError     corev1.PodConditionType = PodConditionPrefix + "Error"
	PodConditionFuture    corev1.PodConditionType = PodConditionPrefix + "Future"
	PodConditionIdle      corev1.PodConditionType = PodConditionPrefix + "Idle"
	PodConditionMixed     corev1.PodConditionType = PodConditionPrefix + "Mixed"
	PodConditionUnknown   corev1.PodConditionType = PodConditionPrefix + "Unknown"
)

// The pod conditions of Slurm's state flags. A worker can have several of them.
const (
	PodConditionCompleting    corev1.PodConditionType = PodConditionPrefix + "Completing"
	PodConditionDrain         corev1.PodConditionType = PodConditionPrefix + "Drain"
	PodConditionFail          corev1.PodConditionType = PodConditionPrefix + "Fail"
	PodConditionInvalid       corev1.PodConditionType = PodConditionPrefix + "Invalid"
	PodConditionInvalidReg    corev1.PodConditionType = PodConditionPrefix + "InvalidReg"
	PodConditionMaintenance   corev1.PodConditionType = PodConditionPrefix + "Maintenance"
	PodConditionNotResponding corev1.PodConditionType = PodConditionPrefix + "NotResponding"
	PodConditionUndrain       corev1.PodConditionType = PodConditionPrefix + "Undrain"
)

// Condition types of NodeSets.
const (
	// ConditionDraining is True while workers wait to be deleted. Its message names the job for which
	// they wait, and its end.
	ConditionDraining = "Draining"
	// ConditionUpdated is True when every worker has the newest revision.
	ConditionUpdated = "Updated"
	// ConditionSubmittable is True when Slurm accepts jobs for workers that do not exist yet, up to the
	// maximum.
	ConditionSubmittable = "Submittable"
)

// ConditionFieldsIgnored is True, with ReasonNotFollowed, while fields are set that the operator ignores
// or supports only in part. Its message names them. It can be on every kind.
const (
	ConditionFieldsIgnored = "FieldsIgnored"
	ReasonNotFollowed      = "NotFollowed"
)

// ConditionKeysRotated is on Controllers whose keys somebody has asked to replace (AnnotationRotateKeys). True: all
// daemons have the new key alone. False: they are being given it, and the reason says how far that is.
const ConditionKeysRotated = "KeysRotated"

// ConditionJWTKeysRotated is on Controllers whose key of auth/jwt somebody has asked to replace (AnnotationRotateJWTKeys). True:
// slurmctld and slurmdbd accept the tokens of the new key alone. False: the reason says how far that is.
const ConditionJWTKeysRotated = "JWTKeysRotated"

// Reasons of the conditions KeysRotated and JWTKeysRotated, beside those that Ready has, in the order in which they come.
const (
	// ReasonWaitingForDaemons (False): a rotation begins when all daemons are known to have the present key.
	ReasonWaitingForDaemons = "WaitingForDaemons"
	// ReasonDistributingKey (False): daemons learn the new key, with which nobody signs yet.
	ReasonDistributingKey = "DistributingKey"
	// ReasonWaitingForHostsOutside (False): hosts outside of the operator's control may not have the key set of the step
	// before. AnnotationOutsideKeys confirms that they do. It is of KeysRotated, before and after ReasonSwitchingKey.
	ReasonWaitingForHostsOutside = "WaitingForHostsOutside"
	// ReasonReplacingTokens (False): tokens are signed with another key, and those who use them are given time to notice. It
	// is a step of JWTKeysRotated, before and after ReasonSwitchingKey.
	ReasonReplacingTokens = "ReplacingTokens"
	// ReasonSwitchingKey (False): daemons begin to use the new key.
	ReasonSwitchingKey = "SwitchingKey"
	// ReasonRetiringKey (False): daemons forget the old key.
	ReasonRetiringKey = "RetiringKey"
	// ReasonRotated (True): all daemons have the new key alone.
	ReasonRotated = "Rotated"
	// ReasonKeySetMissing (False): the Secret with the key set of auth/slurm is gone, which daemons have. It is of KeysRotated.
	ReasonKeySetMissing = "KeySetMissing"
	// ReasonSecretImmutable (False): the Secret with the keys of a rotation is immutable, so that the operator cannot write the
	// next ones.
	ReasonSecretImmutable = "SecretImmutable"
)

// ConditionConfigApplied is on Controllers. True: slurmctld has the configuration that the Controller
// asks for. False: it has an earlier one, and the reason says why. It is a slurmtide extension.
const ConditionConfigApplied = "ConfigApplied"

// Reasons of the condition ConfigApplied.
const (
	// ReasonApplied (True): the configuration is in force.
	ReasonApplied = "Applied"
	// ReasonApplying (False): the configuration is being checked or applied.
	ReasonApplying = "Applying"
	// ReasonRefused (False): slurmctld would not start with the configuration. The message has its words.
	ReasonRefused = "Refused"
	// ReasonPartitionInUse (False): the configuration removes partitions of unfinished jobs. It is applied when they have
	// ended, or with AnnotationForceRevision.
	ReasonPartitionInUse = "PartitionInUse"
	// ReasonNodeInUse (False): the configuration removes, reshapes or sets DOWN nodes that unfinished jobs have or require,
	// leaves too little room for dynamic ones, or changes an option with which slurmd may end. It is applied when they have ended,
	// or with AnnotationForceRevision.
	ReasonNodeInUse = "NodeInUse"
	// ReasonGresInUse (False): the configuration removes GresTypes that unfinished jobs have or ask for, or names files of
	// GRES that nodes with jobs may lack. It is applied when they have ended, or with AnnotationForceRevision.
	ReasonGresInUse = "GresInUse"
	// ReasonReservationInUse (False): the configuration removes partitions, static nodes or licenses of reservations. It is applied
	// when these have ended, or with AnnotationForceRevision.
	ReasonReservationInUse = "ReservationInUse"
	// ReasonSlurmdbdDown (False): the configuration has TRES that slurmdbd must make, or turns accounting on, and slurmdbd does not
	// answer: slurmctld would end whenever it starts. It is applied when slurmdbd answers.
	ReasonSlurmdbdDown = "SlurmdbdDown"
	// ReasonUsersUnknown (False): the Controller has a directory of users (spec.sssdConfRef) that does not know users or groups of
	// reservations now, or does not answer: slurmctld would delete these reservations, or let nobody use them. It is applied when they
	// are found, or with AnnotationForceRevision.
	ReasonUsersUnknown = "UsersUnknown"
	// ReasonTooManyJobs (False): the configuration lets slurmctld remember fewer jobs than there are, and slurmctld would
	// forget all. It is applied when there are fewer, or with AnnotationForceRevision.
	ReasonTooManyJobs = "TooManyJobs"
	// ReasonRetrying (False): the configuration could not be checked, or slurmctld did not come back with it and was given
	// the one before again, or does not hand it out. It is tried again, more and more seldom. The message says why.
	ReasonRetrying = "Retrying"
)

// ConditionAccountsApplied is on Accountings with spec.accounts. True: the database has what the files say. False: it
// has not, and the reason says why. Unknown: slurmdbd or the agent beside it does not answer (WaitingForSlurmdbd). Its
// other reasons are those of ConfigApplied and this one. It is a slurmtide extension.
const ConditionAccountsApplied = "AccountsApplied"

// ReasonDryRun (False) is of the condition AccountsApplied: the mode is DryRun, and the message says what would change.
const ReasonDryRun = "DryRun"

// ReasonDatabaseShared (False) is of the condition AccountsApplied: an older Accounting applies its accounts to the same
// database.
const ReasonDatabaseShared = "DatabaseShared"

// ConditionNodeSetsIncluded is on Controllers with NodeSets that slurm.conf leaves out, because slurmctld would not start
// with their names. False: the message has their names and the reasons. It is a slurmtide extension.
const ConditionNodeSetsIncluded = "NodeSetsIncluded"

// ConditionReleaseAllowed is on Controllers, Accountings, RestApis, LoginSets and NodeSets whose image has changed.
// True: the pods are given the image, or have it. False: they keep the image that they have, and the reason says why. It
// is a slurmtide extension.
const ConditionReleaseAllowed = "ReleaseAllowed"

// Reasons of the condition ReleaseAllowed.
const (
	// ReasonAllowed (True): the other daemons of the cluster and the stored state work with the release.
	ReasonAllowed = "Allowed"
	// ReasonWaitingForSlurmdbd (False): slurmdbd must have the release, or a newer one, first. Of AccountsApplied
	// (Unknown): slurmdbd does not answer, or does not know the cluster yet.
	ReasonWaitingForSlurmdbd = "WaitingForSlurmdbd"
	// ReasonWaitingForSlurmctld (False): slurmctld must have the release, or a newer one, first.
	ReasonWaitingForSlurmctld = "WaitingForSlurmctld"
	// ReasonDowngrade (False): the release cannot read what the one that runs has stored.
	ReasonDowngrade = "Downgrade"
	// ReasonTooOld (False): a daemon of the cluster, or what is stored, is more than three releases older.
	ReasonTooOld = "TooOld"
	// ReasonUnknown (False): a release is being looked up.
	ReasonUnknown = "Unknown"
	// ReasonLookupFailed (False): a release could not be looked up. The operator tries again.
	ReasonLookupFailed = "LookupFailed"
)

// Reasons of the condition Draining.
const (
	// ReasonWaitingForJobs (True): the jobs of a worker must end first.
	ReasonWaitingForJobs = "WaitingForJobs"
	// ReasonRecordsLeft (True): records of deleted workers stay, because Slurm refuses to delete them, or a job names
	// or needs them. Or FUTURE records keep other resources than the workers have, because a job
	// names them.
	ReasonRecordsLeft = "RecordsLeft"
	// ReasonWaitingForSlurm (True): Slurm has not yet shown that a worker has no jobs.
	ReasonWaitingForSlurm = "WaitingForSlurm"
	// ReasonNotDraining (False): no worker is to be deleted.
	ReasonNotDraining = "NotDraining"
)

// Reasons of the condition Updated.
const (
	// ReasonUpToDate (True): every worker has the newest revision.
	ReasonUpToDate = "UpToDate"
	// ReasonUpdating (False): workers are being replaced.
	ReasonUpdating = "Updating"
	// ReasonUpdatePaused (False): updateStrategy.paused is true.
	ReasonUpdatePaused = "UpdatePaused"
	// ReasonOnDelete (False): workers are updated when somebody deletes them.
	ReasonOnDelete = "OnDelete"
	// ReasonScheduled (False): workers are updated within the scheduled time.
	ReasonScheduled = "Scheduled"
)

// Reasons of the condition Submittable.
const (
	// ReasonRecordsReady (True): Slurm has node records for all possible workers.
	ReasonRecordsReady = "RecordsReady"
	// ReasonNoMaximum (False): neither maxReplicas nor a HorizontalPodAutoscaler sets a maximum.
	ReasonNoMaximum = "NoMaximum"
	// ReasonShapeUnknown (False): neither the limits of slurmd nor extraConf state the CPUs of a worker.
	ReasonShapeUnknown = "ShapeUnknown"
	// ReasonNamesUnknown (False): the Slurm nodes are named after Kubernetes nodes.
	ReasonNamesUnknown = "NamesUnknown"
	// ReasonRecordsMissing (False): records could not be created. The message says why.
	ReasonRecordsMissing = "RecordsMissing"
	// ReasonRecordsUnsupported (False): there is no record, and neither slurmrestd nor scontrol can create one here. Slurm accepts jobs once a
	// worker has registered.
	ReasonRecordsUnsupported = "RecordsUnsupported"
)

// The pod conditions of further flags. They are slurmtide extensions.
const (
	PodConditionPlanned     corev1.PodConditionType = PodConditionPrefix + "Planned"
	PodConditionReserved    corev1.PodConditionType = PodConditionPrefix + "Reserved"
	PodConditionPoweringUp  corev1.PodConditionType = PodConditionPrefix + "PoweringUp"
	PodConditionPoweredDown corev1.PodConditionType = PodConditionPrefix + "PoweredDown"
	PodConditionRebooting   corev1.PodConditionType = PodConditionPrefix + "Rebooting"
)

// PodConditionRegistered is True on a worker whose slurmd was registered with Slurm, since its transition
// time. It counts while that slurmd runs, also when Slurm has lost the record. The operator sets and reads
// it. It is a slurmtide extension.
const PodConditionRegistered corev1.PodConditionType = "SlurmNodeRegistered"

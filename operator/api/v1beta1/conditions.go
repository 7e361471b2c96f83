package v1beta1

import corev1 "k8s.io/api/core/v1"

// Conditions of our objects.
const (
	// ConditionReady is on every kind. True: what the spec wants is there and works.
	// False: it is not, and the reason says why. Unknown: Slurm or a part of it could
	// not be asked.
	ConditionReady = "Ready"

	// ConditionWakeUp is on NodeSets that a HorizontalPodAutoscaler scales. It tells
	// what the operator does about a NodeSet at zero replicas that its HPA will not
	// wake. True: the operator set spec.replicas to what is required. False: it does
	// not, and the reason says why. Unknown: it cannot tell whether it should.
	ConditionWakeUp = "WakeUp"
)

// Reasons of the condition Ready.
const (
	// ReasonAvailable (True): all is as wanted.
	ReasonAvailable = "Available"
	// ReasonProgressing (False): it is on the way; nothing is wrong so far.
	ReasonProgressing = "Progressing"
	// ReasonInvalidSpec (False): the spec cannot be followed until it changes.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonReferenceNotFound (False): an object or a key that the spec names is missing.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonUnauthorized (False): slurmrestd does not take the token.
	ReasonUnauthorized = "Unauthorized"
	// ReasonNotReconciled (False): the operator does not reconcile this kind yet.
	ReasonNotReconciled = "NotReconciled"
	// ReasonForbidden (False): the operator may not read or write a Secret that is needed.
	ReasonForbidden = "Forbidden"
	// ReasonTokenNotSendable (False): the Secret of the token does not say that it holds one
	// for this server, so it is not sent.
	ReasonTokenNotSendable = "TokenNotSendable"
	// ReasonUnreachable (False): slurmrestd does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonIncompatible (False): slurmrestd speaks no version of its API that we speak.
	ReasonIncompatible = "Incompatible"
	// ReasonOtherSlurmCluster (False): another Slurm cluster answers than the one that the
	// workers joined. Nothing is changed.
	ReasonOtherSlurmCluster = "OtherSlurmCluster"
	// ReasonSlurmNodesTaken (False): Slurm nodes with names of the NodeSet's workers belong
	// to another NodeSet. They are not changed.
	ReasonSlurmNodesTaken = "SlurmNodesTaken"
	// ReasonNotObserved (Unknown): there was no complete reading yet, or it is too old.
	ReasonNotObserved = "NotObserved"
)

// Reasons of the condition WakeUp.
const (
	// ReasonWoken (True): the NodeSet was at zero, asleep, and has demand; the
	// operator set its replicas, and the HPA goes on from there.
	ReasonWoken = "Woken"
	// ReasonNotNeeded (False): it has replicas, no demand, or an HPA that wakes it by itself.
	ReasonNotNeeded = "NotNeeded"
	// ReasonPaused (False): somebody took it to zero by the scale subresource, and so
	// wants it there; AnnotationWake "always" overrides.
	ReasonPaused = "Paused"
	// ReasonNeverWake (False): AnnotationWake is "never".
	ReasonNeverWake = "NeverWake"
	// ReasonNoAutoscaler (False): no HPA scales it, so its replicas are its user's own.
	ReasonNoAutoscaler = "NoAutoscaler"
	// ReasonTakenToZero (False): it was idle for AnnotationZeroAfter; the operator took it to zero.
	ReasonTakenToZero = "TakenToZero"
	// ReasonDemandUnknown (Unknown): there is no fresh reading of Slurm to tell its demand by.
	ReasonDemandUnknown = "DemandUnknown"
	// ReasonInvalidAnnotation (Unknown): an annotation cannot be read, and nothing is done until it can.
	ReasonInvalidAnnotation = "InvalidAnnotation"
)

// PodConditionPrefix begins the types of the pod conditions that show a worker's
// Slurm state: PodConditionPrefix + state or flag. The operator sets them, True with
// Slurm's reason as message, and removes them when the state is left; users and the
// disruption budget read them.
const PodConditionPrefix = "SlurmNodeState"

// The pod conditions of base states; a worker has one of them.
const (
	PodConditionAllocated corev1.PodConditionType = PodConditionPrefix + "Allocated"
	PodConditionDown      corev1.PodConditionType = PodConditionPrefix + "Down"
	PodConditionError     corev1.PodConditionType = PodConditionPrefix + "Error"
	PodConditionFuture    corev1.PodConditionType = PodConditionPrefix + "Future"
	PodConditionIdle      corev1.PodConditionType = PodConditionPrefix + "Idle"
	PodConditionMixed     corev1.PodConditionType = PodConditionPrefix + "Mixed"
	PodConditionUnknown   corev1.PodConditionType = PodConditionPrefix + "Unknown"
)

// The pod conditions of flags; a worker has any number of them.
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

// Conditions of NodeSets.
const (
	// ConditionDraining is True while workers are to go and wait for something: its
	// message says for which job, and until when.
	ConditionDraining = "Draining"
	// ConditionUpdated is True when every worker is of the newest revision.
	ConditionUpdated = "Updated"
	// ConditionSubmittable is True when Slurm takes jobs for workers that are not there
	// yet, up to the maximum.
	ConditionSubmittable = "Submittable"
)

// ConditionFieldsIgnored is on every kind, True with the reason ReasonNotFollowed, while
// fields are set that nothing follows yet: its message names them.
const (
	ConditionFieldsIgnored = "FieldsIgnored"
	ReasonNotFollowed      = "NotFollowed"
)

// Reasons of the condition Draining.
const (
	// ReasonWaitingForJobs (True): work on a worker must end first.
	ReasonWaitingForJobs = "WaitingForJobs"
	// ReasonRecordsLeft: Slurm refuses to delete records of workers that are gone.
	ReasonRecordsLeft = "RecordsLeft"
	// ReasonWaitingForSlurm (True): it is not known, or not yet, that a worker has no work.
	ReasonWaitingForSlurm = "WaitingForSlurm"
	// ReasonNotDraining (False): no worker is to go.
	ReasonNotDraining = "NotDraining"
)

// Reasons of the condition Updated.
const (
	// ReasonUpToDate (True): every worker is of the newest revision.
	ReasonUpToDate = "UpToDate"
	// ReasonUpdating (False): workers are being replaced.
	ReasonUpdating = "Updating"
	// ReasonUpdatePaused (False): updateStrategy.paused.
	ReasonUpdatePaused = "UpdatePaused"
	// ReasonOnDelete (False): workers change when somebody deletes them.
	ReasonOnDelete = "OnDelete"
	// ReasonScheduled (False): workers change within the scheduled time.
	ReasonScheduled = "Scheduled"
)

// Reasons of the condition Submittable.
const (
	// ReasonRecordsReady (True): there are records of all workers that may come.
	ReasonRecordsReady = "RecordsReady"
	// ReasonNoMaximum (False): neither maxReplicas nor a HorizontalPodAutoscaler says how
	// many workers may come.
	ReasonNoMaximum = "NoMaximum"
	// ReasonShapeUnknown (False): neither limits of slurmd nor extraConf say what a worker has.
	ReasonShapeUnknown = "ShapeUnknown"
	// ReasonNamesUnknown (False): the workers' Slurm names are those of Kubernetes nodes.
	ReasonNamesUnknown = "NamesUnknown"
	// ReasonRecordsMissing (False): records could not be made; the message says why.
	ReasonRecordsMissing = "RecordsMissing"
)

// The pod conditions of further flags; they are ours.
const (
	PodConditionPlanned     corev1.PodConditionType = PodConditionPrefix + "Planned"
	PodConditionReserved    corev1.PodConditionType = PodConditionPrefix + "Reserved"
	PodConditionPoweringUp  corev1.PodConditionType = PodConditionPrefix + "PoweringUp"
	PodConditionPoweredDown corev1.PodConditionType = PodConditionPrefix + "PoweredDown"
	PodConditionRebooting   corev1.PodConditionType = PodConditionPrefix + "Rebooting"
)

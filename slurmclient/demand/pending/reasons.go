package pending

import (
	"maps"
	"slices"
	"strings"
)

// reasonsOfClass contains all pending reasons of slurmctld from 22.05 to 26.05, by class. 26.05
// misspells one of them (it reports QOSMaxBBMinutesPerJob as AssocMaxBBMinutesPerJob). Some reasons
// exist only in older versions (PowerNotAvail, PowerReserved, FrontEndDown).
var reasonsOfClass = map[Class]string{
	ClassCapacity: `
		Resources Priority ReqNodeNotAvail NodeDown PartitionConfig BadConstraints Constraints`,
	ClassUnevaluated: `
		None`,
	ClassHeld: `
		JobHeldAdmin JobHeldUser JobHoldMaxRequeue`,
	ClassTime: `
		BeginTime DeadLine SchedDefer`,
	ClassDependency: `
		Dependency DependencyNeverSatisfied`,
	ClassArrayThrottle: `
		JobArrayTaskLimit`,
	ClassLicense: `
		Licenses MpiPortsBusy NvidiaImexChannels`,
	ClassPartitionLimit: `
		PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive MaxMemPerLimit`,
	ClassReservation: `
		Reservation ReservationDeleted ReservationInvalid`,
	ClassInvalid: `
		InvalidAccount InvalidQOS QOSNotAllowed AccountNotAllowed`,
	ClassOther: `
		Prolog Cleaning FedJobLock BurstBufferResources BurstBufferStageIn BurstBufferOperation
		MaxPoweredUpNodes PowerNotAvail PowerReserved FrontEndDown SystemFailure JobLaunchFailure
		NonZeroExitCode RaisedSignal TimeLimit InactiveLimit OutOfMemory`,
	ClassLimit: `
		AccountingPolicy AssociationJobLimit AssociationResourceLimit AssociationTimeLimit
		QOSUsageThreshold QOSJobLimit QOSResourceLimit QOSTimeLimit

		AssocGrpCpuLimit AssocGrpCPUMinutesLimit AssocGrpCPURunMinutesLimit AssocGrpJobsLimit
		AssocGrpMemLimit AssocGrpNodeLimit AssocGrpSubmitJobsLimit AssocGrpWallLimit AssocMaxJobsLimit
		AssocMaxCpuPerJobLimit AssocMaxCpuMinutesPerJobLimit AssocMaxNodePerJobLimit
		AssocMaxWallDurationPerJobLimit AssocMaxSubmitJobLimit AssocGrpUnknown AssocGrpUnknownMinutes
		AssocGrpUnknownRunMinutes AssocMaxUnknownPerJob AssocMaxUnknownPerNode
		AssocMaxUnknownMinutesPerJob AssocMaxCpuPerNode AssocGrpMemMinutes AssocGrpMemRunMinutes
		AssocMaxMemPerJob AssocMaxMemPerNode AssocMaxMemMinutesPerJob AssocGrpNodeMinutes
		AssocGrpNodeRunMinutes AssocMaxNodeMinutesPerJob AssocGrpEnergy AssocGrpEnergyMinutes
		AssocGrpEnergyRunMinutes AssocMaxEnergyPerJob AssocMaxEnergyPerNode AssocMaxEnergyMinutesPerJob
		AssocGrpGRES AssocGrpGRESMinutes AssocGrpGRESRunMinutes AssocMaxGRESPerJob AssocMaxGRESPerNode
		AssocMaxGRESMinutesPerJob AssocGrpLicense AssocGrpLicenseMinutes AssocGrpLicenseRunMinutes
		AssocMaxLicensePerJob AssocMaxLicenseMinutesPerJob AssocGrpBB AssocGrpBBMinutes
		AssocGrpBBRunMinutes AssocMaxBBPerJob AssocMaxBBPerNode AssocMaxBBMinutesPerJob AssocGrpBilling
		AssocGrpBillingMinutes AssocGrpBillingRunMinutes AssocMaxBillingPerJob AssocMaxBillingPerNode
		AssocMaxBillingMinutesPerJob

		QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpJobsLimit QOSGrpMemLimit
		QOSGrpNodeLimit QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSMaxCpuPerJobLimit
		QOSMaxCpuMinutesPerJobLimit QOSMaxNodePerJobLimit QOSMaxWallDurationPerJobLimit
		QOSMaxCpuPerUserLimit QOSMaxJobsPerUserLimit QOSMaxNodePerUserLimit QOSMaxSubmitJobPerUserLimit
		QOSMinCpuNotSatisfied QOSGrpUnknown QOSGrpUnknownMinutes QOSGrpUnknownRunMinutes
		QOSMaxUnknownPerJob QOSMaxUnknownPerNode QOSMaxUnknownPerUser QOSMaxUnknownMinutesPerJob
		QOSMinUnknown QOSMaxCpuPerNode QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes
		QOSMaxMemoryMinutesPerJob QOSMaxMemoryPerJob QOSMaxMemoryPerNode QOSMaxMemoryPerUser QOSMinMemory
		QOSGrpEnergy QOSGrpEnergyMinutes QOSGrpEnergyRunMinutes QOSMaxEnergyPerJob QOSMaxEnergyPerNode
		QOSMaxEnergyPerUser QOSMaxEnergyMinutesPerJob QOSMinEnergy QOSGrpNodeMinutes QOSGrpNodeRunMinutes
		QOSMaxNodeMinutesPerJob QOSMinNode QOSGrpGRES QOSGrpGRESMinutes QOSGrpGRESRunMinutes
		QOSMaxGRESPerJob QOSMaxGRESPerNode QOSMaxGRESPerUser QOSMaxGRESMinutesPerJob QOSMinGRES
		QOSGrpLicense QOSGrpLicenseMinutes QOSGrpLicenseRunMinutes QOSMaxLicensePerJob
		QOSMaxLicensePerUser QOSMaxLicenseMinutesPerJob QOSMinLicense QOSGrpBB QOSGrpBBMinutes
		QOSGrpBBRunMinutes QOSMaxBBPerJob QOSMaxBBPerNode QOSMaxBBPerUser QOSMaxBBMinutesPerJob QOSMinBB
		QOSGrpBilling QOSGrpBillingMinutes QOSGrpBillingRunMinutes QOSMaxBillingPerJob
		QOSMaxBillingPerNode QOSMaxBillingPerUser QOSMaxBillingMinutesPerJob QOSMinBilling

		MaxBBPerAccount MaxCpuPerAccount MaxEnergyPerAccount MaxGRESPerAccount MaxNodePerAccount
		MaxLicensePerAccount MaxMemoryPerAccount MaxUnknownPerAccount MaxJobsPerAccount
		MaxSubmitJobsPerAccount MaxBillingPerAccount MaxBBRunMinsPerAccount MaxBillingRunMinsPerAccount
		MaxCpuRunMinsPerAccount MaxEnergyRunMinsPerAccount MaxGRESRunMinsPerAccount
		MaxNodeRunMinsPerAccount MaxLicenseRunMinsPerAccount MaxMemoryRunMinsPerAccount
		MaxUnknownRunMinsPerAccount MaxBBRunMinsPerUser MaxBillingRunMinsPerUser MaxCpuRunMinsPerUser
		MaxEnergyRunMinsPerUser MaxGRESRunMinsPerUser MaxNodeRunMinsPerUser MaxLicenseRunMinsPerUser
		MaxMemoryRunMinsPerUser MaxUnknownRunMinsPerUser`,
}

// classOfReason is the inverse of reasonsOfClass.
var classOfReason = classByReason(reasonsOfClass)

func classByReason(table map[Class]string) map[string]Class {
	out := make(map[string]Class, 256)
	for class, reasons := range table {
		for reason := range strings.FieldsSeq(reasons) {
			out[reason] = class
		}
	}
	return out
}

// ClassOf returns the class of a pending reason by Slurm's text, and whether this version knows the
// reason. Unknown reasons are ClassOther. The longer texts of some reasons ("ReqNodeNotAvail, …",
// "Nodes required for job are DOWN, …") are known too. An empty text means "None".
func ClassOf(reason string) (class Class, known bool) {
	if class, known = classOfReason[reason]; known {
		return class, true
	}
	if reason == "" {
		return ClassUnevaluated, true
	}
	if strings.HasPrefix(reason, textNodesDown) {
		return ClassCapacity, true
	}
	if short, _, cut := strings.Cut(reason, ","); cut {
		if class, known = classOfReason[short]; known {
			return class, true
		}
	}
	return ClassOther, false
}

// textNodesDown is the prefix of slurmctld's longer text when all nodes that a job could use are
// down, drained or held for others. It appears at zero nodes too.
const textNodesDown = "Nodes required for job are DOWN, DRAINED"

// Reasons returns every pending reason that ClassOf knows, sorted.
func Reasons() []string { return slices.Sorted(maps.Keys(classOfReason)) }

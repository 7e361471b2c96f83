package demand_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slurmReasons are the pending reasons of slurmctld 24.11 and 26.05, in the order of their numbers,
// and those that only existed until 23.11.
const slurmReasons = `
None Priority Dependency Resources PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive
JobHeldAdmin BeginTime Licenses AssociationJobLimit AssociationResourceLimit AssociationTimeLimit Reservation
ReqNodeNotAvail JobHeldUser NvidiaImexChannels SchedDefer NodeDown BadConstraints SystemFailure
JobLaunchFailure NonZeroExitCode TimeLimit InactiveLimit InvalidAccount InvalidQOS QOSUsageThreshold QOSJobLimit
QOSResourceLimit QOSTimeLimit RaisedSignal Cleaning Prolog QOSNotAllowed AccountNotAllowed
DependencyNeverSatisfied QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpJobsLimit
QOSGrpMemLimit QOSGrpNodeLimit QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSMaxCpuPerJobLimit
QOSMaxCpuMinutesPerJobLimit QOSMaxNodePerJobLimit QOSMaxWallDurationPerJobLimit QOSMaxCpuPerUserLimit
QOSMaxJobsPerUserLimit QOSMaxNodePerUserLimit QOSMaxSubmitJobPerUserLimit QOSMinCpuNotSatisfied AssocGrpCpuLimit
AssocGrpCPUMinutesLimit AssocGrpCPURunMinutesLimit AssocGrpJobsLimit AssocGrpMemLimit AssocGrpNodeLimit
AssocGrpSubmitJobsLimit AssocGrpWallLimit AssocMaxJobsLimit AssocMaxCpuPerJobLimit AssocMaxCpuMinutesPerJobLimit
AssocMaxNodePerJobLimit AssocMaxWallDurationPerJobLimit AssocMaxSubmitJobLimit JobHoldMaxRequeue
JobArrayTaskLimit BurstBufferResources BurstBufferStageIn BurstBufferOperation AssocGrpUnknown
AssocGrpUnknownMinutes AssocGrpUnknownRunMinutes AssocMaxUnknownPerJob AssocMaxUnknownPerNode
AssocMaxUnknownMinutesPerJob AssocMaxCpuPerNode AssocGrpMemMinutes AssocGrpMemRunMinutes AssocMaxMemPerJob
AssocMaxMemPerNode AssocMaxMemMinutesPerJob AssocGrpNodeMinutes AssocGrpNodeRunMinutes
AssocMaxNodeMinutesPerJob AssocGrpEnergy AssocGrpEnergyMinutes AssocGrpEnergyRunMinutes AssocMaxEnergyPerJob
AssocMaxEnergyPerNode AssocMaxEnergyMinutesPerJob AssocGrpGRES AssocGrpGRESMinutes AssocGrpGRESRunMinutes
AssocMaxGRESPerJob AssocMaxGRESPerNode AssocMaxGRESMinutesPerJob AssocGrpLicense AssocGrpLicenseMinutes
AssocGrpLicenseRunMinutes AssocMaxLicensePerJob AssocMaxLicenseMinutesPerJob AssocGrpBB AssocGrpBBMinutes
AssocGrpBBRunMinutes AssocMaxBBPerJob AssocMaxBBPerNode AssocMaxBBMinutesPerJob QOSGrpUnknown
QOSGrpUnknownMinutes QOSGrpUnknownRunMinutes QOSMaxUnknownPerJob QOSMaxUnknownPerNode QOSMaxUnknownPerUser
QOSMaxUnknownMinutesPerJob QOSMinUnknown QOSMaxCpuPerNode QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes
QOSMaxMemoryMinutesPerJob QOSMaxMemoryPerJob QOSMaxMemoryPerNode QOSMaxMemoryPerUser QOSMinMemory QOSGrpEnergy
QOSGrpEnergyMinutes QOSGrpEnergyRunMinutes QOSMaxEnergyPerJob QOSMaxEnergyPerNode QOSMaxEnergyPerUser
QOSMaxEnergyMinutesPerJob QOSMinEnergy QOSGrpNodeMinutes QOSGrpNodeRunMinutes QOSMaxNodeMinutesPerJob QOSMinNode
QOSGrpGRES QOSGrpGRESMinutes QOSGrpGRESRunMinutes QOSMaxGRESPerJob QOSMaxGRESPerNode QOSMaxGRESPerUser
QOSMaxGRESMinutesPerJob QOSMinGRES QOSGrpLicense QOSGrpLicenseMinutes QOSGrpLicenseRunMinutes QOSMaxLicensePerJob
QOSMaxLicensePerUser QOSMaxLicenseMinutesPerJob QOSMinLicense QOSGrpBB QOSGrpBBMinutes QOSGrpBBRunMinutes
QOSMaxBBPerJob QOSMaxBBPerNode QOSMaxBBPerUser QOSMinBB DeadLine MaxBBPerAccount MaxCpuPerAccount
MaxEnergyPerAccount MaxGRESPerAccount MaxNodePerAccount MaxLicensePerAccount MaxMemoryPerAccount
MaxUnknownPerAccount MaxJobsPerAccount MaxSubmitJobsPerAccount PartitionConfig AccountingPolicy FedJobLock
OutOfMemory MaxMemPerLimit AssocGrpBilling AssocGrpBillingMinutes AssocGrpBillingRunMinutes AssocMaxBillingPerJob
AssocMaxBillingPerNode AssocMaxBillingMinutesPerJob QOSGrpBilling QOSGrpBillingMinutes QOSGrpBillingRunMinutes
QOSMaxBillingPerJob QOSMaxBillingPerNode QOSMaxBillingPerUser QOSMaxBillingMinutesPerJob MaxBillingPerAccount
QOSMinBilling ReservationDeleted ReservationInvalid Constraints MaxBBRunMinsPerAccount MaxBillingRunMinsPerAccount
MaxCpuRunMinsPerAccount MaxEnergyRunMinsPerAccount MaxGRESRunMinsPerAccount MaxNodeRunMinsPerAccount
MaxLicenseRunMinsPerAccount MaxMemoryRunMinsPerAccount MaxUnknownRunMinsPerAccount MaxBBRunMinsPerUser
MaxBillingRunMinsPerUser MaxCpuRunMinsPerUser MaxEnergyRunMinsPerUser MaxGRESRunMinsPerUser MaxNodeRunMinsPerUser
MaxLicenseRunMinsPerUser MaxMemoryRunMinsPerUser MaxUnknownRunMinsPerUser MaxPoweredUpNodes MpiPortsBusy
FrontEndDown PowerNotAvail PowerReserved`

// expectedClass returns the class of a reason by the documented rules.
func expectedClass(reason string) demand.Class {
	byName := map[demand.Class]string{
		demand.ClassCapacity:       "Resources Priority ReqNodeNotAvail NodeDown PartitionConfig BadConstraints Constraints",
		demand.ClassHeld:           "JobHeldUser JobHeldAdmin JobHoldMaxRequeue",
		demand.ClassTime:           "BeginTime DeadLine SchedDefer",
		demand.ClassDependency:     "Dependency DependencyNeverSatisfied",
		demand.ClassArrayThrottle:  "JobArrayTaskLimit",
		demand.ClassLicense:        "Licenses MpiPortsBusy NvidiaImexChannels",
		demand.ClassLimit:          "AccountingPolicy",
		demand.ClassPartitionLimit: "PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive MaxMemPerLimit",
		demand.ClassReservation:    "Reservation ReservationDeleted ReservationInvalid",
		demand.ClassInvalid:        "InvalidAccount InvalidQOS QOSNotAllowed AccountNotAllowed",
		demand.ClassUnevaluated:    "None",
	}
	for class, names := range byName {
		if slices.Contains(strings.Fields(names), reason) {
			return class
		}
	}
	for _, prefix := range []string{"Assoc", "QOS"} {
		if strings.HasPrefix(reason, prefix) {
			return demand.ClassLimit
		}
	}
	if strings.HasPrefix(reason, "Max") &&
		(strings.HasSuffix(reason, "PerAccount") || strings.HasSuffix(reason, "PerUser")) {
		return demand.ClassLimit
	}
	return demand.ClassOther
}

func TestEveryPendingReasonHasAClass(t *testing.T) {
	reasons := strings.Fields(slurmReasons)
	for _, r := range reasons {
		class, known := demand.ClassOf(r)
		if !known || class != expectedClass(r) {
			t.Errorf("%s: class %q, known %v; want %q", r, class, known, expectedClass(r))
		}
	}
	// slurmctld has this reason, but reports it as AssocMaxBBMinutesPerJob.
	reasons = append(reasons, "QOSMaxBBMinutesPerJob")
	slices.Sort(reasons)
	if diff := cmp.Diff(reasons, demand.Reasons()); diff != "" {
		t.Errorf("the table differs from Slurm (-Slurm +table):\n%s", diff)
	}
}

func TestAJobOfEveryReasonIsCountedOnceByItsClass(t *testing.T) {
	for _, r := range append(demand.Reasons(), "SomethingNew") {
		p := demandOn(t, "cpu", newPartition("cpu"), newNode("busy", withState("ALLOCATED")),
			newJob(1, withReason(r), withChange(func(j *slurm.Job) { j.EligibleTime = 0 })))
		class, _ := demand.ClassOf(r)
		want := []demand.ReasonCount{{Reason: r, Class: class, Jobs: 1}}
		if diff := cmp.Diff(want, p.PendingByReason); diff != "" {
			t.Errorf("%s: %s", r, diff)
		}
		eligible := uint64(0)
		if class == demand.ClassCapacity {
			eligible = 1
		}
		if p.EligiblePendingJobs != eligible || p.PendingNodes != eligible {
			t.Errorf("%s: %d eligible jobs request %d nodes, want %d of both", r, p.EligiblePendingJobs, p.PendingNodes,
				eligible)
		}
	}
}

func TestClassesAreListedOnceAndUsed(t *testing.T) {
	classes := demand.Classes()
	for _, r := range demand.Reasons() {
		if class, _ := demand.ClassOf(r); !slices.Contains(classes, class) {
			t.Errorf("%s has class %q, which is not listed", r, class)
		}
	}
	sorted := slices.Clone(classes)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(classes) {
		t.Errorf("a class is listed twice: %v", classes)
	}
}

func TestClassOfLongerAndUnknownTexts(t *testing.T) {
	tests := map[string]struct {
		reason string
		class  demand.Class
		known  bool
	}{
		"empty text is None":                {"", demand.ClassUnevaluated, true},
		"nodes that are down mean capacity": {"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", demand.ClassCapacity, true},
		"unavailable nodes": {"ReqNodeNotAvail, UnavailableNodes:cpu-[0-3]", demand.ClassCapacity,
			true},
		"nodes reserved for another job": {"ReqNodeNotAvail, May be reserved for other job",
			demand.ClassCapacity, true},
		"an unknown reason is other":             {"QuantumFlux", demand.ClassOther, false},
		"an unknown QOS reason is other":         {"QOSMaxQubitsPerUser", demand.ClassOther, false},
		"slurmctld's text for an invalid reason": {"InvalidReason", demand.ClassOther, false},
		"case matters":                           {"resources", demand.ClassOther, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if class, known := demand.ClassOf(tt.reason); class != tt.class || known != tt.known {
				t.Errorf("got %q, %v; want %q, %v", class, known, tt.class, tt.known)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		change func(*slurm.Job)
		want   demand.Class
	}{
		"resources": {func(*slurm.Job) {}, demand.ClassCapacity},
		"the hold takes precedence over the reason": {func(j *slurm.Job) { j.Hold = true }, demand.ClassHeld},
		"priority 0 means held": {func(j *slurm.Job) { j.Priority = slurm.Num(0) },
			demand.ClassHeld},
		"an unset priority does not": {func(j *slurm.Job) { j.Priority = slurm.Unset() },
			demand.ClassCapacity},
		"requeued and held": {func(j *slurm.Job) { j.State.Flags = slurm.JobRequeueHold },
			demand.ClassHeld},
		"special exit": {func(j *slurm.Job) { j.State.Flags = slurm.JobSpecialExit },
			demand.ClassHeld},
		"held since its reservation was deleted": {func(
			j *slurm.Job) {
			j.State.Flags = slurm.JobReservationDelHold
		}, demand.ClassHeld},
		"a hold takes precedence over a dependency": {func(j *slurm.Job) {
			j.Hold, j.Dependency = true,
				"singleton(unfulfilled)"
		}, demand.ClassHeld},
		"a dependency takes precedence over the reason": {func(
			j *slurm.Job) {
			j.Dependency = "afterok:7(unfulfilled)"
		}, demand.ClassDependency},
		"one of two dependencies is fulfilled": {func(
			j *slurm.Job) {
			j.Dependency = "afterok:6(fulfilled),afterany:7(unfulfilled)"
		}, demand.ClassDependency},
		"a failed dependency": {func(j *slurm.Job) { j.Dependency = "afterok:7(failed)" },
			demand.ClassDependency},
		"a fulfilled dependency": {func(j *slurm.Job) { j.Dependency = "afterok:7(fulfilled)" },
			demand.ClassCapacity},
		"eligible in a minute": {func(j *slurm.Job) { j.EligibleTime = noon + 60 },
			demand.ClassTime},
		"eligible now": {func(j *slurm.Job) { j.EligibleTime = noon },
			demand.ClassCapacity},
		"never eligible": {func(j *slurm.Job) { j.EligibleTime = slurm.Never },
			demand.ClassTime},
		"a begin time in the past": {func(j *slurm.Job) { j.Reason = "BeginTime" },
			demand.ClassCapacity},
		"an unknown begin time": {func(j *slurm.Job) {
			j.Reason, j.EligibleTime = "BeginTime",
				0
		}, demand.ClassTime},
		"no reason, not evaluated": {func(j *slurm.Job) { j.Reason = "None" },
			demand.ClassUnevaluated},
		"empty reason, not evaluated": {func(j *slurm.Job) { j.Reason = "" },
			demand.ClassUnevaluated},
		"no reason, but evaluated": {func(j *slurm.Job) {
			j.Reason, j.LastSchedEval = "None",
				noon-5
		}, demand.ClassCapacity},
		"the longer text of a node limit": {func(j *slurm.Job) {
			j.Reason, j.ReasonText = "PartitionNodeLimit",
				"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
		}, demand.ClassCapacity},
		"a node limit": {func(j *slurm.Job) { j.Reason = "PartitionNodeLimit" },
			demand.ClassPartitionLimit},
		"no reason, but a text about nodes": {func(j *slurm.Job) {
			j.Reason, j.ReasonText = "None",
				"ReqNodeNotAvail, UnavailableNodes:n1"
		}, demand.ClassCapacity},
		"a text that does not mention nodes": {func(j *slurm.Job) { j.Reason, j.ReasonText = "Prolog", "job requeued" },
			demand.ClassOther},
		"a limit, whatever the text": {func(j *slurm.Job) {
			j.Reason, j.ReasonText = "QOSJobLimit", "Nodes required for job are DOWN, DRAINED or reserved"
		}, demand.ClassLimit},
		"resources of a reservation": {func(j *slurm.Job) { j.Reservation = "maint" },
			demand.ClassReservation},
		"a license inside a reservation": {func(j *slurm.Job) {
			j.Reservation, j.Reason = "maint",
				"Licenses"
		}, demand.ClassLicense},
		"constraints that could be met": {func(j *slurm.Job) { j.Reason = "BadConstraints" },
			demand.ClassCapacity},
		"impossible constraints clear the priority": {func(j *slurm.Job) {
			j.Reason, j.Priority = "BadConstraints",
				slurm.Num(0)
		}, demand.ClassUnsatisfiable},
		"slurmrestd reports that as a hold": {func(j *slurm.Job) {
			j.Reason, j.Priority,
				j.Hold = "BadConstraints", slurm.Num(0), true
		}, demand.ClassUnsatisfiable},
		"a user's hold takes precedence": {func(j *slurm.Job) {
			j.Reason, j.Priority, j.Hold = "JobHeldUser",
				slurm.Num(0), true
		}, demand.ClassHeld},
		"an administrator's hold takes precedence": {func(j *slurm.Job) {
			j.Reason, j.Priority,
				j.Hold = "JobHeldAdmin", slurm.Num(0), true
		}, demand.ClassHeld},
		"impossible constraints of a job requeued and held": {func(j *slurm.Job) {
			j.Reason, j.Priority, j.State.Flags = "BadConstraints", slurm.Num(0), slurm.JobRequeueHold
		}, demand.ClassHeld},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := demand.Classify(noon, newJob(1, withChange(tt.change))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

package pending_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
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
func expectedClass(reason string) pending.Class {
	byName := map[pending.Class]string{
		pending.ClassCapacity:       "Resources Priority ReqNodeNotAvail NodeDown PartitionConfig BadConstraints Constraints",
		pending.ClassHeld:           "JobHeldUser JobHeldAdmin JobHoldMaxRequeue",
		pending.ClassTime:           "BeginTime DeadLine SchedDefer",
		pending.ClassDependency:     "Dependency DependencyNeverSatisfied",
		pending.ClassArrayThrottle:  "JobArrayTaskLimit",
		pending.ClassLicense:        "Licenses MpiPortsBusy NvidiaImexChannels",
		pending.ClassLimit:          "AccountingPolicy",
		pending.ClassPartitionLimit: "PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive MaxMemPerLimit",
		pending.ClassReservation:    "Reservation ReservationDeleted ReservationInvalid",
		pending.ClassInvalid:        "InvalidAccount InvalidQOS QOSNotAllowed AccountNotAllowed",
		pending.ClassUnevaluated:    "None",
	}
	for class, names := range byName {
		if slices.Contains(strings.Fields(names), reason) {
			return class
		}
	}
	for _, prefix := range []string{"Assoc", "QOS"} {
		if strings.HasPrefix(reason, prefix) {
			return pending.ClassLimit
		}
	}
	if strings.HasPrefix(reason, "Max") &&
		(strings.HasSuffix(reason, "PerAccount") || strings.HasSuffix(reason, "PerUser")) {
		return pending.ClassLimit
	}
	return pending.ClassOther
}

func TestEveryPendingReasonHasAClass(t *testing.T) {
	reasons := strings.Fields(slurmReasons)
	for _, r := range reasons {
		class, known := pending.ClassOf(r)
		if !known || class != expectedClass(r) {
			t.Errorf("%s: class %q, known %v; want %q", r, class, known, expectedClass(r))
		}
	}
	// slurmctld has this reason, but reports it as AssocMaxBBMinutesPerJob.
	reasons = append(reasons, "QOSMaxBBMinutesPerJob")
	slices.Sort(reasons)
	if diff := cmp.Diff(reasons, pending.Reasons()); diff != "" {
		t.Errorf("the table differs from Slurm (-Slurm +table):\n%s", diff)
	}
}

func TestAJobOfEveryReasonIsCountedOnceByItsClass(t *testing.T) {
	for _, r := range append(pending.Reasons(), "SomethingNew") {
		p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"),
			demandtest.NewNode("busy", demandtest.WithState("ALLOCATED")),
			demandtest.NewJob(1, demandtest.WithReason(r),
				demandtest.WithChange(func(j *slurm.Job) { j.EligibleTime = 0 })))
		class, _ := pending.ClassOf(r)
		want := []demand.ReasonCount{{Reason: r, Class: class, Jobs: 1}}
		if diff := cmp.Diff(want, p.PendingByReason); diff != "" {
			t.Errorf("%s: %s", r, diff)
		}
		eligible := uint64(0)
		if class == pending.ClassCapacity {
			eligible = 1
		}
		if p.EligiblePendingJobs != eligible || p.PendingNodes != eligible {
			t.Errorf("%s: %d eligible jobs request %d nodes, want %d of both", r, p.EligiblePendingJobs, p.PendingNodes,
				eligible)
		}
	}
}

func TestClassesAreListedOnceAndUsed(t *testing.T) {
	classes := pending.Classes()
	for _, r := range pending.Reasons() {
		if class, _ := pending.ClassOf(r); !slices.Contains(classes, class) {
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
		class  pending.Class
		known  bool
	}{
		"empty text is None":                {"", pending.ClassUnevaluated, true},
		"nodes that are down mean capacity": {"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", pending.ClassCapacity, true},
		"unavailable nodes": {"ReqNodeNotAvail, UnavailableNodes:cpu-[0-3]", pending.ClassCapacity,
			true},
		"nodes reserved for another job": {"ReqNodeNotAvail, May be reserved for other job",
			pending.ClassCapacity, true},
		"an unknown reason is other":             {"QuantumFlux", pending.ClassOther, false},
		"an unknown QOS reason is other":         {"QOSMaxQubitsPerUser", pending.ClassOther, false},
		"slurmctld's text for an invalid reason": {"InvalidReason", pending.ClassOther, false},
		"case matters":                           {"resources", pending.ClassOther, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if class, known := pending.ClassOf(tt.reason); class != tt.class || known != tt.known {
				t.Errorf("got %q, %v; want %q, %v", class, known, tt.class, tt.known)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		change func(*slurm.Job)
		want   pending.Class
	}{
		"resources": {func(*slurm.Job) {}, pending.ClassCapacity},
		"the hold takes precedence over the reason": {func(j *slurm.Job) { j.Hold = true }, pending.ClassHeld},
		"priority 0 means held": {func(j *slurm.Job) { j.Priority = slurm.Num(0) },
			pending.ClassHeld},
		"an unset priority does not": {func(j *slurm.Job) { j.Priority = slurm.Unset() },
			pending.ClassCapacity},
		"requeued and held": {func(j *slurm.Job) { j.State.Flags = slurm.JobRequeueHold },
			pending.ClassHeld},
		"special exit": {func(j *slurm.Job) { j.State.Flags = slurm.JobSpecialExit },
			pending.ClassHeld},
		"held since its reservation was deleted": {func(
			j *slurm.Job) {
			j.State.Flags = slurm.JobReservationDelHold
		}, pending.ClassHeld},
		"a hold takes precedence over a dependency": {func(j *slurm.Job) {
			j.Hold, j.Dependency = true,
				"singleton(unfulfilled)"
		}, pending.ClassHeld},
		"a dependency takes precedence over the reason": {func(
			j *slurm.Job) {
			j.Dependency = "afterok:7(unfulfilled)"
		}, pending.ClassDependency},
		"one of two dependencies is fulfilled": {func(
			j *slurm.Job) {
			j.Dependency = "afterok:6(fulfilled),afterany:7(unfulfilled)"
		}, pending.ClassDependency},
		"a failed dependency": {func(j *slurm.Job) { j.Dependency = "afterok:7(failed)" },
			pending.ClassDependency},
		"a fulfilled dependency": {func(j *slurm.Job) { j.Dependency = "afterok:7(fulfilled)" },
			pending.ClassCapacity},
		"eligible in a minute": {func(j *slurm.Job) { j.EligibleTime = demandtest.Noon + 60 },
			pending.ClassTime},
		"eligible now": {func(j *slurm.Job) { j.EligibleTime = demandtest.Noon },
			pending.ClassCapacity},
		"never eligible": {func(j *slurm.Job) { j.EligibleTime = slurm.Never },
			pending.ClassTime},
		"a begin time in the past": {func(j *slurm.Job) { j.Reason = "BeginTime" },
			pending.ClassCapacity},
		"an unknown begin time": {func(j *slurm.Job) {
			j.Reason, j.EligibleTime = "BeginTime",
				0
		}, pending.ClassTime},
		"no reason, not evaluated": {func(j *slurm.Job) { j.Reason = "None" },
			pending.ClassUnevaluated},
		"empty reason, not evaluated": {func(j *slurm.Job) { j.Reason = "" },
			pending.ClassUnevaluated},
		"no reason, but evaluated": {func(j *slurm.Job) {
			j.Reason, j.LastSchedEval = "None",
				demandtest.Noon-5
		}, pending.ClassCapacity},
		"the longer text of a node limit": {func(j *slurm.Job) {
			j.Reason = "PartitionNodeLimit"
			j.EditDetails(func(d *slurm.JobDetails) {
				d.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
			})
		}, pending.ClassCapacity},
		"a node limit": {func(j *slurm.Job) { j.Reason = "PartitionNodeLimit" },
			pending.ClassPartitionLimit},
		"no reason, but a text about nodes": {func(j *slurm.Job) {
			j.Reason = "None"
			j.EditDetails(func(d *slurm.JobDetails) { d.ReasonText = "ReqNodeNotAvail, UnavailableNodes:n1" })
		}, pending.ClassCapacity},
		"a text that does not mention nodes": {func(j *slurm.Job) {
			j.Reason = "Prolog"
			j.EditDetails(func(d *slurm.JobDetails) { d.ReasonText = "job requeued" })
		},
			pending.ClassOther},
		"a limit, whatever the text": {func(j *slurm.Job) {
			j.Reason = "QOSJobLimit"
			j.EditDetails(func(d *slurm.JobDetails) { d.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved" })
		}, pending.ClassLimit},
		"resources of a reservation": {func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Reservation = "maint" }) },
			pending.ClassReservation},
		"a license inside a reservation": {func(j *slurm.Job) {
			j.Reason = "Licenses"
			j.EditDetails(func(d *slurm.JobDetails) { d.Reservation = "maint" })
		}, pending.ClassLicense},
		"constraints that could be met": {func(j *slurm.Job) { j.Reason = "BadConstraints" },
			pending.ClassCapacity},
		"impossible constraints clear the priority": {func(j *slurm.Job) {
			j.Reason, j.Priority = "BadConstraints",
				slurm.Num(0)
		}, pending.ClassUnsatisfiable},
		"slurmrestd reports that as a hold": {func(j *slurm.Job) {
			j.Reason, j.Priority,
				j.Hold = "BadConstraints", slurm.Num(0), true
		}, pending.ClassUnsatisfiable},
		"a user's hold takes precedence": {func(j *slurm.Job) {
			j.Reason, j.Priority, j.Hold = "JobHeldUser",
				slurm.Num(0), true
		}, pending.ClassHeld},
		"an administrator's hold takes precedence": {func(j *slurm.Job) {
			j.Reason, j.Priority,
				j.Hold = "JobHeldAdmin", slurm.Num(0), true
		}, pending.ClassHeld},
		"impossible constraints of a job requeued and held": {func(j *slurm.Job) {
			j.Reason, j.Priority, j.State.Flags = "BadConstraints", slurm.Num(0), slurm.JobRequeueHold
		}, pending.ClassHeld},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := pending.Classify(demandtest.Noon,
				demandtest.NewJob(1, demandtest.WithChange(tt.change))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

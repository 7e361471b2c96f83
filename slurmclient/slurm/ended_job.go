package slurm

import "time"

// EndedJob is one run of a job that has ended, as slurmdbd has recorded it (sacct(1)). A job that was requeued has one for each run.
type EndedJob struct {
	ID uint32
	// Cluster is the ClusterName of the cluster that ran it: one slurmdbd may serve several.
	Cluster            string
	User, Account, QOS string
	State              JobState
	Start, End         Time
	// Elapsed is how long it ran, without suspensions.
	Elapsed time.Duration
	// CPUs, MemoryMiB and GPUs are the job's allocation. Slurm records GPUs if AccountingStorageTRES lists gres/gpu.
	CPUs, MemoryMiB, GPUs uint64
	// Usage is the usage of the job's steps, nil if Slurm did not gather it for all of them (JobAcctGatherType in slurm.conf(5)).
	Usage *JobUsage
}

// JobUsage is the resources that the steps of a job have used.
type JobUsage struct {
	// CPUTime is the user and system time of all steps (TotalCPU in sacct(1)).
	CPUTime time.Duration
	// MemoryBytes is the most memory that the tasks of one step have used together, each at its own maximum (the largest
	// TRESUsageInTot of a step in sacct(1)).
	MemoryBytes uint64
	// GPUTime is the time that GPUs were busy, added up over the GPUs. Slurm gathers the utilization of each step (gres/gpuutil) while it
	// runs. HasGPUTime is whether it did.
	GPUTime    time.Duration
	HasGPUTime bool
}

// EndStates are the states that slurmdbd gives to runs of jobs that have ended.
func EndStates() []string {
	var out []string
	for _, b := range JobBases() {
		if b.Finished() {
			out = append(out, b.String())
		}
	}
	return append(out, "REQUEUED")
}

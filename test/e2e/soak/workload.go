package soak

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Job is a job of the workload.
type Job struct {
	// Kind names the job in messages.
	Kind string
	// Args are the arguments of sbatch, without its name.
	Args []string
	// Tasks is the number of records that it leaves in the database.
	Tasks int
	// Want is the state in which each of them ends.
	Want string
	// Then is a command of scontrol or scancel that is run for the job's id some seconds after its submission. It may be
	// empty.
	Then []string
	// Sleep is about how long it runs.
	Sleep time.Duration
}

// jobKinds are the kinds of jobs, drawn with equal probability. Each ends within a minute of its start.
var jobKinds = []func(dice *rand.Rand) Job{
	func(dice *rand.Rand) Job { return newJob("short", dice, 20, "") },
	func(dice *rand.Rand) Job {
		return newJob("two nodes", dice, 10, "srun hostname; ", "-N2", "--exclusive")
	},
	func(dice *rand.Rand) Job {
		job := newJob("array", dice, 12, "", "--array=1-4")
		job.Tasks = 4
		return job
	},
	func(dice *rand.Rand) Job { return newJob("GPU", dice, 15, "", "-p", "gpu", "--gres=gpu:h100:1") },
	func(dice *rand.Rand) Job { return newJob("feature", dice, 8, "", "-p", "all", "-C", "gpu") },
	func(dice *rand.Rand) Job {
		return newJob("named node", dice, 10, "", "-w", fmt.Sprintf("cpu-%d", dice.IntN(3)))
	},
	func(dice *rand.Rand) Job { return newJob("excluded node", dice, 10, "", "-x", "cpu-0") },
	func(dice *rand.Rand) Job { return newJob("begins later", dice, 5, "", "--begin=now+15") },
	func(dice *rand.Rand) Job {
		job := newJob("held", dice, 5, "", "-H")
		job.Then = []string{"scontrol", "release"}
		return job
	},
	func(*rand.Rand) Job {
		return Job{Kind: "fails", Args: []string{"--wrap", "sleep 2; exit 3"}, Want: "FAILED", Sleep: 2 * time.Second}
	},
	func(*rand.Rand) Job {
		return Job{Kind: "is cancelled", Args: []string{"--wrap", "sleep 600"}, Want: "CANCELLED", Then: []string{"scancel"}}
	},
}

// newJob returns a job that sleeps for up to so many seconds after a command.
func newJob(kind string, dice *rand.Rand, most int, command string, args ...string) Job {
	seconds := 1 + dice.IntN(most)
	return Job{Kind: kind, Args: append(args, "--wrap", fmt.Sprint(command, "sleep ", seconds)),
		Sleep: time.Duration(seconds) * time.Second}
}

// drawJob returns a random job.
func drawJob(dice *rand.Rand) Job {
	job := jobKinds[dice.IntN(len(jobKinds))](dice)
	job.Tasks = max(job.Tasks, 1)
	if job.Want == "" {
		job.Want = "COMPLETED"
	}
	return job
}

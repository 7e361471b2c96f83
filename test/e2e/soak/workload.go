package soak

import (
	"fmt"
	"math/rand/v2"
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
}

// jobKinds are the kinds of jobs, drawn with equal probability. Each ends within a minute of its start.
var jobKinds = []func(dice *rand.Rand) Job{
	func(dice *rand.Rand) Job {
		return Job{Kind: "short", Args: []string{"--wrap", sleep(dice, 1, 20)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "two nodes", Args: []string{"-N2", "--exclusive", "--wrap", "srun hostname; " + sleep(dice, 1, 10)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "array", Tasks: 4, Args: []string{"--array=1-4", "--wrap", sleep(dice, 1, 12)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "GPU", Args: []string{"-p", "gpu", "--gres=gpu:h100:1", "--wrap", sleep(dice, 1, 15)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "feature", Args: []string{"-p", "all", "-C", "gpu", "--wrap", sleep(dice, 1, 8)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "named node", Args: []string{"-w", fmt.Sprintf("cpu-%d", dice.IntN(3)), "--wrap", sleep(dice, 1, 10)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "excluded node", Args: []string{"-x", "cpu-0", "--wrap", sleep(dice, 1, 10)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "begins later", Args: []string{"--begin=now+15", "--wrap", sleep(dice, 1, 5)}}
	},
	func(dice *rand.Rand) Job {
		return Job{Kind: "held", Args: []string{"-H", "--wrap", sleep(dice, 1, 5)}, Then: []string{"scontrol", "release"}}
	},
	func(*rand.Rand) Job {
		return Job{Kind: "fails", Args: []string{"--wrap", "sleep 2; exit 3"}, Want: "FAILED"}
	},
	func(*rand.Rand) Job {
		return Job{Kind: "is cancelled", Args: []string{"--wrap", "sleep 600"}, Want: "CANCELLED", Then: []string{"scancel"}}
	},
}

func sleep(dice *rand.Rand, least, most int) string {
	return fmt.Sprint("sleep ", least+dice.IntN(most-least+1))
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

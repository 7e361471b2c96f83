package realslurm

// Job is a job that a test submits.
type Job struct {
	// Name is the job's name; User submits it.
	Name, User string
	// Args follow sbatch's name, output and --parsable.
	Args []string
	// Want lists the states that squeue must show of the job, its array tasks or its components,
	// a pending state with its reason. A | separates alternatives.
	Want []string
}

// longScript is the batch script of jobs that run longer than any test.
const longScript = "sleep 86400"

// startedJobs start at once. Jobs on n7 end soon, and the others keep running.
func startedJobs(accounting bool, _ map[string]string) []Job {
	return []Job{
		{"completed", "alice", withScript("true", "-w", "n7"), []string{"COMPLETED"}},
		{"failed", "alice", withScript("exit 3", "-w", "n7"), []string{"FAILED"}},
		{"cancelled", "bob", withScript(longScript, "-w", "n7"), []string{"RUNNING"}},
		{"full", "alice", withScript(longScript, withQOS(accounting, "-p", "gpu", "-w", "n1", "-n", "16", "--gpus=4",
			"--mem=32000")...),
			[]string{"RUNNING"}},
		{"gpus", "alice", withScript(longScript, "-p", "gpu", "-w", "n2", "-n", "4", "--gres=gpu:h100:2", "--mem=8000",
			"-L", "matlab:2"),
			[]string{"RUNNING"}},
		{"two-nodes", "bob", withScript("srun "+longScript, "-w", "n2,n4", "-N", "2", "-n", "2"), []string{"RUNNING"}},
		{"array", "alice", withScript(longScript, "-w", "n2", "--array=0-9%2"),
			[]string{"RUNNING", "PENDING JobArrayTaskLimit"}},
		{"het", "alice", withScript(longScript, "-w", "n2", "-n", "1", ":", "-w", "n4", "-n", "2"),
			[]string{"RUNNING"}},
		{"suspended", "bob", withScript(longScript, "-w", "n2"), []string{"RUNNING"}},
	}
}

// pendingJobs cannot start while startedJobs run. The jobs that wait for resources and for priority are submitted to a
// partition that contains only n1. If a job requested n1 by name, the scheduler would report that n1 is not available.
// If a job could also use a down node, it would report that this node is not available.
func pendingJobs(accounting bool, ids map[string]string) []Job {
	jobs := []Job{
		{"for-resources", "alice", withScript(longScript, "-p", "debug", "-n", "16", "--gpus=4", "-t", "60"),
			[]string{"PENDING Resources"}},
		{"for-priority", "bob", withScript(longScript, "-p", "debug", "-n", "16", "-t", "60", "--nice=1000000"),
			[]string{"PENDING Priority"}},
		{"two-partitions", "alice", withScript(longScript, "-p", "batch,gpu", "-w", "n1", "-n", "16", "-t", "60",
			"--nice=1000000"),
			[]string{"PENDING"}},
		{"for-dependency", "alice", withScript(longScript, "-d", "afterok:"+ids["full"]),
			[]string{"PENDING Dependency"}},
		{"held", "alice", withScript(longScript, "-H"), []string{"PENDING JobHeldUser"}},
		{"for-begin", "alice", withScript(longScript, "--begin=now+1days"), []string{"PENDING BeginTime"}},
		{"for-licence", "alice", withScript(longScript, "-w", "n2", "-L", "matlab:19"), []string{"PENDING Licenses"}},
		{"for-node", "bob", withScript(longScript, "-w", "n5"),
			[]string{"PENDING ReqNodeNotAvail|PENDING Nodes required"}},
	}
	if accounting {
		jobs = append(jobs, Job{"for-qos", "alice",
			withScript(longScript, withQOS(accounting, "-p", "gpu", "-N", "2", "--gpus=8")...),
			[]string{"PENDING QOSMaxGRESPerUser"}})
	}
	return jobs
}

func withScript(script string, args ...string) []string {
	return append(args, "--wrap", script)
}

func withQOS(accounting bool, args ...string) []string {
	if !accounting {
		return args
	}
	return append(args, "-A", "ml", "--qos=high")
}

package gate

import "regexp"

// sending matches the lines of sdiag(1) that show that slurmctld has messages for nodes.
var sending = regexp.MustCompile(`(?m)^Agent (?:queue size|count|thread count):\s+[1-9]`)

func isSending(sdiag string) bool { return sending.MatchString(sdiag) }

// unlaunched matches a job, as "squeue --format='%T %r'" prints it, that has its nodes but is not launched yet. Some of
// its nodes are being powered up, or run the prolog (PrologFlags=Alloc in slurm.conf(5)).
var unlaunched = regexp.MustCompile(`(?m)^(?:CONFIGURING\b|RUNNING Prolog$)`)

func hasUnlaunched(squeue string) bool { return unlaunched.MatchString(squeue) }

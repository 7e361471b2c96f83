package gate

import (
	"regexp"
	"strings"
)

// The states of a partition (scontrol(1)).
const (
	stateUp   = "UP"
	stateDown = "DOWN"
)

// partitionLine is what matters of a line of "scontrol --oneliner show partitions".
var partitionLine = regexp.MustCompile(`(?m)^PartitionName=(\S+) .* State=(\S+)`)

// partitionsIn returns the names of the partitions in a state, in the order in which scontrol shows them.
func partitionsIn(shown, state string) []string {
	var out []string
	for _, line := range partitionLine.FindAllStringSubmatch(shown, -1) {
		if line[2] == state {
			out = append(out, line[1])
		}
	}
	return out
}

// confLine is a partition with its state in slurm.conf, whose last state counts.
var confLine = regexp.MustCompile(`(?im)^\s*PartitionName=(\S+)\s[^#\n]*\bState=(\w+)`)

// partitionsDownIn returns the partitions that a slurm.conf has DOWN. It does not look into included files.
func partitionsDownIn(conf string) []string {
	var out []string
	for _, line := range confLine.FindAllStringSubmatch(strings.ReplaceAll(conf, "\\\n", " "), -1) {
		if strings.EqualFold(line[2], stateDown) {
			out = append(out, line[1])
		}
	}
	return out
}

// sending is what sdiag(1) says while slurmctld has messages for nodes.
var sending = regexp.MustCompile(`(?m)^Agent (?:queue size|count|thread count):\s+[1-9]`)

func isSending(sdiag string) bool { return sending.MatchString(sdiag) }

// unlaunched is a job, as "squeue --format='%T %r'" prints it, that has its nodes and is not launched: some of them are
// powered up, or run the prolog (PrologFlags=Alloc in slurm.conf(5)).
var unlaunched = regexp.MustCompile(`(?m)^(?:CONFIGURING\b|RUNNING Prolog$)`)

func hasUnlaunched(squeue string) bool { return unlaunched.MatchString(squeue) }

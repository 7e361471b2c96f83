package observed

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slurmFaults returns the reasons with which slurmctld, slurmd and LBNL Node Health Check drain a node because of a
// fault of its worker. A * at the end matches any text.
func slurmFaults() []string {
	return []string{"Duplicate jobid", "Kill task failed", "Prolog error", "Epilog error", "Job env setup error",
		"batch job complete failure", "SlurmdSpoolDir is full", "Low CPUs", "Low RealMemory*",
		"Low socket*core*thread count", "Low TmpDisk", "CoreSpec differ", gresFaults, "NHC:*"}
}

// gresFaults stands for the reasons that gresFault matches.
const gresFaults = "gres/KIND count or type"

// gresFault matches the reasons with which slurmctld drains a node whose generic resources differ from its record, such
// as "gres/gpu count reported lower than configured (3 < 4)" and "gres/gpu type (h100) reported but not configured".
var gresFault = regexp.MustCompile(`^gres/\S+ (count (reported lower|too low|changed)|type \(.*\) reported) `)

// FaultReasons returns the reasons of drains that end with a worker of the NodeSet. It returns none if the NodeSet keeps
// these drains.
func FaultReasons(n *v1beta1.NodeSet) []string {
	switch f := n.Spec.FaultDrains; {
	case f == nil:
		return slurmFaults()
	case f.Policy == v1beta1.FaultDrainsKeep:
		return nil
	default:
		return slices.Concat(slurmFaults(), f.HealthCheckReasons)
	}
}

// isFault reports whether Slurm or a health check, which runs as root, set one of the reasons. Any other user is a
// person, and any other reason may come from an administrator, who may also be root. preStop repeats the reason as root.
// slurmctld joins the reasons of a registration, as in "Low socket*core*thread count, Low CPUs", and appends later ones,
// as in "Epilog error : Kill task failed".
func isFault(n *slurm.Node, faults []string) bool {
	if n.ReasonBy != "root" && n.ReasonBy != "slurm" {
		return false
	}
	reason := reasonBeforeAbsence(n)
	if reason == "" || strings.HasPrefix(reason, v1beta1.DrainReasonPrefix) {
		return false
	}
	isOther := func(part string) bool { return !matchesFault(part, faults) }
	parts := strings.Split(strings.ReplaceAll(reason, reasonSeparator, ", "), ", ")
	return matchesFault(reason, faults) || !slices.ContainsFunc(parts, isOther)
}

// reasonSeparator separates the reasons of a node in slurmctld's text.
const reasonSeparator = " : "

// reasonBeforeAbsence returns the reason of a node without slurmctld's addition for a slurmd that is gone, as in "Epilog
// error : Not responding".
func reasonBeforeAbsence(n *slurm.Node) string {
	parts := strings.Split(strings.TrimSpace(n.Reason), reasonSeparator)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return part == reasonNotResponding || part == reasonRebooted
	}), reasonSeparator)
}

// matchesFault reports whether a text matches one of the reasons.
func matchesFault(text string, faults []string) bool {
	return slices.ContainsFunc(faults, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		if pattern == gresFaults {
			return gresFault.MatchString(text)
		}
		return text == pattern || open && strings.HasPrefix(text, prefix)
	})
}

package inuse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
)

// loss lists what new files take away.
type loss struct {
	// partitions are removed. nodes are static nodes that are removed, set DOWN or get another shape. newNodes are added: a
	// dynamic node with such a name gets the shape of the line. movedNodes are static nodes that get another address. gresTypes
	// are removed.
	partitions, nodes, newNodes, movedNodes, gresTypes []string
	// maxJobs is how many jobs slurmctld may remember from then on, 0 if certainly not fewer than before.
	maxJobs uint64
	// unread are the numbers on which maxJobs depends that cannot be read.
	unread []string
}

// lossOf returns what the files after take away.
func lossOf(before, after conf) loss {
	out := loss{partitions: missing(before.partitions, after.partitions), nodes: before.brokenNodes(after),
		newNodes: missing(after.nodeNames(), before.nodeNames()), movedNodes: before.movedNodes(after),
		gresTypes: missing(before.gresTypes, after.gresTypes)}
	if after.maxJobs < before.maxJobs || !slices.Equal(after.unread, before.unread) {
		out.maxJobs, out.unread = after.maxJobs, after.unread
	}
	return out
}

func (l loss) isNone() bool {
	return len(l.partitions)+len(l.nodes)+len(l.newNodes)+len(l.movedNodes)+len(l.gresTypes) == 0 && l.maxJobs == 0
}

// jobMargin is the factor between the jobs that slurmctld must be able to remember and the current ones: more jobs are submitted
// before it reads the files.
const jobMargin = 2

// judge returns an error if jobs use what is lost.
func (l loss) judge(jobs jobList) error {
	partitions, nodes := usesOf(l.partitions, jobs.unfinished, partitionsOf), usesOf(l.nodes, jobs.unfinished, nodesOf)
	newNodes, movedNodes := usesOf(l.newNodes, jobs.unfinished, nodesOf), usesOf(l.movedNodes, jobs.unfinished, allocatedTo)
	gres := usesOf(l.gresTypes, jobs.unfinished, gresTypesOf)
	switch {
	case len(partitions) > 0:
		return &configagent.HeldError{Reason: v1beta1.ReasonPartitionInUse, Message: "it removes partitions of unfinished " +
			"jobs, which slurmctld would end: " + describe(partitions) + "; the partitions are drained, and it is applied " +
			"when these jobs have ended"}
	case len(nodes) > 0:
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: "it removes, reshapes or sets DOWN nodes that " +
			"unfinished jobs have or require, which slurmctld would end: " + describe(nodes) + "; it is applied when these " +
			"jobs have ended"}
	case len(newNodes) > 0:
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: "it gives names of dynamic nodes to other " +
			"nodes, and slurmctld would end unfinished jobs that have or require them: " + describe(newNodes) + "; " +
			"choose other names, or wait until these jobs have ended"}
	case len(movedNodes) > 0:
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: "it changes NodeAddr, NodeHostname or Port of " +
			"nodes with jobs, which slurmctld would set DOWN when they do not answer there, and end these jobs: " +
			describe(movedNodes) + "; it is applied when these jobs have ended"}
	case len(gres) > 0:
		return &configagent.HeldError{Reason: v1beta1.ReasonGresInUse, Message: "it removes GresTypes that unfinished jobs have " +
			"or ask for, which slurmctld would give to other jobs, too: " + describe(gres) + "; it is applied when these jobs " +
			"have ended"}
	case l.maxJobs > 0 && jobs.count*jobMargin >= l.maxJobs:
		return &configagent.HeldError{Reason: v1beta1.ReasonTooManyJobs, Message: fmt.Sprintf("%s (MaxJobCount, FirstJobId and "+
			"MaxJobId), and slurmctld, which remembers %d, forgets all when there are too many, which ends them; it is applied "+
			"when there are fewer than half as many as it allows", l.remembered(), jobs.count)}
	}
	return nil
}

// remembered describes how many jobs slurmctld may remember.
func (l loss) remembered() string {
	if len(l.unread) > 0 {
		return "it is unknown how many jobs it lets slurmctld remember, since " + limitList(l.unread) + " cannot be read"
	}
	return fmt.Sprintf("it lets slurmctld remember %d jobs", l.maxJobs)
}

// doubt returns the error of a revision that takes something away while the jobs are unknown.
func (l loss) doubt(cause error) error {
	reason, what := v1beta1.ReasonTooManyJobs, l.remembered()
	switch {
	case len(l.partitions) > 0:
		reason, what = v1beta1.ReasonPartitionInUse, "it removes the partitions "+limitList(l.partitions)
	case len(l.nodes) > 0:
		reason, what = v1beta1.ReasonNodeInUse, "it removes, reshapes or sets DOWN the nodes "+limitList(l.nodes)
	case len(l.newNodes) > 0:
		reason, what = v1beta1.ReasonNodeInUse, "it adds the nodes "+limitList(l.newNodes)+", whose names dynamic nodes may have"
	case len(l.movedNodes) > 0:
		reason, what = v1beta1.ReasonNodeInUse, "it changes NodeAddr, NodeHostname or Port of the nodes "+limitList(l.movedNodes)
	case len(l.gresTypes) > 0:
		reason, what = v1beta1.ReasonGresInUse, "it removes the GresTypes "+limitList(l.gresTypes)
	}
	return &configagent.HeldError{Reason: reason,
		Message: fmt.Sprintf("%s, and slurmctld does not say which jobs there are: %v", what, cause)}
}

// maxNamed is how many things, and how many jobs of each, a message names.
const maxNamed = 5

// describe returns a list such as "a (jobs 1, 2), b (job 3)".
func describe(uses []use) string {
	var out []string
	for _, u := range uses[:min(len(uses), maxNamed)] {
		noun := "jobs "
		if len(u.jobs) == 1 {
			noun = "job "
		}
		out = append(out, u.name+" ("+noun+limitList(u.jobs)+")")
	}
	if more := len(uses) - maxNamed; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// limitList returns names separated by commas, or only the first of many.
func limitList(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

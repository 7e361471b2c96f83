package inuse

import (
	"context"
	"regexp"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
)

// checkNodeNames returns *configagent.HeldError if the wanted files add a node set with the name of a Slurm node: slurmctld
// does not start with one. The trial cannot see dynamic nodes. If slurmctld does not answer, nothing is held: a change that
// fails is undone.
func (j Judge) checkNodeNames(ctx context.Context, before, after conf) error {
	names := missing(after.nodeSets, before.nodeSets)
	if len(names) == 0 {
		return nil
	}
	nodes, err := j.nodes(ctx)
	if err != nil {
		return nil
	}
	clash := slices.DeleteFunc(names, func(name string) bool { return !nodes[name] })
	if len(clash) == 0 {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonNameTaken, Message: "it gives names of Slurm nodes to node sets, with " +
		"which slurmctld would not start: " + limitList(clash) + "; it is applied when there are no such Slurm nodes"}
}

// shownNode matches the name in a line of "scontrol --oneliner show nodes".
var shownNode = regexp.MustCompile(`(?m)^NodeName=(\S+)`)

// nodes returns the names of all Slurm nodes, including FUTURE ones.
func (j Judge) nodes(ctx context.Context) (map[string]bool, error) {
	shown, err := j.ask(ctx, "scontrol", "--all", "--future", "--oneliner", "show", "nodes")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, line := range shownNode.FindAllStringSubmatch(shown, -1) {
		out[line[1]] = true
	}
	return out, nil
}

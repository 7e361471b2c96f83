package slurmrestd

import (
	"net/http"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

func (k *call) listNodes() {
	since, ok := k.parseUpdateTime(http.StatusInternalServerError)
	if !ok {
		return
	}
	flags, ok := k.parseShowFlags()
	if !ok {
		return
	}
	nodes, at := k.cluster.ReadNodes(flags.future)
	if k.answerUnchangedNodes(since, at) {
		return
	}
	k.answerNodes(flags, nodes, at.Now)
}

// answerUnchangedNodes answers instead of the list if nothing changed since update_time, and reports whether it did.
// 24.11 loads the partitions with the same update_time and fails if they did not change.
func (k *call) answerUnchangedNodes(since slurm.Time, changed slurmctld.Times) bool {
	switch {
	case isUnchanged(since, changed.Nodes):
		k.answerNotModified()
	case k.cfg.Release == slurmctld.Release2411 && isUnchanged(since, changed.Partitions):
		k.failAbout(http.StatusInternalServerError, -1, "Unable to query partitions")
	default:
		return false
	}
	return true
}

func (k *call) answerNodes(f showFlags, list []*slurm.Node, now slurm.Time) {
	if !f.mixed {
		for i, n := range list {
			if n.State.Base == slurm.NodeMixed {
				plainer := *n
				plainer.State.Base = slurm.NodeAllocated
				list[i] = &plainer
			}
		}
	}
	k.answer(f.status, func(o *answerWriter) {
		writeList(o, "nodes", k.recordWriters.node, list)
		writeTime(o, "last_update", now)
	}, f.errs, nil)
}

func (k *call) getNode() {
	since, ok := k.parseUpdateTime(http.StatusInternalServerError)
	if !ok {
		return
	}
	flags, ok := k.parseShowFlags()
	if !ok {
		return
	}
	nodes, at := k.cluster.ReadNodes(flags.future)
	if k.answerUnchangedNodes(since, at) {
		return
	}
	for _, n := range nodes {
		if n.Name == k.pathValue {
			k.answerNodes(flags, []*slurm.Node{n}, at.Now)
			return
		}
	}
	k.failAbout(http.StatusOK, 0, "Failure to query node "+k.pathValue)
}

package slurmtest

import (
	"net/http"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
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
	nodes, changed, now := k.nodeRecords(flags)
	if k.answerUnchangedNodes(since, changed) {
		return
	}
	k.answerNodes(flags, nodes, now)
}

// answerUnchangedNodes answers in place of the list if update_time says that nothing changed, and
// reports whether it did. 24.11 loads the partitions with the same update_time and fails if they
// did not change.
func (k *call) answerUnchangedNodes(since slurm.Time, changed changeTimes) bool {
	switch {
	case isUnchanged(since, changed.nodes):
		k.answerNotModified()
	case k.cfg.Release == Release2411 && isUnchanged(since, changed.partitions):
		k.failAbout(http.StatusInternalServerError, -1, "Unable to query partitions")
	default:
		return false
	}
	return true
}

// nodeRecords returns the nodes' records as they are now.
func (k *call) nodeRecords(f showFlags) ([]*slurm.Node, changeTimes, slurm.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.freezeRecords()
	list := make([]*slurm.Node, 0, len(k.nodes))
	for _, n := range k.nodes {
		if f.future || n.base != slurm.NodeFuture {
			list = append(list, n.view())
		}
	}
	return list, k.changedAt, k.now
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
	nodes, changed, now := k.nodeRecords(flags)
	if k.answerUnchangedNodes(since, changed) {
		return
	}
	for _, n := range nodes {
		if n.Name == k.pathValue {
			k.answerNodes(flags, []*slurm.Node{n}, now)
			return
		}
	}
	k.failAbout(http.StatusOK, 0, "Failure to query node "+k.pathValue)
}

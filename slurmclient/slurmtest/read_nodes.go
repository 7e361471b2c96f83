package slurmtest

import (
	"net/http"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func (k *call) listNodes() {
	since, ok := k.since(http.StatusInternalServerError)
	if !ok {
		return
	}
	flags, ok := k.flags()
	if !ok {
		return
	}
	nodes, changed, now := k.nodeRecords(flags)
	if k.nodesGate(since, changed) {
		return
	}
	k.answerNodes(flags, nodes, now)
}

// answerUnchangedNodes answers in place of the list if update_time says that nothing changed, and
// reports whether it did. 24.11 loads the partitions with the same update_time and fails if they
// did not change.
func (k *call) nodesGate(since slurm.Time, changed changes) bool {
	switch {
	case unchanged(since, changed.nodes):
		k.unmodified()
	case k.cfg.Release == Release2411 && unchanged(since, changed.partitions):
		k.failAbout(http.StatusInternalServerError, -1, "Unable to query partitions")
	default:
		return false
	}
	return true
}

// nodeRecords returns the nodes' records as they are now.
func (k *call) nodeRecords(f showFlags) ([]*slurm.Node, changes, slurm.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.snapshot()
	list := make([]*slurm.Node, 0, len(k.nodes))
	for _, n := range k.nodes {
		if f.future || n.base != slurm.NodeFuture {
			list = append(list, n.view())
		}
	}
	return list, k.changed, k.now
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
	k.answer(f.status, func(o *out) {
		writeList(o, "nodes", k.wr.node, list)
		writeTime(o, "last_update", now)
	}, f.errs, nil)
}

func (k *call) getNode() {
	since, ok := k.since(http.StatusInternalServerError)
	if !ok {
		return
	}
	flags, ok := k.flags()
	if !ok {
		return
	}
	nodes, changed, now := k.nodeRecords(flags)
	if k.nodesGate(since, changed) {
		return
	}
	for _, n := range nodes {
		if n.Name == k.arg {
			k.answerNodes(flags, []*slurm.Node{n}, now)
			return
		}
	}
	k.failAbout(http.StatusOK, 0, "Failure to query node "+k.arg)
}

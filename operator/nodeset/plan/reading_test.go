package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// readNodes is a poll of the nodes.
func (w *world) readNodes() {
	if w.op.failed = w.dead; w.dead {
		return
	}
	w.op.nodes, w.op.total, w.op.nodesAt = map[string]Record{}, 0, w.now
	w.beginRun()
	if w.swapped {
		w.readOther()
		return
	}
	odd, lacking, silent := w.r.IntN(20), 0, 0
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n := w.slurm[name]
		r := w.record(n)
		r.Down = r.Down || !n.up && !r.Future
		switch {
		case w.calm:
		case odd == 0, odd == 1 && w.chance(50):
			lacking++
			continue
		case odd == 2 && !r.Future && !r.Down:
			silent++
			r.Down, r.Silent = true, true
		}
		w.op.nodes[name] = r
		if !r.Future {
			w.op.total++
		}
		if _, observed := w.op.drained[name]; r.Drain && !observed {
			w.op.drained[name] = w.now
		}
	}
	maps.DeleteFunc(w.op.drained, func(name string, _ time.Time) bool { return !w.op.nodes[name].Drain })
	w.sayOdd(lacking, silent)
}

// sayOdd logs a reading that lacks nodes or has all of them silent.
func (w *world) sayOdd(lacking, silent int) {
	if lacking > 0 {
		w.say("odd reading: %d nodes are missing", lacking)
	}
	if silent > 0 {
		w.say("odd reading: all nodes are silent, %d of them answer", silent)
	}
}

// allocated counts the jobs that show in the state of a node: suspended ones do not.
func (w *world) allocated(n *simRecord) int {
	count := 0
	for id := range n.jobs {
		if !w.jobs[id].suspended {
			count++
		}
	}
	return count
}

// readJobs is a poll of the jobs.
func (w *world) readJobs() {
	if w.op.failed = w.dead; w.dead {
		return
	}
	w.op.work, w.op.jobsAt, w.op.jobsCluster = map[string]Work{}, w.now, w.answering()
	if w.swapped {
		return
	}
	for id, j := range w.jobs {
		have := w.op.work[j.node]
		w.op.work[j.node] = Work{Jobs: have.Jobs + 1, LastJob: max(id, have.LastJob)}
	}
}

// seen is what the operator has.
func (w *world) observed() Seen {
	s := Seen{Unregistered: w.op.unregistered, Slurm: Slurm{
		Connected: true, Known: !w.op.nodesAt.IsZero() && !w.op.jobsAt.IsZero(),
		Cluster: w.op.cluster, Records: maps.Clone(w.op.nodes), Total: w.op.total, Work: w.op.work, DrainedSince: w.op.drained, JobsReadAt: w.op.jobsAt, NodesReadAt: w.op.nodesAt,
	}}
	const stale = 60 * time.Second
	s.Slurm.Fresh = s.Slurm.Known && !w.op.failed && !w.mixed() && w.now.Sub(w.op.nodesAt) < stale && w.now.Sub(w.op.jobsAt) < stale
	for _, p := range w.op.pods {
		worker := Worker{
			Pod: p.name, UID: p.uid, Slot: Slot{Ordinal: p.ordinal}, SlurmName: p.name, Revision: p.revision, Created: p.created,
			Running: p.running, RunningSince: p.runningSince, Ready: p.ready, ReadySince: p.readySince, Finished: p.finished, Going: p.going, Joined: p.joined, Note: p.note, Bond: p.bond,
		}
		if p.scheduled {
			worker.KubeNode = fmt.Sprintf("k-%d", p.ordinal)
			if w.cordoned[p.ordinal] {
				worker.Cordon = "its Kubernetes node is cordoned"
			}
		}
		s.Workers = append(s.Workers, worker)
	}
	return s
}

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
)

// readNodes is a poll of the nodes.
func (w *simulation) readNodes() {
	if w.operator.failed = w.slurmrestdDown; w.slurmrestdDown {
		return
	}
	w.operator.nodes, w.operator.total, w.operator.nodesAt = map[string]plan.Record{}, 0, w.now
	w.operator.shapes, w.operator.gresLacking = map[string]int{}, map[string]bool{}
	w.beginPoll()
	if w.otherClusterAnswers {
		w.readOtherNodes()
		return
	}
	odd, lacking, silent := w.rand.IntN(20), 0, 0
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
			r.Down, r.NotResponding = true, true
		}
		w.operator.nodes[name], w.operator.shapes[name], w.operator.gresLacking[name] = r, n.shape, n.gres.unwritten
		if !r.Future {
			w.operator.total++
		}
		if _, observed := w.operator.drained[name]; r.Drain && !observed {
			w.operator.drained[name] = w.now
		}
	}
	maps.DeleteFunc(w.operator.drained, func(name string, _ time.Time) bool { return !w.operator.nodes[name].Drain })
	w.logOddReading(lacking, silent)
}

// logOddReading logs a reading that lacks nodes or has all of them silent.
func (w *simulation) logOddReading(lacking, silent int) {
	if lacking > 0 {
		w.logf("odd reading: %d nodes are missing", lacking)
	}
	if silent > 0 {
		w.logf("odd reading: all nodes are silent, %d of them answer", silent)
	}
}

// allocated counts the jobs that the state of a node shows: suspended ones do not count.
func (w *simulation) allocated(n *simRecord) int {
	count := 0
	for id := range n.jobs {
		if !w.jobs[id].suspended {
			count++
		}
	}
	return count
}

// readJobs is a poll of the jobs.
func (w *simulation) readJobs() {
	if w.operator.failed = w.slurmrestdDown; w.slurmrestdDown {
		return
	}
	w.operator.work, w.operator.jobsAt, w.operator.jobsCluster = map[string]occupancy.Work{}, w.now, w.answering()
	w.operator.references, w.operator.pending, w.operator.referencesProblem = map[string]string{}, nil, ""
	if w.otherClusterAnswers {
		return
	}
	if w.records.unreadable {
		w.operator.referencesProblem = "reservations cannot be read"
	} else {
		w.operator.references, w.operator.pending = w.readReferences(), w.readPending()
	}
	for id, j := range w.jobs {
		have := w.operator.work[j.node]
		w.operator.work[j.node] = occupancy.Work{Jobs: have.Jobs + 1, LastJob: max(id, have.LastJob)}
	}
}

// observe returns the operator's observation.
func (w *simulation) observe() plan.Observation {
	s := plan.Observation{Claims: w.observeClaims(), UnregisteredDeletions: w.operator.unregistered,
		Slurm: plan.SlurmReading{
			Connected: true, Known: !w.operator.nodesAt.IsZero() && !w.operator.jobsAt.IsZero(),
			ClusterName: w.operator.cluster, Records: maps.Clone(w.operator.nodes), TotalNodes: w.operator.total,
			Work: w.operator.work, DrainedSince: w.operator.drained, JobsReadAt: w.operator.jobsAt,
			NodesReadAt: w.operator.nodesAt, References: w.operator.references, ReferencesProblem: w.operator.referencesProblem,
			Pending: w.operator.pending, NodesIn: w.countNodes(w.operator.nodes),
		}, SurplusSince: w.operator.surplusSince, Workers: w.observeWorkers(), Revisions: slices.Clone(w.stored)}
	w.compareShapes(s.Slurm.Records)
	w.compareGRES(s.Slurm.Records)
	const stale = 60 * time.Second
	s.Slurm.Mixed = w.isMixed()
	s.Slurm.Fresh = s.Slurm.Known && !w.operator.failed && !w.isMixed() && w.now.Sub(w.operator.nodesAt) < stale &&
		w.now.Sub(w.operator.jobsAt) < stale
	s.GoneSince, s.TakenAt = w.goneSince(s.Workers), w.operator.expectations.TakenAt
	return s
}

// observeWorkers returns the operator's view of the pods.
func (w *simulation) observeWorkers() []plan.Worker {
	var out []plan.Worker
	for _, p := range w.operator.pods {
		worker := plan.Worker{
			Pod: p.name, UID: p.uid, Slot: plan.Slot{Ordinal: p.ordinal}, SlurmName: p.name, Revision: p.revision,
			Created: p.created,
			Running: p.running, RunningSince: p.runningSince, Ready: p.ready, ReadySince: p.readySince,
			Finished: p.finished, DeletedAt: p.deletedAt, ClusterRef: p.clusterRef, DrainMark: p.drainMark,
			Registered: p.registeredAt, NoAgent: p.noAgent, NeverStarted: p.runningSince.IsZero(),
			MissingOwners: p.missingOwners,
		}
		if p.scheduled {
			worker.KubeNode = fmt.Sprintf("k-%d", p.ordinal)
			if w.cordoned[p.ordinal] {
				worker.CordonReason = "its Kubernetes node is cordoned"
			}
		}
		out = append(out, worker)
	}
	return out
}

package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// world is Kubernetes, Slurm and an operator that sees both late and in part.
type world struct {
	r    *rand.Rand
	now  time.Time
	wish Wish

	pods  map[string]*simPod
	slurm map[string]*simRecord
	jobs  map[uint32]*simJob
	uids  int
	// cordoned Kubernetes nodes, by ordinal: each worker has its own.
	cordoned map[int]bool
	// dead is whether slurmrestd answers at present.
	dead bool
	// returnToService is Slurm's: with 2 any DOWN ends when slurmd registers.
	returnToService int
	// held are the Slurm nodes that an administrator took out of service, by name.
	held map[string]bool
	// blind: the operator is not told who set a node DOWN or FAIL.
	blind bool

	op operator
	// calm: nothing odd happens any more.
	calm bool
	// swapped: another Slurm cluster answers, with nodes of the same names.
	swapped bool
	// untold: the cluster that the NodeSet is made to join does not tell its name.
	untold bool
	// broken is the first promise that was broken.
	broken string
	log    []string
}

type simPod struct {
	name, uid       string
	version         int // as a resourceVersion
	ordinal         int
	revision        string
	created         time.Time
	scheduled       bool
	running, ready  bool
	readySince      time.Time
	finished, joins bool
	stuck           bool // its containers do not start
	refused         bool // Slurm does not let its slurmd register
	runningSince    time.Time
	loose           bool // somebody else took back the drain on which its protection rests
	going           time.Time
	joined          string // the Controller that it was made for
	note            Note
	bond            Bond
	work            map[uint32]bool // jobs whose processes run in it
}

type simRecord struct {
	Record
	reason string
	jobs   map[uint32]bool // as slurmctld has it
	up     bool            // a slurmd answers
	fail   bool
}

// Foreign reports that somebody else took the node out of service.
func (n *simRecord) Foreign() bool { return n.holds() || n.Drain && !n.Ours }

func (n *simRecord) holds() bool { return n.fail || n.Down && !n.Ours && n.reason != "" }

// record is the node as slurmrestd tells it.
func (w *world) record(n *simRecord) Record {
	r := n.Record
	r.Busy = w.allocated(n) > 0
	r.Held = n.holds() && !w.blind
	return r
}

type simJob struct {
	node      string
	suspended bool
}

// operator is what the process knows; a restart wipes it.
type operator struct {
	cluster      string // of the last reading
	planner      *Planner
	pods         map[string]simPod
	nodes        map[string]Record
	total        int
	work         map[string]Work
	drained      map[string]time.Time
	nodesAt      time.Time
	jobsAt       time.Time
	failed       bool
	unregistered []time.Time
}

func newWorld(seed uint64, planner *Planner) *world {
	w := &world{
		r: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0),
		pods: map[string]*simPod{}, slurm: map[string]*simRecord{}, jobs: map[uint32]*simJob{}, cordoned: map[int]bool{}, held: map[string]bool{},
	}
	w.returnToService, w.untold = 1+w.r.IntN(2), w.chance(20)
	top := 5
	w.wish = Wish{
		UID: "set", Cluster: "a", Joins: "a", Replicas: w.r.IntN(4), Revision: "a", SlurmName: func(i int) string { return fmt.Sprintf("n-%d", i) },
		Update: Update{Open: true, MaxUnavailable: 1 + w.r.IntN(2)},
	}
	if w.r.IntN(3) > 0 {
		w.wish.Max, w.wish.Records = &top, true
	}
	w.op = operator{planner: planner}
	for i := range w.r.IntN(3) { // an earlier version made them
		w.createPod(Step{Slot: Slot{Ordinal: i}})
		w.pods[w.wish.SlurmName(i)].bond.Loose = true
	}
	w.restart()
	return w
}

func (w *world) chance(percent int) bool { return w.r.IntN(100) < percent }

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%4.0fs ", w.now.Sub(time.Unix(1_800_000_000, 0)).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.say("BROKEN: "+format, args...)
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// restart is what SIGKILL leaves: nothing. The brake begins closed.
func (w *world) restart() {
	w.op = operator{planner: w.op.planner, unregistered: slices.Repeat([]time.Time{w.now}, 10)}
	w.forget()
	w.readPods()
}

// forget has the operator know nothing of Slurm.
func (w *world) forget() {
	w.op.nodes, w.op.work, w.op.drained = nil, nil, map[string]time.Time{}
	w.op.nodesAt, w.op.jobsAt = time.Time{}, time.Time{}
}

func (w *world) readPods() {
	w.op.pods = map[string]simPod{}
	for name, p := range w.pods {
		w.op.pods[name] = *p
	}
}

// readNodes is a poll of the nodes.
func (w *world) readNodes() {
	if w.op.failed = w.dead; w.dead {
		return
	}
	w.op.nodes, w.op.total, w.op.nodesAt = map[string]Record{}, 0, w.now
	w.op.cluster = "a"
	if w.swapped {
		w.readOther()
		return
	}
	odd := w.r.IntN(20)
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n := w.slurm[name]
		r := w.record(n)
		r.Down = r.Down || !n.up && !r.Future
		switch {
		case w.calm:
		case odd == 0, odd == 1 && w.chance(50):
			continue // a reading that lacks nodes
		case odd == 2 && !r.Future && !r.Down:
			r.Down, r.Silent = true, true
		}
		w.op.nodes[name] = r
		if !r.Future {
			w.op.total++
		}
		if _, seen := w.op.drained[name]; r.Drain && !seen {
			w.op.drained[name] = w.now
		}
	}
	maps.DeleteFunc(w.op.drained, func(name string, _ time.Time) bool { return !w.op.nodes[name].Drain })
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
	w.op.work, w.op.jobsAt = map[string]Work{}, w.now
	if w.swapped {
		return
	}
	for id, j := range w.jobs {
		have := w.op.work[j.node]
		w.op.work[j.node] = Work{Jobs: have.Jobs + 1, LastJob: max(id, have.LastJob)}
	}
}

// seen is what the operator has.
func (w *world) seen() Seen {
	s := Seen{Unregistered: w.op.unregistered, Slurm: Slurm{
		Connected: true, Known: !w.op.nodesAt.IsZero() && !w.op.jobsAt.IsZero(),
		Cluster: w.op.cluster, Records: maps.Clone(w.op.nodes), Total: w.op.total, Work: w.op.work, DrainedSince: w.op.drained, JobsReadAt: w.op.jobsAt, NodesReadAt: w.op.nodesAt,
	}}
	const stale = 60 * time.Second
	s.Slurm.Fresh = s.Slurm.Known && !w.op.failed && w.now.Sub(w.op.nodesAt) < stale && w.now.Sub(w.op.jobsAt) < stale
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

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// world is Kubernetes, Slurm and an operator that sees both late and in part.
type world struct {
	r       *rand.Rand
	now     time.Time
	desired Wish

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
	// focus is what the history has much of.
	focus focus
	// leftOpen are held Slurm nodes without a worker that the operator might have closed.
	leftOpen map[string]bool
	// exchanges counts how often another Slurm cluster came to answer.
	exchanges int
	// held are the Slurm nodes that an administrator took out of service, by name.
	held map[string]bool
	op   operator
	// calm: nothing odd happens any more.
	calm bool
	// swapped: another Slurm cluster answers, with nodes of the same names.
	swapped bool
	// faults are the protections outside the planner that do not work.
	faults faults
	// alter, if there is one, plans in the planner's place.
	alter alteredPlan
	// unregistered are the times at which workers were deleted for not being registered.
	unregistered []time.Time
	// foreground: the garbage collector deletes what only the NodeSet owns.
	foreground bool
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
	stripped        bool            // the garbage collector took the NodeSet off it
	work            map[uint32]bool // jobs whose processes run in it
}

type simRecord struct {
	Record
	reason string
	jobs   map[uint32]bool // as slurmctld has it
	up     bool            // a slurmd answers
	fail   bool
	// unnamed: the other NodeSet has not written yet that it is its own.
	unnamed bool
}

// Foreign reports that somebody else took the node out of service.
func (n *simRecord) Foreign() bool { return n.holds() || n.Drain && !n.Ours }

func (n *simRecord) holds() bool { return n.fail || n.Down && !n.Ours && n.reason != "" }

// record is the node as slurmrestd returns it.
func (w *world) record(n *simRecord) Record {
	r := n.Record
	r.Busy = w.allocated(n) > 0
	r.Held = n.holds() && !w.faults.blind
	if n.unnamed {
		r.Owner, r.OwnerName = "", ""
	}
	return r
}

type simJob struct {
	node      string
	suspended bool
}

// operator is what the process knows; a restart wipes it.
type operator struct {
	planner *Planner
	// cluster and jobsCluster are the Slurm clusters that answered the last polls.
	cluster      string
	jobsCluster  string
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
		pods: map[string]*simPod{}, slurm: map[string]*simRecord{}, jobs: map[uint32]*simJob{}, cordoned: map[int]bool{}, held: map[string]bool{}, leftOpen: map[string]bool{},
	}
	w.returnToService, w.untold, w.focus = 1+w.r.IntN(2), w.chance(20), focus(max(0, w.r.IntN(8)-4))
	top := 5
	w.desired = Wish{
		UID: "set", Cluster: "a", Joins: "a", Replicas: w.r.IntN(4), Revision: "a", SlurmName: func(i int) string { return fmt.Sprintf("n-%d", i) },
		Update: Update{Open: true, MaxUnavailable: 1 + w.r.IntN(2)},
	}
	if w.r.IntN(3) > 0 {
		w.desired.Max, w.desired.Records = &top, true
	}
	w.op = operator{planner: planner}
	for i := range w.r.IntN(3) { // an earlier version made them
		w.createPod(Step{Slot: Slot{Ordinal: i}})
		w.pods[w.desired.SlurmName(i)].bond.Loose = true
	}
	if w.chance(3) {
		w.beginDeleted()
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
	w.op.nodesAt, w.op.jobsAt, w.op.cluster, w.op.jobsCluster = time.Time{}, time.Time{}, "", ""
}

func (w *world) readPods() {
	w.op.pods = map[string]simPod{}
	for name, p := range w.pods {
		w.op.pods[name] = *p
	}
}

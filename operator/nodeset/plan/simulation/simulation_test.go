package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/references"
)

// simulation is Kubernetes, Slurm and an operator that sees both late and in part.
type simulation struct {
	rand    *rand.Rand
	now     time.Time
	desired plan.Desired

	pods  map[string]*simPod
	slurm map[string]*simRecord
	jobs  map[uint32]*simJob
	uids  int
	// claims are named after their workers.
	claims map[string]plan.ClaimRetention
	// cordoned Kubernetes nodes, by ordinal: each worker has its own.
	cordoned map[int]bool
	// slurmrestdDown is whether slurmrestd answers at present.
	slurmrestdDown bool
	// returnToService is Slurm's: with 2 any DOWN ends when slurmd registers.
	returnToService int
	// focus is the kind of events that the history has most of.
	focus focus
	// leftOpen are held Slurm nodes without a worker that the operator might have closed.
	leftOpen map[string]bool
	// clusterSwitches counts how often another Slurm cluster came to answer, restarts how often the operator started.
	clusterSwitches, restarts int
	// drainSeen is since when a Slurm node accepts no new jobs, by name.
	drainSeen map[string]time.Time
	// flaps counts, by name, the workers in a row that were deleted without ever serving.
	flaps map[string]int
	// lost are the pods that Kubernetes no longer has but that still run, by name.
	lost map[string]*simPod
	// setByAdmin are the Slurm nodes that an administrator took out of service, by name.
	setByAdmin map[string]bool
	records    recordFacts
	operator   operator
	// shape is the shape of the NodeSet's workers.
	shape int
	// stored are the API server's revisions, and madeOf the source of their workers, by revision.
	stored []plan.Revision
	madeOf map[string]revisionFacts
	// calm: no more odd events happen.
	calm bool
	// swapped: another Slurm cluster answers, with nodes of the same names.
	otherClusterAnswers bool
	// faults are the protections outside the planner that do not work.
	faults faults
	// alterPlan, if set, replaces the planner.
	alterPlan alteredPlan
	// unregistered are the times at which workers were deleted for not being registered.
	unregistered []time.Time
	// foreground: the garbage collector deletes objects that only the NodeSet owns.
	foreground bool
	// clusterNameHidden: the cluster that the NodeSet is made to join does not report its name.
	clusterNameHidden bool
	// broken is the first promise that was broken.
	broken string
	log    []string
}

type simPod struct {
	name, uid            string
	version              int // as a resourceVersion
	ordinal, shape       int
	revision             string
	created              time.Time
	scheduled            bool
	running, ready       bool
	readySince           time.Time
	finished, registered bool
	served               bool      // Slurm could give it jobs
	stuck                bool      // its containers do not start
	refused              bool      // Slurm does not let its slurmd register
	noAgent              bool      // nothing asks its slurmd to register again
	asked                time.Time // the request to register again that its agent has followed
	runningSince         time.Time
	drainUndone          bool // others took back the drain that its protection depends on
	deletedAt            time.Time
	clusterRef           string // the Controller that it was made for
	drainMark            plan.DrainMark
	registeredAt         time.Time // as a pod condition shows it
	forgotten            bool      // slurmctld came back with an older state since its registration
	lossSeen             bool      // the operator has noticed that
	missingOwners        plan.MissingOwners
	stripped             bool            // the garbage collector took the NodeSet off it
	work                 map[uint32]bool // jobs whose processes run in it
}

type simRecord struct {
	plan.Record
	reason  string
	jobs    map[uint32]bool // as slurmctld has it
	up      bool            // a slurmd answers
	failing bool
	// unnamed: the other NodeSet has not written yet that it is its own.
	ownerMissing bool
	// shape is the record's shape at its creation: a larger one has more resources.
	shape int
	gres  recordGRES
	// static: slurm.conf lists the node, so no owner is written. foreign: it is another owner's dynamic node, with a foreign
	// comment.
	static, foreign bool
}

// Foreign reports that others took the node out of service.
func (n *simRecord) Foreign() bool { return n.isDownByOthers() || n.Drain && !n.OurReason }

func (n *simRecord) isDownByOthers() bool {
	return n.failing || n.Down && !n.OurReason && n.reason != "" && n.Fault == ""
}

// record is the node as slurmrestd returns it.
func (w *simulation) record(n *simRecord) plan.Record {
	r := n.Record
	r.Partitions = []string{partition}
	r.Busy = w.allocated(n) > 0
	r.DownByOthers = n.isDownByOthers() && !w.faults.hideHolds
	if w.faults.anyReasonIsFault && n.Drain && !n.OurReason {
		r.Fault = n.reason
	}
	if n.static {
		r.Dynamic = false
	}
	r.ForeignComment = n.foreign
	if n.ownerMissing || n.static || n.foreign {
		r.OwnerUID, r.OwnerName = "", ""
	}
	return r
}

type simJob struct {
	node      string
	suspended bool
}

// operator is the memory of the process; a restart erases it.
type operator struct {
	planner *plan.Planner
	// cluster and jobsCluster are the Slurm clusters that answered the last polls.
	cluster     string
	jobsCluster string
	pods        map[string]simPod
	// retriesCreation: the answer to the creation of a pod was lost.
	retriesCreation bool
	nodes           map[string]plan.Record
	shapes          map[string]int // of the records in nodes
	total           int
	work            map[string]occupancy.Work
	drained         map[string]time.Time
	nodesAt         time.Time
	jobsAt          time.Time
	failed          bool
	unregistered    []time.Time
	store           *expectations.Store
	expectations    *expectations.NodeSet
	references      map[string]string
	// referencesProblem is why the references are not known.
	referencesProblem string
	pending           references.Pending
	surplus           plan.Surplus
	surplusSince      map[string]time.Time
	// gresLacking are the records in nodes whose GRES were not written, and gresRefused is when slurmctld refused them.
	gresLacking map[string]bool
	gresRefused map[string]time.Time
}

func newSimulation(seed uint64, planner *plan.Planner) *simulation {
	w := &simulation{
		rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0),
		pods: map[string]*simPod{}, slurm: map[string]*simRecord{}, jobs: map[uint32]*simJob{},
		claims: map[string]plan.ClaimRetention{}, cordoned: map[int]bool{}, setByAdmin: map[string]bool{}, flaps: map[string]int{},
		drainSeen: map[string]time.Time{}, leftOpen: map[string]bool{}, lost: map[string]*simPod{},
		madeOf:  map[string]revisionFacts{},
		records: recordFacts{named: map[string]int{}, wantedAt: map[string]time.Time{}},
	}
	w.returnToService, w.clusterNameHidden, w.focus = 1+w.rand.IntN(2), w.chance(20), focus(max(0, w.rand.IntN(11)-4))
	top := 5
	w.desired = plan.Desired{
		UID: "set", ClusterName: "a", ClusterRef: "a", Replicas: w.rand.IntN(4), Revision: "a",
		SlurmName:      func(i int) string { return fmt.Sprintf("n-%d", i) },
		Update:         plan.Update{Allowed: true, MaxUnavailable: 1 + w.rand.IntN(2)},
		ClaimRetention: plan.ClaimRetention{WhenScaled: true}, RevisionHistoryLimit: 3,
	}
	w.desired.SlurmNameIn = w.slurmNameIn
	if w.rand.IntN(3) > 0 {
		w.desired.MaxWorkers, w.desired.CanCreateRecords = &top, true
	}
	if w.chance(10) {
		w.desired.DrainPolicy.Timeout = time.Duration(1+w.rand.IntN(90)) * time.Second
	}
	w.records.others = int(seed % 3)
	w.operator = operator{planner: planner, pods: map[string]simPod{}, store: expectations.New()}
	w.operator.expectations = w.operator.store.ForNodeSet(types.NamespacedName{}, w.now)
	for i := range w.rand.IntN(3) { // an earlier version made them
		w.createPod(plan.Step{Slot: plan.Slot{Ordinal: i}})
		w.pods[w.desired.SlurmName(i)].missingOwners.Namespace = true
	}
	if w.chance(3) {
		w.beginDeleted()
	}
	w.restart()
	return w
}

func (w *simulation) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *simulation) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%4.0fs ", w.now.Sub(time.Unix(1_800_000_000, 0)).Seconds())+fmt.Sprintf(
		format, args...))
}

func (w *simulation) failf(format string, args ...any) {
	w.logf("BROKEN: "+format, args...)
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// restart plays SIGKILL: it erases the operator's memory. The brake begins closed.
func (w *simulation) restart() {
	w.restarts++
	w.operator = operator{planner: w.operator.planner, unregistered: slices.Repeat([]time.Time{w.now}, 10),
		gresRefused: map[string]time.Time{}, store: expectations.New()}
	w.operator.expectations = w.operator.store.ForNodeSet(types.NamespacedName{}, w.now)
	w.forgetSlurm()
	w.readPods()
}

// forgetSlurm erases the operator's knowledge of Slurm.
func (w *simulation) forgetSlurm() {
	w.operator.nodes, w.operator.work, w.operator.drained = nil, nil, map[string]time.Time{}
	w.operator.nodesAt, w.operator.jobsAt, w.operator.cluster, w.operator.jobsCluster = time.Time{}, time.Time{}, "", ""
}

func (w *simulation) readPods() {
	w.operator.pods, w.operator.retriesCreation = map[string]simPod{}, false
	for name, p := range w.pods {
		w.operator.pods[name] = *p
	}
}

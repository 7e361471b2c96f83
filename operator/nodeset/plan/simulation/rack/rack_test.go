package rack

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
)

// rack has Kubernetes nodes, Slurm and a NodeSet that changes between the scaling modes. Some Kubernetes nodes share one
// Slurm node name, which may also be an ordinal's.
type rack struct {
	rand      *rand.Rand
	now       time.Time
	planner   *plan.Planner
	nodeSet   *v1beta1.NodeSet
	revision  string
	kubeNodes map[string]*corev1.Node
	pods      map[string]*rackPod
	// slurm are the Slurm nodes by name, and jobs counts the jobs on them.
	slurm map[string]*plan.Record
	count int
	// observed are the pods, Slurm nodes and jobs that the operator has read.
	observed rackReading
	// alterDesired and alterPlan break rules. forgetCreated makes the operator forget the pods that it creates.
	alterDesired  func(*rack, *plan.Desired)
	alterPlan     alteredPlan
	forgetCreated bool
	broken        string
	log           []string
}

// alteredPlan plans with a rule broken that is no function of the Planner.
type alteredPlan func(p *plan.Planner, now time.Time, wanted plan.Desired, observed plan.Observation) plan.Actions

// rackPod is a worker.
type rackPod struct {
	plan.Worker
	registered    bool
	version, jobs int // version is as a resourceVersion
}

// rackReading is the operator's last reading. A restart erases it.
type rackReading struct {
	pods            map[string]rackPod
	nodes           map[string]plan.Record
	work            map[string]occupancy.Work
	drained         map[string]time.Time
	nodesAt, jobsAt time.Time
}

// rackNames are the names of the Kubernetes nodes. The NodeSet is called gpu, so gpu-0 and gpu-1 are also names of ordinals.
var rackNames = []string{"gpu-0.a", "gpu-0.b", "gpu-1.a", "gpu-1.b", "big.a", "big.b", "small.a"}

func newRack(seed uint64, planner *plan.Planner) *rack {
	w := &rack{rand: rand.New(rand.NewPCG(seed, 4)), now: time.Unix(1_800_000_000, 0), planner: planner, revision: "a",
		kubeNodes: map[string]*corev1.Node{}, pods: map[string]*rackPod{}, slurm: map[string]*plan.Record{}}
	w.nodeSet = &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "set"}}
	w.nodeSet.Spec.Replicas = new(int32(w.rand.IntN(4))) //nolint:gosec // at most 3
	w.nodeSet.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdate{MaxUnavailable: new(intstr.FromInt32(1))}
	for range 4 {
		w.joinKubeNode()
	}
	w.changeMode()
	w.restart()
	return w
}

func (w *rack) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *rack) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%4.0fs ", w.now.Sub(time.Unix(1_800_000_000, 0)).Seconds())+fmt.Sprintf(format, args...))
}

func (w *rack) failf(format string, args ...any) {
	w.logf("BROKEN: "+format, args...)
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (w *rack) restart() {
	w.observed = rackReading{drained: map[string]time.Time{}}
	w.readPods()
}

func (w *rack) readPods() {
	w.observed.pods = map[string]rackPod{}
	for name, p := range w.pods {
		w.observed.pods[name] = *p
	}
}

// readSlurm is a poll of the nodes, of the jobs, or of both.
func (w *rack) readSlurm(nodes, jobs bool) {
	if nodes {
		w.observed.nodes, w.observed.nodesAt = map[string]plan.Record{}, w.now
		for name, r := range w.slurm {
			if r.Drain && w.observed.drained[name].IsZero() {
				w.observed.drained[name] = w.now
			}
			w.observed.nodes[name] = *r
		}
		maps.DeleteFunc(w.observed.drained, func(name string, _ time.Time) bool { return !w.observed.nodes[name].Drain })
	}
	if jobs {
		w.observed.work, w.observed.jobsAt = map[string]occupancy.Work{}, w.now
		for _, p := range w.pods {
			if p.jobs > 0 {
				w.observed.work[p.SlurmName] = occupancy.Work{Jobs: p.jobs, LastJob: 1}
			}
		}
	}
}

// desire returns the desired state of the NodeSet, by the rules of the operator.
func (w *rack) desire() plan.Desired {
	o := desired.Observation{NodeSet: w.nodeSet, ClusterName: "a", ClusterRef: "a", Revision: render.Revision{Hash: w.revision},
		KubeNodes: w.kubeNodes}
	var err error
	if o.Names, err = names.NewWorkers(w.nodeSet, "a"); err != nil {
		w.failf("naming workers: %v", err)
	}
	for _, p := range w.observed.pods {
		o.Workers = append(o.Workers, p.Worker)
	}
	out := desired.Of(w.now, &o, nil)
	if w.alterDesired != nil {
		w.alterDesired(w, &out)
	}
	return out
}

func (w *rack) observe() plan.Observation {
	o := &w.observed
	out := plan.Observation{Slurm: plan.SlurmReading{Connected: true, Known: !o.nodesAt.IsZero() && !o.jobsAt.IsZero(), ClusterName: "a",
		Records: map[string]plan.Record{}, TotalNodes: len(o.nodes), Work: o.work, DrainedSince: o.drained, JobsReadAt: o.jobsAt,
		NodesReadAt: o.nodesAt}}
	out.Slurm.Fresh = out.Slurm.Known && w.now.Sub(o.nodesAt) < time.Minute && w.now.Sub(o.jobsAt) < time.Minute
	for name, r := range o.nodes {
		r.KubeNodeGone = r.KubeNode != "" && w.kubeNodes[r.KubeNode] == nil
		out.Slurm.Records[name] = r
	}
	for _, name := range slices.Sorted(maps.Keys(o.pods)) {
		out.Workers = append(out.Workers, o.pods[name].Worker)
	}
	return out
}

// joinKubeNode adds a Kubernetes node.
func (w *rack) joinKubeNode() {
	name := rackNames[w.rand.IntN(len(rackNames))]
	if w.kubeNodes[name] == nil {
		w.logf("the Kubernetes node %s joins", name)
		w.kubeNodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(w.now)}}
	}
}

// changeMode changes the scaling mode, and so the source of workers.
func (w *rack) changeMode() {
	if w.nodeSet.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet; w.chance(50) {
		w.nodeSet.Spec.ScalingMode = v1beta1.ScalingModeStatefulSet
	}
	w.logf("the scaling mode is %s", w.nodeSet.Spec.ScalingMode)
}

func (w *rack) isPerKubeNode() bool {
	return w.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet
}

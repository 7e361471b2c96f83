package nodeset

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/live"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/wakeup"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// seen is everything that was read for one NodeSet.
type seen struct {
	nodeSet *v1beta1.NodeSet
	// cluster is the name of its Controller or Cluster, found whether that is there.
	cluster string
	found   bool
	// namespaceUID is empty while it is not known.
	namespaceUID types.UID
	// problem is what keeps workers from being made, as the condition Ready tells it.
	problem problem
	// input and revision are what workers are made from; they mean nothing when there
	// is a problem.
	input     render.Input
	names     render.Names
	template  corev1.PodTemplateSpec
	revision  render.Revision
	revisions []appsv1.ControllerRevision
	// kept are the old revisions that ordinals below the partition keep.
	kept map[int]string

	mu        sync.Mutex // of pods, created, news and again, while steps are taken
	pods      map[string]*corev1.Pod
	created   []*corev1.Pod
	news      map[news][]subject
	order     []news        // in which they came
	again     time.Duration // when to look again beside what the plan says, 0 for never
	kubeNodes map[string]*corev1.Node
	workers   []plan.Worker

	wish plan.Wish
	// asked is the maximum of workers as it is asked for, which wish.Max may not reach.
	asked   *int32
	live    Slurm
	slurm   plan.Slurm
	records map[string]*slurm.Node // as read, for what pods show
	// nodesReadAt is when the reading of records began.
	nodesReadAt time.Time
	memory      *setMemory
	// recordsProblem is why FUTURE records could not be made, empty for nothing.
	recordsProblem string
}

// problem is why a NodeSet cannot be followed: a reason of the condition Ready.
type problem struct{ reason, message string }

// observe reads all that a decision about the NodeSet rests on. All of it comes from
// caches; nothing here asks Slurm. What the NodeSet refers to and is missing is no
// error but a problem.
func (r *Reconciler) observe(ctx context.Context, nodeSet *v1beta1.NodeSet) (*seen, error) {
	now := r.now()
	name := types.NamespacedName{Namespace: nodeSet.Namespace, Name: nodeSet.Name}
	s := &seen{nodeSet: nodeSet, pods: map[string]*corev1.Pod{}, kubeNodes: map[string]*corev1.Node{}, memory: r.memory.of(name, now)}
	if err := r.observeReferences(ctx, s); err != nil {
		return nil, err
	}
	if err := r.observePods(ctx, s); err != nil {
		return nil, err
	}
	hpas := &autoscalingv2.HorizontalPodAutoscalerList{}
	if err := r.client.List(ctx, hpas, client.InNamespace(nodeSet.Namespace), client.MatchingFields{wakeup.TargetField: nodeSet.Name}); err != nil {
		return nil, fmt.Errorf("listing horizontal pod autoscalers: %w", err)
	}
	s.wish = wishOf(now, s, hpas.Items)
	s.asked = askedMost(nodeSet, hpas.Items)
	s.kept = keptOf(s)
	r.observeSlurm(now, s)
	return s, nil
}

// observePods reads the NodeSet's pods, and the Kubernetes nodes, as the cache has them:
// copies of thousands would be most of what a look costs. What they point to is never
// changed.
func (r *Reconciler) observePods(ctx context.Context, s *seen) error {
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing kubernetes nodes: %w", err)
	}
	for i := range nodes.Items {
		s.kubeNodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(s.nodeSet.Namespace), client.MatchingFields{nodeSetField: s.nodeSet.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	s.memory.pods.newest(pods.Items)
	for i := range pods.Items {
		pod := &pods.Items[i]
		s.pods[pod.Name] = pod
		w := workerOf(pod, s.kubeNodes[pod.Spec.NodeName], r.cfg.PropagatedConditions)
		w.Bond = bondOf(pod, s)
		s.workers = append(s.workers, w)
	}
	revisions := &appsv1.ControllerRevisionList{}
	if err := r.client.List(ctx, revisions, client.InNamespace(s.nodeSet.Namespace), client.MatchingFields{nodeSetField: s.nodeSet.Name}); err != nil {
		return fmt.Errorf("listing controller revisions: %w", err)
	}
	s.revisions = revisions.Items
	return nil
}

// expected reports that Slurm has not been read since the process began and that
// nothing is known to be wrong: the first reading is on its way.
func (s *seen) expected() bool {
	return s.found && s.problem.reason == "" && s.slurm.Clash == "" && !s.slurm.Known && (s.live == nil || s.live.Problem() == "")
}

// namesToCome are the names of the Slurm nodes of workers that there may be; none are
// known while there is a problem.
func (s *seen) namesToCome() []string {
	var out []string
	switch {
	case s.problem.reason != "":
	case s.wish.PerKubeNode:
		for _, kubeNode := range s.wish.KubeNodes {
			out = append(out, s.wish.SlurmNameOn(kubeNode))
		}
	case s.wish.Max != nil:
		for i := range *s.wish.Max {
			out = append(out, s.wish.SlurmName(i))
		}
	default: // as far as a free ordinal is looked for
		for i := range s.wish.Replicas + len(s.workers) {
			out = append(out, s.wish.SlurmName(i))
		}
	}
	return out
}

// observeSlurm takes the newest reading of the NodeSet's cluster.
func (r *Reconciler) observeSlurm(now time.Time, s *seen) {
	if key, ok := access.KeyOf(s.nodeSet); ok {
		s.live = r.slurms(key)
	}
	var reading *live.Reading // one for all: the next may come at any moment
	if s.live != nil {
		reading = s.live.Reading()
	}
	mine := map[string]bool{}
	for i := range s.workers {
		mine[s.workers[i].SlurmName] = true
	}
	for _, name := range s.namesToCome() {
		mine[name] = true
	}
	ours := func(name string) bool { return name != "" && mine[name] }
	there := func(name string) bool { return s.kubeNodes[name] != nil }
	s.slurm = r.freshness.slurmOf(now, s.live, reading, string(s.nodeSet.UID), ours, there)
	s.slurm.Connected = s.slurm.Connected || s.found // the client may be on its way
	if s.live == nil || !s.slurm.Known {
		return
	}
	s.records, s.nodesReadAt = reading.Nodes, reading.Snapshot.Nodes.ReadAt
	s.own()
	s.recognize()
	s.memory.sequence = reading.Snapshot.Nodes.Sequence
	s.memory.overlay(&s.slurm, reading.Snapshot.Nodes.ReadAt, r.cfg.Plan.BrakeInterval, now)
	s.recordsProblem = s.memory.recordsProblem
	if s.problem.reason != "" && !s.wish.Deleting { // which records there should be is not known
		maps.DeleteFunc(s.slurm.Records, func(name string, _ plan.Record) bool { return !mine[name] })
	}
	s.slurm = r.planner.Identify(&s.wish, s.workers, s.slurm)
}

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

// observation is everything that was read for one NodeSet.
type seen struct {
	nodeSet *v1beta1.NodeSet
	// clusterRef is the name of its Controller or Cluster, clusterFound whether that exists.
	cluster string
	found   bool
	// namespaceUID is empty while it is not known.
	namespaceUID types.UID
	// problem prevents the creation of workers. The condition Ready reports it.
	problem problem
	// input and revision are what workers are created from. They mean nothing while there is a
	// problem.
	input     render.Input
	names     render.Names
	template  corev1.PodTemplateSpec
	revision  render.Revision
	revisions []appsv1.ControllerRevision
	// keptRevisions are the old revisions that ordinals below the partition keep.
	kept map[int]string

	mu        sync.Mutex // guards pods, created, pendingEvents, eventOrder and requeue
	pods      map[string]*corev1.Pod
	created   []*corev1.Pod
	news      map[news][]subject
	order     []news        // in order of their arrival
	again     time.Duration // besides that of the plan, 0 for never
	kubeNodes map[string]*corev1.Node
	workers   []plan.Worker

	desired plan.Wish
	// requestedMax is the requested maximum of workers, which desired.MaxWorkers may not reach.
	asked   *int32
	live    Slurm
	slurm   plan.Slurm
	records map[string]*slurm.Node // as read, for the pod conditions
	// nodesReadAt is when the reading of slurmNodes began.
	nodesReadAt time.Time
	memory      *setMemory
	// recordsProblem is why FUTURE records could not be created, empty if they could.
	recordsProblem string
}

// readyProblem is why a NodeSet cannot be reconciled: reason and message of the condition Ready.
type problem struct{ reason, message string }

// observe reads everything that decisions about the NodeSet are based on. All of it comes from
// caches; nothing here sends a request to Slurm. A missing object that the NodeSet refers to is a
// problem, not an error.
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
	s.desired = wishOf(now, s, hpas.Items)
	s.asked = askedMost(nodeSet, hpas.Items)
	s.kept = keptOf(s)
	r.observeSlurm(now, s)
	return s, nil
}

// observePods reads the NodeSet's pods and the Kubernetes nodes without copying them: copies of
// thousands of objects would dominate the cost of a reconciliation. They must never be modified.
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

// awaitsFirstReading reports whether Slurm has not been read since the process started and no
// problem is known: the first reading will arrive soon.
func (s *seen) expected() bool {
	return s.found && s.problem.reason == "" && s.slurm.Clash == "" && !s.slurm.Known && (s.live == nil || s.live.Problem() == "")
}

// possibleSlurmNames returns the Slurm node names of the workers that may exist. None are known
// while there is a problem.
func (s *seen) namesToCome() []string {
	var out []string
	switch {
	case s.problem.reason != "":
	case s.desired.PerKubeNode:
		for _, kubeNode := range s.desired.KubeNodes {
			out = append(out, s.desired.SlurmNameOn(kubeNode))
		}
	case s.desired.Max != nil:
		for i := range *s.desired.Max {
			out = append(out, s.desired.SlurmName(i))
		}
	default: // as far as the plan searches for a free ordinal
		for i := range s.desired.Replicas + len(s.workers) {
			out = append(out, s.desired.SlurmName(i))
		}
	}
	return out
}

// observeSlurm takes the newest reading of the NodeSet's cluster.
func (r *Reconciler) observeSlurm(now time.Time, s *seen) {
	if key, ok := access.KeyOf(s.nodeSet); ok {
		s.live = r.slurms(key)
	}
	var reading *live.Reading // the same one throughout: the next may arrive at any moment
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
	s.slurm.Connected = s.slurm.Connected || s.found // the client may not have been created yet
	if s.live == nil || !s.slurm.Known {
		return
	}
	s.records, s.nodesReadAt = reading.Nodes, reading.Snapshot.Nodes.ReadAt
	s.own()
	s.recognize()
	s.memory.sequence = reading.Snapshot.Nodes.Sequence
	s.memory.overlay(&s.slurm, reading.Snapshot.Nodes.ReadAt, r.cfg.Plan.BrakeInterval, now)
	s.recordsProblem = s.memory.recordsProblem
	if s.problem.reason != "" && !s.desired.Deleting { // the wanted records are not known
		maps.DeleteFunc(s.slurm.Records, func(name string, _ plan.Record) bool { return !mine[name] })
	}
	s.slurm = r.planner.Identify(&s.desired, s.workers, s.slurm)
}

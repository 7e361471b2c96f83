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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/operator/upgrade"
	"github.com/slurmtide/slurmtide/operator/wakeup"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// observation is everything that was read for one NodeSet.
type observation struct {
	nodeSet *v1beta1.NodeSet
	// clusterRef is the name of its Controller or Cluster, clusterFound whether that exists.
	clusterRef   string
	clusterFound bool
	// clusterOwner is the owner reference to the cluster.
	clusterOwner metav1.OwnerReference
	// namespaceUID is empty while it is not known.
	namespaceUID types.UID
	// problem prevents the creation of workers. The condition Ready reports it.
	problem status.Problem
	// externalController is true if the NodeSet's Controller represents a slurmctld that the operator does not run.
	externalController bool
	// awaitedGRES are the NodeSet's kinds of GRES that slurmctld does not know yet. knowsGRES is true if it knows all of them. Neither
	// is set if that is unknown.
	awaitedGRES []string
	knowsGRES   bool
	// reservedNames are the owners of the names that no worker of the cluster gets, by name.
	reservedNames map[string]string
	// input and revision are the source of new workers. They are meaningless while a problem exists.
	input     render.Input
	names     names.Workers
	template  corev1.PodTemplateSpec
	revision  render.Revision
	revisions []appsv1.ControllerRevision
	// release is the decision about the image of the workers; nil changes nothing.
	release *upgrade.Decision
	// adoptedRevisions maps revisions of another operator's workers to our equal ones.
	adoptedRevisions map[string]string

	// lastLook reads once what names and needs records. From then on it holds deletions, which all NodeSets of a cluster share.
	lastLook        func() (lastLook, error)
	deletions       *sync.Mutex
	deletionsLocked bool
	// surplus are the records that the plan does not want.
	surplus       plan.Surplus
	mu            sync.Mutex        // guards lastLook, ordinalPins, pods, created, pendingEvents, eventOrder, avoidedKubeNodes and requeue
	ordinalPins   map[string]string // of pins
	pods          map[string]*corev1.Pod
	created       []*corev1.Pod
	pendingEvents map[workerEvent][]eventSubject
	eventOrder    []workerEvent // in order of their arrival
	requeue       time.Duration // in addition to the plan's, 0 for never
	kubeNodes     map[string]*corev1.Node
	// avoidedKubeNodes are the results of kubeNodesToAvoid, by revision.
	avoidedKubeNodes map[string]avoidedKubeNodes
	// servedKubeNodes are the Kubernetes nodes whose network a worker of another NodeSet uses, so that they have no room for a second
	// one.
	servedKubeNodes map[string]bool
	claims          map[string]*corev1.PersistentVolumeClaim
	workers         []plan.Worker

	desired plan.Desired
	// requestedMax is the requested maximum of workers, which desired.MaxWorkers may not reach.
	requestedMax *int32
	slurmCluster reading.SlurmCluster
	slurm        plan.SlurmReading
	slurmNodes   map[string]*slurm.Node // as read, for the pod conditions
	// nodesReadAt is when the reading of slurmNodes began.
	nodesReadAt time.Time
	// goneSince is when the pods of workers were first missed, by Slurm node.
	goneSince    map[string]time.Time
	reservations plan.Reservations
	expectations *expectations.NodeSet
	// RecordsProblem is why FUTURE records could not be created, empty if they could.
	recordsProblem string
}

// observe reads what the workers of a NodeSet are created from, and its pods. All of it comes from caches. A missing object that the
// NodeSet refers to is a problem, not an error.
func (r *Reconciler) observe(ctx context.Context, now time.Time, nodeSet *v1beta1.NodeSet) (*observation, error) {
	name := types.NamespacedName{Namespace: nodeSet.Namespace, Name: nodeSet.Name}
	s := &observation{nodeSet: nodeSet, pods: map[string]*corev1.Pod{}, kubeNodes: map[string]*corev1.Node{},
		servedKubeNodes: map[string]bool{},
		expectations:    r.expectations.ForNodeSet(name, now)}
	if err := r.observeReferences(ctx, s); err != nil {
		return nil, err
	}
	return s, r.observePods(ctx, s)
}

// observeDemand reads, once the image of the workers is decided, everything else that decisions about the NodeSet are based on. All of
// it comes from caches; nothing here sends a request to Slurm.
func (r *Reconciler) observeDemand(ctx context.Context, now time.Time, s *observation) error {
	s.adoptRevisions()
	if err := r.observeClaims(ctx, s); err != nil {
		return err
	}
	hpas := &autoscalingv2.HorizontalPodAutoscalerList{}
	if err := r.client.List(ctx, hpas, client.InNamespace(s.nodeSet.Namespace),
		client.MatchingFields{wakeup.NodeSetIndex: s.nodeSet.Name}); err != nil {
		return fmt.Errorf("listing horizontal pod autoscalers: %w", err)
	}
	s.desired = desired.Of(now, s.desiredObservation(), hpas.Items)
	if s.desired.HoldsWorkers && len(s.awaitedGRES) == 0 {
		s.requeueAfter(scaling.BeginPeriod)
	}
	s.keepNames()
	if err := r.reserveSharedNames(ctx, s); err != nil {
		return err
	}
	s.requestedMax = desired.RequestedMax(s.nodeSet, hpas.Items)
	r.observeSlurm(now, s)
	s.observeExposedWorkers(now)
	return nil
}

// observePods reads the NodeSet's pods and the Kubernetes nodes without copying them: copies of
// thousands of objects would dominate the cost of a reconciliation. They must never be modified.
func (r *Reconciler) observePods(ctx context.Context, s *observation) error {
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing kubernetes nodes: %w", err)
	}
	for i := range nodes.Items {
		s.kubeNodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(s.nodeSet.Namespace),
		client.MatchingFields{nodeSetField: s.nodeSet.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	var wait time.Duration
	if pods.Items, wait = s.expectations.Pods.OverlayWrites(pods.Items, r.now()); wait > 0 {
		s.requeueAfter(wait) // if the cache never shows them
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		s.pods[pod.Name] = pod
		w := observed.Worker(pod, s.kubeNodes[pod.Spec.NodeName], r.cfg.PropagatedConditions)
		w.MissingOwners = missingOwnersOf(pod, s)
		s.workers = append(s.workers, w)
	}
	revisions := &appsv1.ControllerRevisionList{}
	if err := r.client.List(ctx, revisions, client.InNamespace(s.nodeSet.Namespace),
		client.MatchingFields{nodeSetField: s.nodeSet.Name}); err != nil {
		return fmt.Errorf("listing controller revisions: %w", err)
	}
	s.revisions = revisions.Items
	return nil
}

// awaitsFirstReading reports whether Slurm has not been read since the process started and no
// problem is known: the first reading will arrive soon.
func (s *observation) awaitsFirstReading() bool {
	return s.clusterFound && s.problem.Reason == "" && s.slurm.ClusterMismatch == "" && !s.slurm.Known &&
		(s.slurmCluster == nil || s.slurmCluster.Problem() == "")
}

// possibleSlurmNames returns the Slurm node names of all possible workers, or none while a problem exists.
func (s *observation) possibleSlurmNames() []string {
	var out []string
	switch {
	case s.problem.Reason != "":
	case s.desired.PerKubeNode:
		for _, kubeNode := range s.desired.KubeNodes {
			out = append(out, s.desired.SlurmNameOn(kubeNode))
		}
	case s.desired.MaxWorkers != nil:
		for i := range *s.desired.MaxWorkers {
			out = append(out, s.desired.SlurmName(i))
		}
	default: // as far as the plan searches for a free ordinal
		for i := range s.desired.OrdinalsEnd(len(s.workers), s.desired.Replicas) {
			out = append(out, s.desired.SlurmName(i))
		}
	}
	return out
}

// observeSlurm takes the newest reading of the NodeSet's cluster.
func (r *Reconciler) observeSlurm(now time.Time, s *observation) {
	if key, ok := refs.ClusterKeyOf(s.nodeSet); ok {
		s.slurmCluster, s.deletions = r.slurmClusters(key), r.lockOfDeletions(key)
	}
	var reading *slurmclients.Reading // the same one throughout: the next may arrive at any moment
	if s.slurmCluster != nil {
		reading = s.slurmCluster.Reading()
	}
	mine := map[string]bool{}
	for i := range s.workers {
		mine[s.workers[i].SlurmName] = true
	}
	for _, name := range s.possibleSlurmNames() {
		mine[name] = true
	}
	ours := func(name string) bool { return name != "" && mine[name] }
	there := func(name string) bool { return s.kubeNodes[name] != nil }
	s.slurm = r.freshness.ReadingOf(now, s.slurmCluster, reading, string(s.nodeSet.UID), ours, there,
		observed.FaultReasons(s.nodeSet))
	s.goneSince = s.expectations.MissWorkers(s.workers, now, earlier(s.slurm.NodesReadAt, s.slurm.JobsReadAt))
	s.slurm.Connected = s.slurm.Connected || s.clusterFound // the client may not have been created yet
	if s.slurmCluster == nil || !s.slurm.Known {
		return
	}
	s.slurmNodes, s.nodesReadAt = reading.Nodes, reading.Snapshot.Nodes.ReadAt
	reservations := &reading.Snapshot.Reservations
	s.reservations = plan.Reservations{List: reservations.Value, ReadAt: reservations.ReadAt,
		WrittenAt: s.expectations.ReservationWrittenAt}
	s.assumeOwnership()
	s.assignOwners()
	s.compareShapes(now)
	s.expectations.Sequence = reading.Snapshot.Nodes.Sequence
	s.expectations.OverlayWrites(&s.slurm, reading.Snapshot.Nodes.ReadAt, r.cfg.Plan.UnregisteredDeletionInterval, now)
	s.observeMissingOwners()
	if seen := s.expectations; seen.RecordsTriedAt.IsZero() && seen.RecordsProblem == "" { // this process has not tried yet
		seen.RecordsProblem = status.RecordsUnsupportedBecause(s.nodeSet)
		seen.RecordsUnsupported = seen.RecordsProblem != ""
	}
	s.recordsProblem = s.expectations.RecordsProblem
	if s.problem.Reason != "" && !s.desired.Deleting { // the wanted records are not known
		maps.DeleteFunc(s.slurm.Records, func(name string, _ plan.Record) bool { return !mine[name] })
	}
	s.slurm = r.planner.FilterReading(&s.desired, s.workers, s.slurm)
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// planObservation returns the plan's input.
func (s *observation) planObservation() plan.Observation {
	return plan.Observation{
		Workers: s.workers, Slurm: s.slurm, UnregisteredDeletions: s.expectations.UnregisteredDeletions,
		Reservations: s.reservations, GoneSince: s.goneSince,
		TakenAt: s.expectations.TakenAt, DisplacedAt: s.expectations.DisplacedAt, SurplusSince: s.expectations.SurplusSince,
		KubeNodes: s.cordonableKubeNodes(), Claims: s.planClaims(), Revisions: s.planRevisions(),
		AdoptedRevisions: s.adoptedRevisions,
	}
}

// desiredObservation returns the part of the observation that the desired state depends on.
func (s *observation) desiredObservation() *desired.Observation {
	return &desired.Observation{
		NodeSet: s.nodeSet, ClusterName: joinedCluster(s), ClusterRef: s.clusterRef,
		Orphaning: isOrphaning(s.nodeSet, s.revisions), Frozen: s.problem.Reason != "", Names: s.names,
		AwaitsGRES: len(s.awaitedGRES) > 0,
		Template:   s.template, Revision: s.revision, ClaimRetention: claimRetentionOf(s.nodeSet),
		KubeNodes: s.kubeNodes, Workers: s.workers, ReservedNames: s.reservedNames,
	}
}

// statusObservation returns the part of the observation that the status shows.
func (s *observation) statusObservation() *status.Observation {
	return &status.Observation{
		NodeSet: s.nodeSet, ClusterRef: s.clusterRef, ExternalController: s.externalController,
		Problem: s.problem, Waiting: s.creationHold(), Revision: s.revision.Hash,
		Desired: s.desired, RequestedMax: s.requestedMax, Workers: s.workers, Slurm: s.slurm,
		RecordsProblem: s.recordsProblem, RecordsUnsupported: s.expectations.RecordsUnsupported, RefusedDeletions: s.expectations.RefusedDeletions, EndedPins: s.endedPins(),
		IgnoredFacts: s.ignoredFacts(), Avoiding: s.avoidingWorkers(),
	}
}

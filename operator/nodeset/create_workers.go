package nodeset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// createWorker creates the claims and the pod of a worker.
func (r *Reconciler) createWorker(ctx context.Context, s *observation, step plan.Step) error {
	from, err := s.workerSourceOf(step.Revision)
	if err != nil {
		return err
	}
	id := render.Identity{Revision: from.hash, KubeNode: step.Slot.KubeNode, AvoidKubeNodes: s.kubeNodesToAvoid(from).names}
	if step.Slot.Ordinal != plan.NoOrdinal {
		id.Ordinal = &step.Slot.Ordinal
		id.KubeNode = pinnedKubeNode(s, &from.template.Spec, step.Slot.Ordinal)
	}
	if node := s.kubeNodes[id.KubeNode]; node != nil {
		id.Facts = render.FactsOf(node.Annotations)
	}
	if r.expectations.HasTooManyFailures(s.expectations) {
		return nil
	}
	pod, err := render.Worker(from.input, from.template, id)
	if err != nil {
		return r.reportCreateFailure(s, fmt.Errorf("rendering a worker: %w", err))
	}
	if observed.SlurmName(pod) != cmp.Or(step.SlurmName, id.KubeNode) {
		return errNotAsSeen // the plan has checked another name, and a second slurmd would take over the node of this one
	}
	if err := r.createClaims(ctx, s, from, id); err != nil {
		return r.reportCreateFailure(s, err)
	}
	cluster, _ := refs.ClusterKeyOf(s.nodeSet)
	name := observed.SlurmName(pod)
	if name != "" && !r.claimedNames.Claim(cluster, name, s.nodeSet.UID, r.now()) {
		return errNotAsSeen // another NodeSet has just created a worker of that name
	}
	err = r.client.Create(ctx, pod, client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.reportNameTaken(ctx, s, pod.Name)
	case err != nil:
		return r.reportCreateFailure(s, fmt.Errorf("creating pod %s: %w", pod.Name, err))
	}
	s.expectations.Pods.ExpectCreation(pod, r.now())
	r.expectations.RememberWorker(s.expectations, step.SlurmName)
	r.metrics.countStep(s, step, r.now())
	s.rememberCreated(pod)
	return nil
}

// reportCreateFailure delays further creations, and reports the first failure of the round.
func (r *Reconciler) reportCreateFailure(s *observation, err error) error {
	if !r.expectations.RecordCreateFailure(s.expectations, r.now()) {
		return nil
	}
	wait := s.expectations.CreateAfter.Sub(r.now())
	s.requeueAfter(wait)
	r.events.Eventf(s.nodeSet, nil, corev1.EventTypeWarning, "FailedCreate", "Create", "%v; the next attempt is in %s",
		err, wait)
	return err
}

// createClaims creates the claims of a worker that do not exist.
func (r *Reconciler) createClaims(ctx context.Context, s *observation, from workerSource, id render.Identity) error {
	claims, err := render.Claims(from.input, id)
	if err != nil {
		return fmt.Errorf("rendering claims: %w", err)
	}
	for _, claim := range claims {
		switch known := s.claims[claim.Name]; {
		case known != nil && known.DeletionTimestamp != nil:
			return fmt.Errorf("creating claim %s: the one of that name is being deleted", claim.Name)
		case known != nil:
			continue
		}
		setRetention(s.nodeSet, claim, claimRetentionOf(s.nodeSet))
		if err := r.client.Create(ctx, claim, client.FieldOwner(FieldManager)); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// restoreClaims recreates deleted claims of workers that wait to be scheduled. A failure is retried after a while, and does not prevent
// the creation of other workers.
func (r *Reconciler) restoreClaims(ctx context.Context, s *observation) error {
	if s.problem.Reason != "" || s.nodeSet.DeletionTimestamp != nil {
		return nil
	}
	if wait := r.expectations.ClaimsWait(s.expectations, r.now()); wait > 0 {
		s.requeueAfter(wait)
		return nil
	}
	var first error
	for i := range s.workers {
		w := &s.workers[i]
		from, err := s.workerSourceOf(w.Revision)
		if err != nil || w.KubeNode != "" || !w.DeletedAt.IsZero() || w.Finished || s.isOfOtherMode(w) || !s.lacksClaim(from, w) {
			continue
		}
		if err := r.createClaims(ctx, s, from, identityOf(from, w)); err != nil && first == nil {
			first = err
		}
	}
	if first == nil {
		r.expectations.ForgetClaimsFailures(s.expectations)
		return nil
	}
	wait := r.expectations.DelayClaims(s.expectations, r.now())
	s.requeueAfter(wait)
	r.events.Eventf(s.nodeSet, nil, corev1.EventTypeWarning, "FailedCreate", "Create", "%v; the next attempt is in %s", first, wait)
	return first
}

// identityOf returns the identity that a worker was rendered from.
func identityOf(from workerSource, w *plan.Worker) render.Identity {
	id := render.Identity{Revision: from.hash, KubeNode: w.Slot.KubeNode}
	if w.Slot.Ordinal != plan.NoOrdinal {
		id.Ordinal = &w.Slot.Ordinal
	}
	return id
}

// isOfOtherMode reports whether a worker was created in the other scaling mode.
func (s *observation) isOfOtherMode(w *plan.Worker) bool {
	return (w.Slot.Ordinal == plan.NoOrdinal) != s.desired.PerKubeNode
}

// lacksClaim reports whether a claim that the operator makes for a worker does not exist.
func (s *observation) lacksClaim(from workerSource, w *plan.Worker) bool {
	claims, err := render.Claims(from.input, identityOf(from, w))
	return err == nil && slices.ContainsFunc(claims, func(c *corev1.PersistentVolumeClaim) bool { return s.claims[c.Name] == nil })
}

// nameTakenRetry is the pause before a worker is created again whose pod name others have: the end of a foreign pod does not reconcile
// the NodeSet.
const nameTakenRetry = time.Minute

// reportNameTaken handles a pod that already exists. Usually the cache does not show it yet. If others took the name, it records an
// event and retries later. If the worker lacks the label that the cache selects by, it restores the label.
func (r *Reconciler) reportNameTaken(ctx context.Context, s *observation, name string) error {
	pod := &corev1.Pod{}
	if err := r.uncached.Get(ctx, client.ObjectKey{Namespace: s.nodeSet.Namespace, Name: name}, pod); err != nil {
		return ignoreNotFound(fmt.Errorf("reading pod %s: %w", name, err))
	}
	switch {
	case nodeSetOf(pod) == s.nodeSet.Name && pod.Labels[v1beta1.LabelAppName] != v1beta1.AppSlurmd:
		return r.restoreAppLabel(ctx, s, pod)
	case nodeSetOf(pod) != s.nodeSet.Name:
		s.requeueAfter(nameTakenRetry)
		r.events.Eventf(s.nodeSet, pod, corev1.EventTypeWarning, "FailedCreate", "Create",
			"pod %s already exists and does not belong to this NodeSet", name)
	}
	return nil
}

// restoreAppLabel restores a worker's label that was changed or removed.
func (r *Reconciler) restoreAppLabel(ctx context.Context, s *observation, pod *corev1.Pod) error {
	before := pod.DeepCopy()
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1beta1.LabelAppName, v1beta1.AppSlurmd)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, pod, patch, client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("giving pod %s its label back: %w", pod.Name, err)
	}
	r.events.Eventf(s.nodeSet, pod, corev1.EventTypeWarning, "WorkerLabeled", "Label", "worker %s has the label %s=%s again, without which "+
		"it is no worker", pod.Name, v1beta1.LabelAppName, v1beta1.AppSlurmd)
	return nil
}

// pinnedKubeNode returns the Kubernetes node where an ordinal is pinned, or an empty string. A pin ends when the node is gone, no
// longer fits, or has another worker. It also ends if another slurmd has the name that the worker would get there.
func pinnedKubeNode(s *observation, spec *corev1.PodSpec, ordinal int) string {
	name := s.pins()[formatOrdinal(ordinal)]
	node := s.kubeNodes[name]
	if node == nil || !desired.CanRunOn(spec, node) {
		return ""
	}
	isLabel := len(validation.IsValidLabelValue(name)) == 0 // as the label with the worker's name
	if spec.HostNetwork && (!isLabel || s.mustAvoid(name)) {
		return ""
	}
	return name
}

// formatOrdinal returns an ordinal in the format of status.ordinalToNode.
func formatOrdinal(ordinal int) string { return strconv.Itoa(ordinal) }

// pins returns ordinalPins, which it determines once.
func (s *observation) pins() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ordinalPins == nil {
		s.ordinalPins = ordinalPins(s)
	}
	return s.ordinalPins
}

// ordinalPins returns the Kubernetes node of each ordinal that has run, including ordinals without a worker now. Where workers cannot
// share a Kubernetes node, each node has one ordinal: its worker's, or else the lowest.
func ordinalPins(s *observation) map[string]string {
	if !s.nodeSet.Spec.PinToNode || s.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet {
		return nil
	}
	out, used := map[string]string{}, map[string]bool{}
	for i := range s.workers {
		w := &s.workers[i]
		kubeNode := w.KubeNode
		if s.kubeNodes[w.PinnedTo] != nil { // it is not scheduled yet
			kubeNode = w.PinnedTo
		}
		if kubeNode != "" && w.DeletedAt.IsZero() {
			out[formatOrdinal(w.Slot.Ordinal)], used[kubeNode] = kubeNode, true
		}
	}
	canShare := s.nodeSet.Spec.OversubscribeNode && !s.template.Spec.HostNetwork
	for _, ordinal := range slices.SortedFunc(maps.Keys(s.nodeSet.Status.OrdinalToNode), compareOrdinals) {
		kubeNode := s.nodeSet.Status.OrdinalToNode[ordinal]
		if out[ordinal] == "" && s.kubeNodes[kubeNode] != nil && (canShare || !used[kubeNode]) {
			out[ordinal], used[kubeNode] = kubeNode, true
		}
	}
	return out
}

// compareOrdinals compares ordinals in the format of status.ordinalToNode.
func compareOrdinals(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

package nodeset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// applyChildren creates the other objects that workers need: the Service and the disruption budget,
// which all NodeSets of a cluster share, and the newest revision.
func (r *Reconciler) applyChildren(ctx context.Context, s *seen) error {
	if err := r.ensure(ctx, &corev1.Service{}, render.Service(s.cluster, s.nodeSet.Namespace)); err != nil {
		return err
	}
	if protection := s.nodeSet.Spec.WorkloadDisruptionProtection; protection == nil || *protection {
		if err := r.applyBudget(ctx, s); err != nil {
			return err
		}
	}
	return r.applyRevisions(ctx, s)
}

// applyBudget creates the disruption budget. It corrects one that would allow the eviction of
// workers with jobs, such as that of an older operator with maxUnavailable.
func (r *Reconciler) applyBudget(ctx context.Context, s *seen) error {
	have, want := &policyv1.PodDisruptionBudget{}, render.Budget(s.cluster, s.nodeSet.Namespace)
	if err := r.ensure(ctx, have, want); err != nil || have.UID == "" || !leaks(have, want) {
		return err
	}
	changed := have.DeepCopy()
	changed.Spec = want.Spec
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, changed, patch, client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("correcting PodDisruptionBudget %s: %w", have.Name, err)
	}
	r.events.Eventf(s.nodeSet, have, corev1.EventTypeWarning, "BudgetCorrected", "Update", "PodDisruptionBudget %s allowed the eviction of workers with jobs", have.Name)
	return nil
}

// allowsEvictions reports whether a budget allows evictions that the wanted one refuses.
func leaks(have, want *policyv1.PodDisruptionBudget) bool {
	least := have.Spec.MinAvailable
	return least == nil || least.Type != intstr.Int || least.IntVal < want.Spec.MinAvailable.IntVal ||
		!apiequality.Semantic.DeepEqual(have.Spec.Selector, want.Spec.Selector) ||
		have.Spec.UnhealthyPodEvictionPolicy != nil && *have.Spec.UnhealthyPodEvictionPolicy != *want.Spec.UnhealthyPodEvictionPolicy
}

// createIfMissing creates an object that does not exist. It leaves an existing object as it is,
// with the changes that others made.
func (r *Reconciler) ensure(ctx context.Context, have, want client.Object) error {
	err := r.client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := r.client.Create(ctx, want, client.FieldOwner(FieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %s: %w", want.GetObjectKind().GroupVersionKind().Kind, want.GetName(), err)
	}
	return nil
}

// createWorker creates the claims and the pod of a worker.
func (r *Reconciler) create(ctx context.Context, s *seen, step plan.Step) error {
	from, err := s.recipeOf(step.Slot.Ordinal)
	if err != nil {
		return err
	}
	id := render.Identity{Revision: from.hash, KubeNode: step.Slot.KubeNode}
	if step.Slot.Ordinal != plan.NoOrdinal {
		id.Ordinal = &step.Slot.Ordinal
		id.KubeNode = pinOf(s, step.Slot.Ordinal)
	}
	if node := s.kubeNodes[id.KubeNode]; node != nil {
		id.Facts = render.FactsOf(node.Annotations)
	}
	if wait := s.memory.pods.awaited(from.names.Pod(id), r.now()); wait > 0 {
		s.lookAgain(wait)
		return nil // the cache does not show the pod yet
	}
	if r.memory.hopeless(s.memory) {
		return nil
	}
	if err := r.createClaims(ctx, s, from, id); err != nil {
		return r.createFailed(s, err)
	}
	pod, err := render.Worker(from.input, from.template, id)
	if err != nil {
		return fmt.Errorf("rendering a worker: %w", err)
	}
	err = r.client.Create(ctx, pod, client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.nameTaken(ctx, s, pod.Name)
	case err != nil:
		return r.createFailed(s, fmt.Errorf("creating pod %s: %w", pod.Name, err))
	}
	s.memory.pods.made(pod.Name, r.now())
	r.metrics.took(s, step, r.now())
	s.add(pod)
	return nil
}

// reportCreateFailure delays further creations, and reports the first failure of the round.
func (r *Reconciler) createFailed(s *seen, err error) error {
	if !r.memory.createFailed(s.memory, r.now()) {
		return nil
	}
	wait := s.memory.createAfter.Sub(r.now())
	s.lookAgain(wait)
	r.events.Eventf(s.nodeSet, nil, corev1.EventTypeWarning, "FailedCreate", "Create", "%v; the next attempt is in %s", err, wait)
	return err
}

// createClaims creates the claims of a worker that do not exist.
func (r *Reconciler) createClaims(ctx context.Context, s *seen, from recipe, id render.Identity) error {
	claims, err := render.Claims(from.input, id)
	if err != nil {
		return fmt.Errorf("rendering claims: %w", err)
	}
	for _, claim := range claims {
		follow(s.nodeSet, claim, true)
		if err := r.client.Create(ctx, claim, client.FieldOwner(FieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// reportNameTaken handles a pod that already exists. Usually the cache does not show it yet. If
// somebody else took the name, it records an event.
func (r *Reconciler) nameTaken(ctx context.Context, s *seen, name string) error {
	pod := &corev1.Pod{}
	if err := r.direct.Get(ctx, client.ObjectKey{Namespace: s.nodeSet.Namespace, Name: name}, pod); err != nil {
		return ignoreGone(fmt.Errorf("reading pod %s: %w", name, err))
	}
	if nodeSetOf(pod) != s.nodeSet.Name {
		r.events.Eventf(s.nodeSet, pod, corev1.EventTypeWarning, "FailedCreate", "Create", "pod %s already exists and does not belong to this NodeSet", name)
	}
	return nil
}

// pinnedKubeNode returns the Kubernetes node to which an ordinal is pinned, empty for none. A pin
// ends when the node is gone or does not fit any more.
func pinOf(s *seen, ordinal int) string {
	if !s.nodeSet.Spec.PinToNode {
		return ""
	}
	name := s.nodeSet.Status.OrdinalToNode[fmt.Sprint(ordinal)]
	node := s.kubeNodes[name]
	if node == nil || !fits(&s.template.Spec, node) {
		return ""
	}
	return name
}

// ordinalPins returns the Kubernetes node of each ordinal that has run, also of ordinals without a
// worker at present.
func pinsOf(s *seen) map[string]string {
	if !s.nodeSet.Spec.PinToNode || s.nodeSet.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet {
		return nil
	}
	out := map[string]string{}
	for ordinal, name := range s.nodeSet.Status.OrdinalToNode {
		if s.kubeNodes[name] != nil {
			out[ordinal] = name
		}
	}
	for i := range s.workers {
		if w := &s.workers[i]; w.KubeNode != "" && w.Going.IsZero() {
			out[fmt.Sprint(w.Slot.Ordinal)] = w.KubeNode
		}
	}
	return out
}

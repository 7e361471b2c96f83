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

// applyChildren makes what the workers need beside themselves: the Service and the
// disruption budget that all NodeSets of a cluster share, and the newest revision.
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

// applyBudget makes the disruption budget, and corrects one that would let workers with
// jobs be evicted, such as an older operator's with maxUnavailable.
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
	r.events.Eventf(s.nodeSet, have, corev1.EventTypeWarning, "BudgetCorrected", "Update", "PodDisruptionBudget %s let workers with jobs be evicted", have.Name)
	return nil
}

// leaks reports that a budget does not refuse every eviction that the wanted one does.
func leaks(have, want *policyv1.PodDisruptionBudget) bool {
	least := have.Spec.MinAvailable
	return least == nil || least.Type != intstr.Int || least.IntVal < want.Spec.MinAvailable.IntVal ||
		!apiequality.Semantic.DeepEqual(have.Spec.Selector, want.Spec.Selector) ||
		have.Spec.UnhealthyPodEvictionPolicy != nil && *have.Spec.UnhealthyPodEvictionPolicy != *want.Spec.UnhealthyPodEvictionPolicy
}

// ensure makes an object that is not there. One that is there is left as it is: what
// others changed in it they meant.
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

// create makes the claims and the pod of a worker.
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
		return nil // the cache does not have it yet
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

// createFailed has the others wait, and tells of the first of them that could not be made.
func (r *Reconciler) createFailed(s *seen, err error) error {
	if !r.memory.createFailed(s.memory, r.now()) {
		return nil
	}
	wait := s.memory.createAfter.Sub(r.now())
	s.lookAgain(wait)
	r.events.Eventf(s.nodeSet, nil, corev1.EventTypeWarning, "FailedCreate", "Create", "%v; it is tried again in %s", err, wait)
	return err
}

// createClaims makes the claims of a worker that are not there.
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

// nameTaken is for a pod that is there already: mostly the cache does not have it yet,
// but somebody else may have taken its name, and that is told.
func (r *Reconciler) nameTaken(ctx context.Context, s *seen, name string) error {
	pod := &corev1.Pod{}
	if err := r.direct.Get(ctx, client.ObjectKey{Namespace: s.nodeSet.Namespace, Name: name}, pod); err != nil {
		return ignoreGone(fmt.Errorf("reading pod %s: %w", name, err))
	}
	if nodeSetOf(pod) != s.nodeSet.Name {
		r.events.Eventf(s.nodeSet, pod, corev1.EventTypeWarning, "FailedCreate", "Create", "pod %s is there and is not of this NodeSet", name)
	}
	return nil
}

// pinOf is the Kubernetes node to which an ordinal is pinned, empty for none. A pin
// falls when the node is gone or fits no more.
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

// pinsOf are the Kubernetes nodes where the ordinals run, with those pinned before
// that do not run now.
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

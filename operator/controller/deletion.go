package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/rotation"
)

// reconcileDeletion deletes the objects of a Controller that is being deleted, and writes into its status what keeps it
// from that, which it returns as a *problem.Error. The claim of the state stays.
func (r *Reconciler) reconcileDeletion(ctx context.Context, c *v1beta1.Controller) error {
	if !kube.HasFinalizer(c, v1beta1.FinalizerSlurmctld) {
		return nil
	}
	err := r.checkDeletion(ctx, c)
	waits, other := problem.Split(err)
	switch {
	case other != nil:
		return other
	case waits != nil:
		return cmp.Or(r.patchReady(ctx, c, waits), err)
	}
	err = r.DeleteAll(ctx, c,
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: names.ControllerStatefulSet(c.Name)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.ControllerConfigMap(c.Name)}})
	if err != nil {
		return err
	}
	if err := r.deleteOtherServices(ctx, c, nil); err != nil {
		return err
	}
	if err := rotation.ReleaseSecrets(ctx, r.Writer, c); err != nil {
		return err
	}
	return kube.RemoveFinalizer(ctx, r.Client, c, v1beta1.FinalizerSlurmctld, r.Owner)
}

// checkDeletion returns a *problem.Error as long as a NodeSet needs slurmctld, without which nothing drains and running
// jobs end unrecorded, or as the operator has no right to delete the objects.
func (r *Reconciler) checkDeletion(ctx context.Context, c *v1beta1.Controller) error {
	list := &v1beta1.NodeSetList{}
	if err := r.Uncached.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		return fmt.Errorf("listing NodeSets: %w", err)
	}
	workers := &corev1.PodList{}
	if err := r.Uncached.List(ctx, workers, client.InNamespace(c.Namespace), client.MatchingLabels(names.WorkerSelector(c.Name))); err != nil {
		return fmt.Errorf("listing workers: %w", err)
	}
	if waiting := nodeSetsInUse(c, list.Items, workers.Items); len(waiting) > 0 {
		return problem.New(v1beta1.ReasonWaitingForNodeSets,
			"slurmctld goes on until the workers of NodeSet %s are gone; delete the NodeSet or scale it to zero",
			strings.Join(waiting, ", "))
	}
	return r.CheckNamespace(c.Namespace)
}

// nodeSetsInUse returns the names of a Controller's NodeSets that have workers, or are waiting for some to
// end. The first workers are there before their NodeSet counts them.
func nodeSetsInUse(c *v1beta1.Controller, nodeSets []v1beta1.NodeSet, workers []corev1.Pod) []string {
	hasWorkers := map[string]bool{}
	for i := range workers {
		hasWorkers[workers[i].Labels[v1beta1.LabelAppInstance]] = true
	}
	var out []string
	for i := range nodeSets {
		n := &nodeSets[i]
		key, _ := refs.ClusterKeyOf(n)
		if key.Kind == v1beta1.KindController && key.Name == c.Name && (n.Status.Replicas > 0 || hasWorkers[n.Name] ||
			kube.HasFinalizer(n, v1beta1.FinalizerDrain) && n.DeletionTimestamp != nil) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// patchReady writes the condition Ready if it has changed.
func (r *Reconciler) patchReady(ctx context.Context, c *v1beta1.Controller, reported *problem.Error) error {
	_, err := kube.UpdateStatus(ctx, r.Writer, c, nil, func(next *v1beta1.Controller) {
		v1beta1.SetCondition(&next.Status.Conditions, v1beta1.ConditionReady, metav1.Condition{
			Status: metav1.ConditionFalse, Reason: reported.Reason, Message: reported.Message}, c.Generation, r.now())
	})
	return err
}

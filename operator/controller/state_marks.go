package controller

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// The claim itself says whose state it has, so that this outlives the StatefulSet and the Controller.

// checkClusterName returns a *problem.Error if the claim has the state of a Slurm cluster of another name, with which
// slurmctld ends at each start.
func checkClusterName(name, claim string, claims []corev1.PersistentVolumeClaim) error {
	for i := range claims {
		has := claims[i].Annotations[v1beta1.AnnotationStateClusterName]
		if claims[i].Name == claim && has != "" && has != name {
			return problem.New(v1beta1.ReasonInvalidSpec, "claim %s has the state of the Slurm cluster %s, and slurmctld does not "+
				"start with it as %s: set spec.clusterName to %s. If the claim was emptied: kubectl annotate "+
				"persistentvolumeclaim %s %s-", claim, has, name, has, claim, v1beta1.AnnotationStateClusterName)
		}
	}
	return nil
}

// checkStateOwner returns a *problem.Error if the claim has the state of another Controller that still exists: two slurmctlds
// with one state end each other's jobs.
func (r *Reconciler) checkStateOwner(ctx context.Context, c *v1beta1.Controller, claim string,
	claims []corev1.PersistentVolumeClaim) error {
	isMarked := false
	for i := range claims {
		owner := claims[i].Annotations[v1beta1.AnnotationStateOf]
		isMarked = isMarked || claims[i].Name == claim && owner != ""
		if claims[i].Name != claim || owner == "" || owner == c.Name {
			continue
		}
		key := client.ObjectKey{Namespace: c.Namespace, Name: owner}
		found, err := findUncached(ctx, r.Uncached, key, &v1beta1.Controller{})
		if err != nil || !found {
			return err
		}
		return sharesState(claim, owner)
	}
	if claim == "" || isMarked {
		return nil
	}
	return r.checkStateUsers(ctx, c, claim)
}

// checkStateUsers returns a *problem.Error if the StatefulSet of another Controller waits for a claim on which nothing says yet
// whose state it has.
func (r *Reconciler) checkStateUsers(ctx context.Context, c *v1beta1.Controller, claim string) error {
	list := &appsv1.StatefulSetList{}
	if err := r.Uncached.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		return fmt.Errorf("listing StatefulSets: %w", err)
	}
	for i := range list.Items {
		set := &list.Items[i]
		owner, isOurs := set.Labels[v1beta1.LabelAppInstance]
		if isOurs && set.Name != names.ControllerStatefulSet(c.Name) && stateVolumeOf(&set.Spec.Template.Spec, set).claim == claim {
			return sharesState(claim, owner)
		}
	}
	return nil
}

func sharesState(claim, owner string) error {
	return problem.New(v1beta1.ReasonStateElsewhere, "claim %s has the state of the slurmctld of Controller %s, and two "+
		"slurmctlds must not share it: name another spec.persistence.existingClaim, or delete Controller %s first", claim,
		owner, owner)
}

// markState notes on the claim of slurmctld's state whose it is, and removes the note from the claim before. The claim of
// a StatefulSet that was just made does not exist yet.
func (r *Reconciler) markState(ctx context.Context, c *v1beta1.Controller, objects []podspec.KubeObject) error {
	set := statefulSetOf(objects)
	state := stateVolumeOf(&set.Spec.Template.Spec, set).claim
	list := &corev1.PersistentVolumeClaimList{}
	if err := r.Uncached.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range list.Items {
		claim, next := &list.Items[i], list.Items[i].DeepCopy()
		switch {
		case claim.Name == state:
			next.Annotations = podspec.MergeMaps(next.Annotations, map[string]string{v1beta1.AnnotationStateOf: c.Name,
				v1beta1.AnnotationStateClusterName: names.SlurmClusterName(c)})
		case claim.Annotations[v1beta1.AnnotationStateOf] == c.Name:
			delete(next.Annotations, v1beta1.AnnotationStateOf)
			delete(next.Annotations, v1beta1.AnnotationStateClusterName)
		}
		if maps.Equal(claim.Annotations, next.Annotations) {
			continue
		}
		if err := r.Client.Patch(ctx, next, client.MergeFrom(claim), r.Owner); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("annotating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

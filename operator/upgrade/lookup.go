package upgrade

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// lookUpAll adds what is known of the releases in images to answers.
func (g Guard) lookUpAll(ctx context.Context, s subject, w workload, images []string, answers map[string]Answer) error {
	for _, image := range images {
		if _, isStated := answers[image]; isStated {
			continue
		}
		var err error
		if answers[image], err = g.lookUp(ctx, s, w, image); err != nil {
			return err
		}
	}
	return nil
}

// lookUp returns what is known of the release in an image. It creates the pod that finds it out, and deletes it after
// the answer: an answer that is lost before it is in the status is looked up again.
func (g Guard) lookUp(ctx context.Context, s subject, w workload, image string) (Answer, error) {
	owner := metav1.NewControllerRef(s.object, v1beta1.SchemeGroupVersion.WithKind(s.kind))
	wanted := newLookupPod(*owner, s.object, s.daemon, image, w.template, w.container)
	pod := &corev1.Pod{}
	err := g.Uncached.Get(ctx, client.ObjectKeyFromObject(wanted), pod)
	switch {
	case apierrors.IsNotFound(err):
		g.noLookups.Delete(s.object.GetUID())
		return g.createLookupPod(ctx, wanted)
	case err != nil:
		return Answer{}, fmt.Errorf("reading pod %s: %w", wanted.Name, err)
	case !metav1.IsControlledBy(pod, s.object):
		return Answer{Problem: fmt.Sprintf("pod %s, which would look up the release of Slurm in image %s, exists already "+
			"and was not made for this object; delete or rename it", pod.Name, image)}, nil
	case pod.DeletionTimestamp != nil:
		return Answer{}, nil
	}
	answer, isOver := readAnswer(g.now(), pod, s.daemon)
	if isOver {
		err = g.DeleteAll(ctx, s.object, pod)
	}
	return answer, err
}

// createLookupPod creates the pod. What the API server says against it is an answer.
func (g Guard) createLookupPod(ctx context.Context, pod *corev1.Pod) (Answer, error) {
	err := g.Client.Create(ctx, pod, g.Owner)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return Answer{}, nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err): // such as a quota that is used up
		return Answer{Problem: fmt.Sprintf("the release of Slurm in image %s cannot be looked up: %v",
			pod.Spec.Containers[0].Image, err)}, nil
	}
	return Answer{}, fmt.Errorf("creating pod %s: %w", pod.Name, err)
}

// DeleteLookups deletes the pods that look up releases for an object whose daemon the operator does not run any more.
// Call it before you write the status, which records that there are lookups.
func (g Guard) DeleteLookups(ctx context.Context, object Object) error {
	last, _ := object.ReleaseStatusOf()
	switch {
	case !g.MayRunIn(object.GetNamespace()):
		return nil
	case isLookingUp(*last):
		return g.deleteOtherLookups(ctx, subjectOf(object), nil)
	}
	return g.deleteForgottenLookups(ctx, subjectOf(object))
}

// deleteForgottenLookups deletes the lookup pods of an object whose status tells of none, unless it is known that there are
// none.
func (g Guard) deleteForgottenLookups(ctx context.Context, s subject) error {
	if _, has := g.noLookups.Load(s.object.GetUID()); has {
		return nil
	}
	if err := g.deleteOtherLookups(ctx, s, nil); err != nil {
		return err
	}
	g.noLookups.Store(s.object.GetUID(), true)
	return nil
}

// deleteOtherLookups deletes the pods that look up releases for an object in other images than those given.
func (g Guard) deleteOtherLookups(ctx context.Context, s subject, images []string) error {
	pods := &corev1.PodList{}
	err := g.Uncached.List(ctx, pods, client.InNamespace(s.object.GetNamespace()),
		client.MatchingLabels(lookupLabels(s.object)))
	if err != nil {
		return fmt.Errorf("listing the pods that look up releases: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if slices.Contains(images, pod.Spec.Containers[0].Image) {
			continue
		}
		if err := g.DeleteAll(ctx, s.object, pod); err != nil { // it leaves those of an object of another kind
			return err
		}
	}
	return nil
}

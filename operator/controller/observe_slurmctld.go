package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/status"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// errNoAddress is of a pod that the kubelet has not started yet.
var errNoAddress = errors.New("the pod has no address yet")

// observeSlurmctld reads what runs: the StatefulSet, its pods and their agents, and the revision of the
// configuration that they should have. It makes the kubelet bring that revision to the pods at once.
func (r *Reconciler) observeSlurmctld(ctx context.Context, c *v1beta1.Controller, into *status.Observation) error {
	set, config := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
	name := names.ControllerStatefulSet(c.Name)
	switch err := r.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, set); {
	case err == nil:
		into.Set = set
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading StatefulSet %s: %w", name, err)
	}
	name = names.ControllerConfigMap(c.Name)
	err := r.uncached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	into.Revision = config.Data[slurmconf.RevisionFile]
	pods := &corev1.PodList{}
	if err := r.uncached.List(ctx, pods, client.InNamespace(c.Namespace),
		client.MatchingLabels(names.SlurmctldSelector(c.Name))); err != nil {
		return fmt.Errorf("listing the pods of slurmctld: %w", err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		if err := r.annotateRevision(ctx, pod, into.Revision); err != nil {
			return err
		}
		agent := status.Agent{Pod: pod.Name, Err: errNoAddress}
		if pod.Status.PodIP != "" {
			agent.Status, agent.Err = r.readAgent(ctx, pod.Status.PodIP)
		}
		into.Agents = append(into.Agents, agent)
	}
	return nil
}

// annotateRevision writes the revision on a pod. The kubelet updates the volumes of a pod that changes,
// and those of others once a minute.
func (r *Reconciler) annotateRevision(ctx context.Context, pod *corev1.Pod, revision string) error {
	if pod.Annotations[v1beta1.AnnotationSlurmConfigHash] == revision || pod.DeletionTimestamp != nil {
		return nil
	}
	next := pod.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[v1beta1.AnnotationSlurmConfigHash] = revision
	err := r.client.Patch(ctx, next, client.MergeFrom(pod), client.FieldOwner(FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

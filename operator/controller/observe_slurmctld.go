package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
		agent := status.Agent{Pod: pod.Name, Err: errNoAddress}
		if pod.Status.PodIP != "" {
			agent.Status, agent.Err = r.readAgent(ctx, pod.Status.PodIP)
		}
		if err := r.requestSync(ctx, pod, into.Revision, agent); err != nil {
			return err
		}
		into.Agents = append(into.Agents, agent)
	}
	return nil
}

// requestSync makes the kubelet update the volumes of a pod that does not have the revision yet, by a
// change of the pod; otherwise it looks at them once a minute. It does so again as long as the agent does
// not see the revision: the kubelet may learn of the change of the pod before that of the ConfigMap.
func (r *Reconciler) requestSync(ctx context.Context, pod *corev1.Pod, revision string, agent status.Agent) error {
	hasRevision := pod.Annotations[v1beta1.AnnotationSlurmConfigHash] == revision
	answers := agent.Err == nil
	if pod.DeletionTimestamp != nil || hasRevision && (!answers || agent.Status.Wanted == revision) {
		return nil
	}
	next := pod.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[v1beta1.AnnotationSlurmConfigHash] = revision
	next.Annotations[v1beta1.AnnotationSyncRequested] = r.now().UTC().Format(time.RFC3339Nano)
	err := r.client.Patch(ctx, next, client.MergeFrom(pod), client.FieldOwner(FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

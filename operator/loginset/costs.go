package loginset

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// sessionInterval is how often the sessions of several login pods are counted. A scale-in through the LoginSet counts
// them first.
const sessionInterval = 15 * time.Second

// costOf returns the deletion cost of a login pod with so many sessions, by which Kubernetes removes the cheapest
// pods first. It is 0 without sessions, and otherwise changes when their number doubles or halves, so that pods are
// seldom written (Kubernetes asks for that, KEP 2255).
func costOf(sessions int) string { return strconv.Itoa(bits.Len(uint(max(sessions, 0)))) }

// hasChoice reports whether there is, or will be, more than one login pod to choose from. The Deployment may have more
// than the status and the cache say yet.
func (r *Reconciler) hasChoice(ctx context.Context, l *v1beta1.LoginSet) (bool, error) {
	if l.Status.Replicas > 1 || l.Spec.Replicas != nil && *l.Spec.Replicas > 1 {
		return r.MayRunIn(l.Namespace), nil
	}
	if !r.MayRunIn(l.Namespace) {
		return false, nil
	}
	deployment := &appsv1.Deployment{}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: names.LoginDeployment(l.Name)}, deployment)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the Deployment of login pods: %w", err)
	}
	return err == nil && deployment.Spec.Replicas != nil && *deployment.Spec.Replicas > 1, nil
}

// updateDeletionCosts annotates the login pods with their deletion costs, so that those where nobody is logged in
// leave first. A pod whose sessions are not known keeps its cost.
func (r *Reconciler) updateDeletionCosts(ctx context.Context, l *v1beta1.LoginSet) error {
	pods := &corev1.PodList{}
	err := r.Uncached.List(ctx, pods, client.InNamespace(l.Namespace), client.MatchingLabels(names.LoginSelector(l.Name)))
	if err != nil {
		return fmt.Errorf("listing login pods: %w", err)
	}
	deployment := names.LoginDeployment(l.Name)
	ours := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !isOfDeployment(&pod, deployment) })
	said := agentpods.AskEach(ctx, ours, r.readSessions)
	for i, sessions := range said {
		if sessions == nil {
			continue
		}
		if err := r.updateDeletionCost(ctx, &ours[i], *sessions); err != nil {
			return err
		}
	}
	return nil
}

// isOfDeployment reports whether a ReplicaSet of a Deployment controls a pod. Its labels prove nothing.
func isOfDeployment(pod *corev1.Pod, deployment string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && strings.HasPrefix(owner.Name+"-", deployment+"-")
}

// readSessions returns how many sessions a login pod has, nil if that is not known.
func (r *Reconciler) readSessions(ctx context.Context, pod *corev1.Pod) *int {
	if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
		return nil
	}
	said, err := r.readAgent(ctx, pod.Status.PodIP)
	if err != nil {
		return nil
	}
	return said.Sessions
}

func (r *Reconciler) updateDeletionCost(ctx context.Context, pod *corev1.Pod, sessions int) error {
	cost := costOf(sessions)
	if pod.Annotations[corev1.PodDeletionCost] == cost {
		return nil
	}
	next := pod.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[corev1.PodDeletionCost] = cost
	if err := r.Client.Patch(ctx, next, client.MergeFrom(pod), r.Owner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

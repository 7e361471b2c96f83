// Package agentpods reads the status of the agents beside Slurm's daemons (package configagent), and makes the kubelet
// bring changed configuration to their pods.
package agentpods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// errNoAddress is of a pod that the kubelet has not started yet.
var errNoAddress = errors.New("the pod has no address yet")

// Reader reads agents. All fields are required.
type Reader struct {
	// Writer reads StatefulSets from the cache, pods and ConfigMaps past it.
	kube.Writer
	// ReadAgent returns the status of the agent in the pod with an address.
	ReadAgent func(ctx context.Context, podIP string) (configagent.Status, error)
	Now       func() time.Time
}

// Daemon locates the agents of a daemon.
type Daemon struct {
	// Name is the name of the daemon, such as "slurmctld".
	Name string
	// Namespace is the namespace of its objects. Owner is the owner of its StatefulSet. Replicas is the desired number
	// of its pods.
	Namespace string
	Owner     metav1.Object
	Replicas  int
	// Set is the name of the StatefulSet, Config the name of the ConfigMap with its configuration. Pods are the labels
	// of its pods.
	Set, Config string
	Pods        map[string]string
}

// Observe reads the StatefulSet of a daemon, the agents of its pods, and the desired revision of their configuration. It
// asks only the pods of the owner's StatefulSet, whatever labels other pods have.
func (r Reader) Observe(ctx context.Context, d Daemon) (agentstatus.Observation, error) {
	out := agentstatus.Observation{Daemon: d.Name, Replicas: d.Replicas}
	if !r.MayRunIn(d.Namespace) {
		return out, nil
	}
	set, config := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
	switch found, err := r.Find(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Set}, set); {
	case err != nil:
		return out, err
	case found:
		out.Set = set
	}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Config}, config)
	if client.IgnoreNotFound(err) != nil {
		return out, fmt.Errorf("reading ConfigMap %s: %w", d.Config, err)
	}
	out.Revision = config.Data[slurmconf.RevisionFile]
	if out.Set == nil || !metav1.IsControlledBy(out.Set, d.Owner) {
		return out, nil
	}
	out.Agents, err = r.readAgents(ctx, out.Set, d.Pods, out.Revision)
	return out, err
}

// readAgents returns the agents of the pods of a StatefulSet that have labels, in the order of the pods' names. It makes
// the kubelet bring the revision to the pods at once.
func (r Reader) readAgents(ctx context.Context, set *appsv1.StatefulSet, selector map[string]string, revision string) (
	[]agentstatus.Agent, error) {
	pods, err := r.listPods(ctx, set, selector)
	if err != nil {
		return nil, err
	}
	out := AskEach(ctx, pods, r.readAgent)
	for i := range pods {
		if err := r.requestSync(ctx, &pods[i], revision, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listPods returns the pods of a StatefulSet that have labels, in the order of their names.
func (r Reader) listPods(ctx context.Context, set *appsv1.StatefulSet, selector map[string]string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := r.Uncached.List(ctx, list, client.InNamespace(set.Namespace), client.MatchingLabels(selector)); err != nil {
		return nil, fmt.Errorf("listing the pods of agents: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !isPodOf(set, &pod) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// readAgent returns the status of the agent in a pod.
func (r Reader) readAgent(ctx context.Context, pod *corev1.Pod) agentstatus.Agent {
	out := agentstatus.Agent{Pod: pod.Name, Err: errNoAddress}
	if pod.Status.PodIP != "" {
		out.Status, out.Err = r.ReadAgent(ctx, pod.Status.PodIP)
	}
	return out
}

// isPodOf reports whether a pod belongs to a StatefulSet. Its labels prove nothing: any user who creates pods in the
// namespace chooses them.
func isPodOf(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	ordinal, err := strconv.Atoi(strings.TrimPrefix(pod.Name, set.Name+"-"))
	replicas := 1
	if set.Spec.Replicas != nil {
		replicas = int(*set.Spec.Replicas)
	}
	return err == nil && ordinal >= 0 && ordinal < replicas && pod.Name == set.Name+"-"+strconv.Itoa(ordinal) &&
		metav1.IsControlledBy(pod, set)
}

// requestSync changes a pod that does not have the revision yet, so that the kubelet updates its volumes; otherwise the
// kubelet checks them once a minute. requestSync repeats this until the agent sees the revision: the kubelet may learn
// of the changed pod before it learns of the changed ConfigMap.
func (r Reader) requestSync(ctx context.Context, pod *corev1.Pod, revision string, agent agentstatus.Agent) error {
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
	next.Annotations[v1beta1.AnnotationSyncRequested] = r.Now().UTC().Format(time.RFC3339Nano)
	err := r.Client.Patch(ctx, next, client.MergeFrom(pod), r.Owner)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

package rotation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// parallelReads is how many agents are asked at a time.
const parallelReads = 32

// syncInterval is how soon the kubelet is asked again to bring a key set to a pod.
const syncInterval = 5 * time.Second

// sharers are the objects that refer to one key.
type sharers struct {
	controllers []v1beta1.Controller
	accountings []v1beta1.Accounting
}

// findSharers returns the objects of a namespace that refer to a key, and the Accountings of the Controllers among them:
// a slurmdbd goes on with its key while the reference is wrong. The error is *problem.Error if the daemons of one are
// outside of the operator's control.
func (r *Reconciler) findSharers(ctx context.Context, namespace string, key corev1.SecretKeySelector) (sharers, error) {
	var out sharers
	controllers, accountings := &v1beta1.ControllerList{}, &v1beta1.AccountingList{}
	err := errors.Join(r.Client.List(ctx, controllers, client.InNamespace(namespace)),
		r.Client.List(ctx, accountings, client.InNamespace(namespace)))
	if err != nil {
		return out, fmt.Errorf("listing the objects that refer to the key: %w", err)
	}
	isServing := map[string]bool{}
	for _, c := range controllers.Items {
		if !isSameKey(c.Spec.SlurmKeyRef, key) {
			continue
		}
		if c.Spec.External {
			return out, newExternalError(v1beta1.KindController, c.Name)
		}
		out.controllers = append(out.controllers, c)
		if ref := c.Spec.AccountingRef; ref != nil {
			isServing[ref.Name] = true
		}
	}
	for _, a := range accountings.Items {
		if !isSameKey(a.Spec.SlurmKeyRef, key) && !isServing[a.Name] {
			continue
		}
		if a.Spec.External {
			return out, newExternalError(v1beta1.KindAccounting, a.Name)
		}
		out.accountings = append(out.accountings, a)
	}
	return out, nil
}

func isSameKey(ref *corev1.SecretKeySelector, key corev1.SecretKeySelector) bool {
	return ref != nil && ref.Name == key.Name && ref.Key == key.Key
}

func newExternalError(kind, name string) error {
	return problem.New(v1beta1.ReasonExternal, "%s %s has the key as well, and its daemon is outside of the "+
		"operator's control; replace the key by hand", kind, name)
}

// observeMembers returns the daemons that have a key, and makes the kubelet bring the written key set to those that
// do not have it.
func (r *Reconciler) observeMembers(ctx context.Context, namespace string, s sharers, written plan.KeySet) (
	[]plan.Member, error) {
	pods, missing, err := r.findPods(ctx, namespace, s)
	if err != nil {
		return nil, err
	}
	members := make([]plan.Member, len(pods))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelReads)
	for i := range pods {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			members[i] = r.readMember(ctx, &pods[i], written)
		})
	}
	wg.Wait()
	for i, m := range members {
		if m.Problem == "" && m.Loaded.Equal(written) {
			continue
		}
		if err := r.requestSync(ctx, &pods[i]); err != nil {
			return nil, err
		}
	}
	for _, name := range missing {
		members = append(members, plan.Member{Name: name, Problem: "the pod does not exist"})
	}
	return members, nil
}

// findPods returns the pods of all daemons in the order of their names, and the names of those that should exist and
// do not. A pod that is not on a Kubernetes node yet will begin with the key set of that time.
func (r *Reconciler) findPods(ctx context.Context, namespace string, s sharers) ([]corev1.Pod, []string, error) {
	var selectors []map[string]string
	var expected []string
	for i := range s.controllers {
		c := &s.controllers[i]
		selectors = append(selectors, names.SlurmctldSelector(c.Name), names.WorkerSelector(c.Name),
			names.ClusterLoginSelector(c.Name))
		for ordinal := range refs.ControllerReplicas(c) {
			expected = append(expected, names.ControllerPod(c.Name, ordinal))
		}
	}
	for _, a := range s.accountings {
		selectors = append(selectors, names.SlurmdbdSelector(a.Name))
		expected = append(expected, names.AccountingPod(a.Name))
	}
	var out []corev1.Pod
	for _, selector := range selectors {
		list := &corev1.PodList{}
		err := r.Uncached.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(selector))
		if err != nil {
			return nil, nil, fmt.Errorf("listing the pods that have the key: %w", err)
		}
		for _, pod := range list.Items {
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if !ended && pod.Spec.NodeName != "" {
				out = append(out, pod)
			}
		}
	}
	slices.SortFunc(out, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	missing := slices.DeleteFunc(expected, func(name string) bool {
		return slices.ContainsFunc(out, func(pod corev1.Pod) bool { return pod.Name == name })
	})
	return out, missing, nil
}

// readMember asks the agent of a pod which key set its daemon has, and if it is not the written one, why.
func (r *Reconciler) readMember(ctx context.Context, pod *corev1.Pod, written plan.KeySet) plan.Member {
	out := plan.Member{Name: pod.Name}
	if pod.Status.PodIP == "" {
		out.Problem = "it is starting"
		return out
	}
	status, err := r.readAgent(ctx, pod.Status.PodIP)
	if err != nil {
		out.Problem = "it does not say which keys it has"
		return out
	}
	out.Loaded, err = plan.ParseKeySet(status.Keys)
	switch {
	case err != nil:
		out.Problem = err.Error()
	case status.AppliedAt.IsZero():
		out.Problem = cmp.Or(status.Error, "it has no keys yet")
	case !out.Loaded.Equal(written):
		out.Problem = status.Error
	}
	return out
}

// requestSync makes the kubelet update the volumes of a pod, by a change of the pod; otherwise it looks at them once a
// minute. The kubelet may learn of that before it learns of the Secret, so it is asked again.
func (r *Reconciler) requestSync(ctx context.Context, pod *corev1.Pod) error {
	last, err := time.Parse(time.RFC3339Nano, pod.Annotations[v1beta1.AnnotationSyncRequested])
	if err == nil && r.now().Sub(last) < syncInterval {
		return nil
	}
	next := pod.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[v1beta1.AnnotationSyncRequested] = r.now().UTC().Format(time.RFC3339Nano)
	if err := r.Client.Patch(ctx, next, client.MergeFrom(pod), r.Owner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

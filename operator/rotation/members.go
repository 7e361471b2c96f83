package rotation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/agentpods"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// syncInterval is the pause before the kubelet is asked again to bring a key set to a pod.
const syncInterval = 5 * time.Second

// sharers are the objects that refer to one key.
type sharers struct {
	controllers []v1beta1.Controller
	accountings []v1beta1.Accounting
}

// keyRefs returns the references of Controllers and Accountings to a kind of keys, or nil.
type keyRefs struct {
	ofController func(*v1beta1.Controller) *corev1.SecretKeySelector
	ofAccounting func(*v1beta1.Accounting) *corev1.SecretKeySelector
}

var slurmKeyRefs = keyRefs{
	func(c *v1beta1.Controller) *corev1.SecretKeySelector { return c.Spec.SlurmKeyRef },
	func(a *v1beta1.Accounting) *corev1.SecretKeySelector { return a.Spec.SlurmKeyRef },
}

// findSharers returns the objects in the namespace of a Controller that refer to the same key. The error is *problem.Error
// if an object's daemons are outside of the operator's control, or if its slurmdbd has the key by another reference.
func (r *Reconciler) findSharers(ctx context.Context, of *v1beta1.Controller, kind keyRefs) (sharers, error) {
	all, err := listSharers(ctx, r.Client, of.Namespace, kind.ofController(of), kind)
	if err != nil {
		return all, err
	}
	accountings := &v1beta1.AccountingList{}
	if err := r.Client.List(ctx, accountings, client.InNamespace(of.Namespace)); err != nil {
		return all, fmt.Errorf("listing Accountings: %w", err)
	}
	for i := range all.controllers {
		c := &all.controllers[i]
		if c.Spec.External {
			return all, newExternalError(v1beta1.KindController, c.Name)
		}
		if err := checkAccountingKey(c, accountings.Items, kind); err != nil {
			return all, err
		}
	}
	for _, a := range all.accountings {
		if a.Spec.External {
			return all, newExternalError(v1beta1.KindAccounting, a.Name)
		}
	}
	return all, nil
}

// listSharers returns the objects of a namespace that refer to a key.
func listSharers(ctx context.Context, c client.Client, namespace string, key *corev1.SecretKeySelector, kind keyRefs) (
	sharers, error) {
	var out sharers
	controllers, accountings := &v1beta1.ControllerList{}, &v1beta1.AccountingList{}
	err := errors.Join(c.List(ctx, controllers, client.InNamespace(namespace)),
		c.List(ctx, accountings, client.InNamespace(namespace)))
	if err != nil {
		return out, fmt.Errorf("listing the objects that refer to the key: %w", err)
	}
	for _, c := range controllers.Items {
		if isSameKey(kind.ofController(&c), key) {
			out.controllers = append(out.controllers, c)
		}
	}
	for _, a := range accountings.Items {
		if isSameKey(kind.ofAccounting(&a), key) {
			out.accountings = append(out.accountings, a)
		}
	}
	return out, nil
}

// checkAccountingKey returns an error if the slurmdbd of a Controller would not get its new key.
func checkAccountingKey(c *v1beta1.Controller, accountings []v1beta1.Accounting, kind keyRefs) error {
	if c.Spec.AccountingRef == nil {
		return nil
	}
	i := slices.IndexFunc(accountings, func(a v1beta1.Accounting) bool { return a.Name == c.Spec.AccountingRef.Name })
	switch {
	case i < 0: // slurmctld continues with another one, whose slurmdbd may have the key
		return problem.New(v1beta1.ReasonReferenceNotFound, "Accounting %s of Controller %s does not exist, so that it is unknown which "+
			"slurmdbd needs the new key", c.Spec.AccountingRef.Name, c.Name)
	case isSameKey(kind.ofAccounting(&accountings[i]), kind.ofController(c)):
		return nil
	case accountings[i].Spec.External:
		return newExternalError(v1beta1.KindAccounting, accountings[i].Name)
	}
	return problem.New(v1beta1.ReasonInvalidSpec, "Accounting %s of Controller %s refers to another Secret or key, so "+
		"that its slurmdbd would not get the new key; let both refer to the same one", accountings[i].Name, c.Name)
}

func isSameKey(a, b *corev1.SecretKeySelector) bool {
	return a != nil && b != nil && a.Name == b.Name && a.Key == b.Key
}

func newExternalError(kind, name string) error {
	return problem.New(v1beta1.ReasonExternal, "%s %s has the key as well, and its daemon is outside of the "+
		"operator's control; replace the key by hand", kind, name)
}

// observeMembers returns the daemons that have a key, and makes the kubelet bring the written key set to daemons without it.
func (r *Reconciler) observeMembers(ctx context.Context, namespace string, s sharers, written plan.KeySet) (
	[]plan.Member, error) {
	_, expected := s.keyVerifiers()
	answers, err := r.askAgents(ctx, namespace, s.members(), expected)
	if err != nil {
		return nil, err
	}
	var members []plan.Member
	for _, a := range answers {
		m := plan.Member{Name: a.name, Problem: a.problem}
		if m.Problem == "" {
			if m.Loaded, err = plan.ParseKeySet(a.status.Keys); err != nil {
				m.Problem = err.Error()
			} else if !m.Loaded.Equal(written) {
				m.Problem = a.status.Problem()
			}
		}
		if m.Problem != "" || !m.Loaded.Equal(written) {
			if err := r.requestSync(ctx, a.pod); err != nil {
				return nil, err
			}
		}
		members = append(members, m)
	}
	return members, nil
}

// members returns the selectors of the pods whose daemons have a key of auth/slurm.
func (s sharers) members() []map[string]string {
	selectors, _ := s.keyVerifiers()
	for _, c := range s.controllers {
		selectors = append(selectors, names.WorkerSelector(c.Name), names.ClusterLoginSelector(c.Name))
	}
	return selectors
}

// keyVerifiers returns the selectors of the pods of slurmctld and slurmdbd, and the names of those that should exist.
func (s sharers) keyVerifiers() (selectors []map[string]string, expected []string) {
	for i := range s.controllers {
		c := &s.controllers[i]
		selectors = append(selectors, names.SlurmctldSelector(c.Name))
		for ordinal := range refs.ControllerReplicas(c) {
			expected = append(expected, names.ControllerPod(c.Name, ordinal))
		}
	}
	for _, a := range s.accountings {
		selectors = append(selectors, names.SlurmdbdSelector(a.Name))
		expected = append(expected, names.AccountingPod(a.Name))
	}
	return selectors, expected
}

// answer is the answer of the agent in a pod.
type answer struct {
	name string
	// pod is nil if no pod has the name.
	pod    *corev1.Pod
	status configagent.Status
	// problem is the reason why the daemon's keys are unknown, or empty.
	problem string
}

// askAgents asks the agents of the selected pods, in the order of their names. Pods that are expected and do not exist come
// last.
func (r *Reconciler) askAgents(ctx context.Context, namespace string, selectors []map[string]string, expected []string) (
	[]answer, error) {
	pods, err := r.findPods(ctx, namespace, selectors)
	if err != nil {
		return nil, err
	}
	out := agentpods.AskEach(ctx, pods, r.askAgent)
	for _, name := range expected {
		if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Name == name }) {
			out = append(out, answer{name: name, problem: "the pod does not exist"})
		}
	}
	return out, nil
}

// findPods returns the selected pods in the order of their names. A pod that is not on a Kubernetes node yet will begin with
// the keys of that time.
func (r *Reconciler) findPods(ctx context.Context, namespace string, selectors []map[string]string) ([]corev1.Pod, error) {
	var out []corev1.Pod
	for _, selector := range selectors {
		list := &corev1.PodList{}
		err := r.Uncached.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(selector))
		if err != nil {
			return nil, fmt.Errorf("listing the pods that have the key: %w", err)
		}
		for _, pod := range list.Items {
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if !ended && pod.Spec.NodeName != "" {
				out = append(out, pod)
			}
		}
	}
	slices.SortFunc(out, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// askAgent asks the agent of a pod which keys its daemon has.
func (r *Reconciler) askAgent(ctx context.Context, pod *corev1.Pod) answer {
	out := answer{name: pod.Name, pod: pod}
	if pod.Status.PodIP == "" {
		out.problem = "it is starting"
		return out
	}
	var err error
	out.status, err = r.readAgent(ctx, pod.Status.PodIP)
	switch {
	case err != nil:
		out.problem = "it does not say which keys it has"
	case out.status.AppliedAt.IsZero():
		out.problem = cmp.Or(out.status.Problem(), "it has no keys yet")
	}
	return out
}

// requestSync makes the kubelet update the volumes of a pod, by a change of the pod; otherwise it looks at them once a
// minute. The kubelet may learn of that before it learns of the Secret, so it is asked again.
func (r *Reconciler) requestSync(ctx context.Context, pod *corev1.Pod) error {
	if pod == nil {
		return nil
	}
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

package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// tell writes the status if it says something else than before. A process that has just
// begun tells nothing before it has read Slurm, or knows why it cannot: the one before
// it knew more.
func (r *Reconciler) tell(ctx context.Context, s *seen, todo *plan.Todo) error {
	if s.expected() && s.nodeSet.Status.Selector != "" {
		return nil
	}
	status := statusOf(r.now(), s, todo)
	status.OrdinalToNode = pinsOf(s)
	r.tellWaits(s, todo)
	if apiequality.Semantic.DeepEqual(status, s.nodeSet.Status) {
		return nil
	}
	written := s.nodeSet.DeepCopy()
	written.Status = status
	data, err := statusPatch(s.nodeSet, written)
	if err != nil {
		return err
	}
	if err := r.client.Status().Patch(ctx, written, client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldManager)); err != nil {
		return ignoreGone(fmt.Errorf("writing the status of nodeset %s: %w", s.nodeSet.Name, err))
	}
	s.nodeSet.ResourceVersion = written.ResourceVersion
	return nil
}

// statusPatch is the merge patch from one status to another. Only what differs is in
// it, what became empty as null, with what no status is valid without. It fits the
// version that was seen alone: others keep conditions in the same list.
func statusPatch(from, to *v1beta1.NodeSet) ([]byte, error) {
	data, err := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{}).Data(to)
	if err != nil {
		return nil, fmt.Errorf("comparing statuses: %w", err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("comparing statuses: %w", err)
	}
	status, _ := patch["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	status["selector"], status["nodeSetHash"] = to.Status.Selector, to.Status.NodeSetHash
	// What people see of a NodeSet at zero is 0, not nothing.
	status["desired"], status["replicas"] = to.Status.Desired, to.Status.Replicas
	status["updatedReplicas"], status["readyReplicas"] = to.Status.UpdatedReplicas, to.Status.ReadyReplicas
	patch["status"] = status
	return json.Marshal(patch)
}

// tellWaits tells of each worker once when it begins to wait for a job, and when
// something else keeps it.
func (r *Reconciler) tellWaits(s *seen, todo *plan.Todo) {
	waiting := map[string]bool{}
	for _, w := range todo.Waits {
		kind, reason := corev1.EventTypeNormal, ""
		switch {
		case w.Block == plan.Unread:
			kind, reason = corev1.EventTypeWarning, "DeletionBlocked"
		case w.Block == plan.Unregistered:
			kind, reason = corev1.EventTypeWarning, "SlurmNodeNotRegistered"
		case w.Jobs > 0:
			reason = "DrainWaiting"
		}
		key := fmt.Sprintf("%s %s %d", w.Pod, reason, w.Job)
		waiting[key] = true
		if reason != "" && !s.memory.told[key] {
			r.events.Eventf(s.nodeSet, s.pod(w.Pod), kind, reason, "Drain", "%s", told(w))
		}
	}
	s.memory.told = waiting
}

// announce tells of a step that was taken.
func (r *Reconciler) announce(ctx context.Context, s *seen, step plan.Step) {
	reason, action := "", ""
	switch step.Verb {
	case plan.Notes:
		if step.Note.Cause == "" || s.pod(step.Pod) == nil {
			return
		}
		log.FromContext(ctx).Info("chose a worker to go", "pod", step.Pod, "cause", step.Note.Cause)
		return
	case plan.Drain:
		reason, action = "DrainStarted", "Drain"
	case plan.Undrain, plan.Resume:
		reason, action = "Undrained", "Undrain"
	case plan.Delete:
		if pod := s.pod(step.Pod); pod != nil && step.Look == plan.LookDrained {
			r.event(s.nodeSet, pod, "Drained", "Drain", step)
		}
		reason, action = "SuccessfulDelete", "Delete"
	case plan.Unmark:
		log.FromContext(ctx).Info("took a reason of ours away", "slurmNode", step.SlurmName)
		return
	case plan.Retire, plan.Forget:
		log.FromContext(ctx).Info("took a record of slurm back", "slurmNode", step.SlurmName, "verb", string(step.Verb))
		return
	}
	log.FromContext(ctx).Info(reason, "pod", step.Pod, "slurmNode", step.SlurmName, "reason", step.Reason)
	var related client.Object
	if pod := s.pod(step.Pod); pod != nil {
		related = pod
	}
	r.event(s.nodeSet, related, reason, action, step)
}

// createdEach is up to how many created workers have an event each.
const createdEach = 10

// announceCreated tells of the workers that were created: of many in one event.
func (r *Reconciler) announceCreated(s *seen) {
	slices.SortFunc(s.created, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	if len(s.created) <= createdEach {
		for _, pod := range s.created {
			r.events.Eventf(s.nodeSet, pod, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "created worker %s", pod.Name)
		}
		return
	}
	names := make([]string, len(s.created))
	for i, pod := range s.created {
		names[i] = pod.Name
	}
	r.events.Eventf(s.nodeSet, nil, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "created %d workers: %s", len(names), clean(hostlist.Compress(names)))
}

func (r *Reconciler) event(nodeSet *v1beta1.NodeSet, related client.Object, reason, action string, step plan.Step) {
	if related == nil {
		r.events.Eventf(nodeSet, nil, corev1.EventTypeNormal, reason, action, "slurm node %s: %s", step.SlurmName, step.Reason)
		return
	}
	r.events.Eventf(nodeSet, related, corev1.EventTypeNormal, reason, action, "worker %s: %s", step.Pod, step.Reason)
}

// mirror shows on each pod that stays the state of its Slurm node, and tells Slurm which
// pod stands behind a node. Without a fresh reading nothing is shown or told anew.
func (r *Reconciler) mirror(ctx context.Context, s *seen, todo *plan.Todo) error {
	if !s.slurm.Fresh {
		return nil
	}
	deleted := deletedBy(todo)
	var work []func() error
	for i := range s.workers {
		w := &s.workers[i]
		if !w.Going.IsZero() || w.Finished || deleted[w.Pod] {
			continue
		}
		pod, node := s.pod(w.Pod), s.records[w.SlurmName]
		if conditions, changed := mirrored(pod.Status.Conditions, node, metav1.NewTime(r.now())); changed && !older(s.nodesReadAt, w, node) {
			work = append(work, func() error { return r.showState(ctx, s, pod, conditions) })
		}
		if record, known := s.slurm.Records[w.SlurmName]; known && !record.Future && w.Ready {
			if update, differs := updateFor(s, w); differs && !s.memory.knows(w.SlurmName, update) {
				work = append(work, func() error { return r.tellSlurm(ctx, s, w, update) })
			}
		}
	}
	if len(work) > shownAtATime { // what is to be done comes first
		work = work[:shownAtATime]
		s.lookAgain(time.Millisecond)
	}
	return inParallel(min(r.cfg.Parallel, showParallel), work)
}

// shownAtATime is how many pods and Slurm nodes are told of in one look, showParallel
// how many at a time: it has time, and kubelets of new workers do not.
const (
	shownAtATime = 100
	showParallel = 8
)

// showState writes the conditions of a pod.
func (r *Reconciler) showState(ctx context.Context, s *seen, pod *corev1.Pod, conditions []corev1.PodCondition) error {
	changed := pod.DeepCopy()
	changed.Status.Conditions = conditions
	if err := r.client.Status().Patch(ctx, changed, client.StrategicMergeFrom(pod), client.FieldOwner(FieldManager)); err != nil {
		return ignoreGone(fmt.Errorf("showing the slurm state on pod %s: %w", pod.Name, err))
	}
	s.keep(changed)
	return nil
}

// tellSlurm writes the comment, the features and the topology of a worker's Slurm
// node where they differ, and remembers that until a reading shows it. It never touches
// the state.
func (r *Reconciler) tellSlurm(ctx context.Context, s *seen, w *plan.Worker, update slurmclient.NodeUpdate) error {
	asked := update
	err := s.live.UpdateNode(ctx, w.SlurmName, update)
	if update.Topology != nil && slurmclient.CodeOf(err) == slurmclient.CodeUnsupported {
		update.Topology = nil // the rest can be told
		err = s.live.UpdateNode(ctx, w.SlurmName, update)
	}
	if err != nil {
		return fmt.Errorf("telling slurm of worker %s: %w", w.Pod, err)
	}
	r.memory.updated(s.memory, w.SlurmName, asked, r.now())
	return nil
}

// updateFor is the update that tellSlurm makes, and whether it is needed.
func updateFor(s *seen, w *plan.Worker) (slurmclient.NodeUpdate, bool) {
	var out slurmclient.NodeUpdate
	node, pod := s.records[w.SlurmName], s.pod(w.Pod)
	if node == nil || pod == nil {
		return out, false
	}
	if want := render.Comment(s.nodeSet, pod); node.Comment != want {
		out.Comment = &want
	}
	if kubeNode := s.kubeNodes[w.KubeNode]; kubeNode != nil {
		facts := render.FactsOf(kubeNode.Annotations)
		if want := featuresWith(node.Features, facts.Features); !slices.Equal(want, node.Features) {
			out.Features = want
		}
		if facts.Topology != "" && facts.Topology != node.Topology {
			out.Topology = &facts.Topology
		}
	}
	return out, out.Comment != nil || out.Features != nil || out.Topology != nil
}

// featuresWith are the features of a Slurm node with those that come from its
// Kubernetes node as the annotation, a list with commas, has them now.
func featuresWith(have []string, annotation string) []string {
	out := slices.DeleteFunc(slices.Clone(have), func(f string) bool { return strings.HasPrefix(f, v1beta1.FeaturePrefix) })
	for f := range strings.SplitSeq(annotation, ",") {
		if f = strings.TrimSpace(f); f != "" && !slices.Contains(out, v1beta1.FeaturePrefix+f) {
			out = append(out, v1beta1.FeaturePrefix+f)
		}
	}
	slices.Sort(out[len(out)-countPrefixed(out):])
	return out
}

func countPrefixed(list []string) int {
	n := 0
	for _, f := range list {
		if strings.HasPrefix(f, v1beta1.FeaturePrefix) {
			n++
		}
	}
	return n
}

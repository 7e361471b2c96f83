package nodeset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// patchPodConditions shows on each pod that stays the state of its Slurm node, and writes to Slurm
// which pod runs a node. Without a fresh reading it writes nothing.
func (r *Reconciler) mirror(ctx context.Context, s *seen, todo *plan.Todo) error {
	if !s.slurm.Fresh {
		return nil
	}
	deleted := deletedBy(todo)
	var first, work []func() error
	for i := range s.workers {
		w := &s.workers[i]
		if !w.Going.IsZero() || w.Finished || deleted[w.Pod] || s.slurm.Taken[w.SlurmName] != "" {
			continue
		}
		pod, node := s.pod(w.Pod), s.records[w.SlurmName]
		if conditions, changed := mirrored(pod.Status.Conditions, node, metav1.NewTime(r.now())); changed && !older(s.nodesReadAt, w, node) {
			show := func() error { return r.showState(ctx, s, pod, conditions) }
			if wanting(node) {
				first = append(first, show)
			} else {
				work = append(work, show)
			}
		}
		if record, known := s.slurm.Records[w.SlurmName]; known && !record.Future && w.Ready {
			if update, differs := updateFor(s, w); differs && !s.memory.knows(w.SlurmName, update) {
				work = append(work, func() error { return r.tellSlurm(ctx, s, w, update) })
			}
		}
	}
	work = append(first, work...)
	if room, again := showRoom(r.now(), s); len(work) > room { // steps have priority over conditions
		work = work[:room]
		s.lookAgain(again)
	}
	if len(work) > 0 {
		s.memory.shownAt = r.now()
	}
	return inParallel(min(r.cfg.Parallel, showParallel), work)
}

// needsAttention reports whether a Slurm node is in a state that may require action. Such states
// are shown first.
func wanting(node *slurm.Node) bool {
	return node == nil || node.State.Base == slurm.NodeDown || node.State.Base == slurm.NodeError ||
		node.State.Any(slurm.NodeDrain|slurm.NodeFail|slurm.NodeInvalid|slurm.NodeInvalidReg|slurm.NodeNotResponding)
}

const (
	// maxConditionWrites is how many pods and Slurm nodes are updated in one reconciliation,
	// parallelConditionWrites how many at a time. These writes can wait, the kubelets of new
	// workers cannot.
	shownAtATime = 100
	showParallel = 8
	// While at least manyStarting workers younger than startingWithin start, at most
	// maxConditionWritesWhileStarting updates are made in each conditionWriteInterval.
	startingMany   = 20
	startingFor    = 30 * time.Second
	shownMeanwhile = 10
	shownEvery     = time.Second
)

// conditionWriteLimit returns how many pods and Slurm nodes may be updated now, and when to
// reconcile the rest. Updating many of them loads the API server as much as starting them does.
func showRoom(now time.Time, s *seen) (room int, again time.Duration) {
	starting := len(s.created)
	for i := range s.workers {
		if w := &s.workers[i]; !w.Ready && w.Going.IsZero() && now.Before(w.Created.Add(startingFor)) {
			starting++
		}
	}
	if starting < startingMany {
		return shownAtATime, time.Millisecond
	}
	if wait := s.memory.shownAt.Add(shownEvery).Sub(now); wait > 0 {
		return 0, wait
	}
	return shownMeanwhile, shownEvery
}

// patchPodStatus writes the conditions of a pod.
func (r *Reconciler) showState(ctx context.Context, s *seen, pod *corev1.Pod, conditions []corev1.PodCondition) error {
	changed := pod.DeepCopy()
	changed.Status.Conditions = conditions
	if err := r.client.Status().Patch(ctx, changed, client.StrategicMergeFrom(pod), client.FieldOwner(FieldManager)); err != nil {
		return ignoreGone(fmt.Errorf("writing the slurm state to pod %s: %w", pod.Name, err))
	}
	s.keep(changed)
	return nil
}

// updateSlurmNode writes the comment, the features and the topology of a worker's Slurm node where
// they differ, and expects them until a reading shows them. It never changes the state.
func (r *Reconciler) tellSlurm(ctx context.Context, s *seen, w *plan.Worker, update slurmclient.NodeUpdate) error {
	asked := update
	err := s.live.UpdateNode(ctx, w.SlurmName, update)
	if update.Topology != nil && slurmclient.CodeOf(err) == slurmclient.CodeUnsupported {
		update.Topology = nil // the rest is supported
		err = s.live.UpdateNode(ctx, w.SlurmName, update)
	}
	if err != nil {
		return fmt.Errorf("updating the slurm node of worker %s: %w", w.Pod, err)
	}
	r.memory.updated(s.memory, w.SlurmName, asked, r.now())
	return nil
}

// slurmNodeUpdateFor returns the update that updateSlurmNode makes, and whether it is needed.
func updateFor(s *seen, w *plan.Worker) (slurmclient.NodeUpdate, bool) {
	var out slurmclient.NodeUpdate
	node, pod := s.records[w.SlurmName], s.pod(w.Pod)
	if node == nil || pod == nil {
		return out, false
	}
	if want := render.Comment(s.nodeSet, s.namespaceUID, pod); node.Comment != want {
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

// mergeFeatures replaces the features of a Slurm node that come from its Kubernetes node by those
// of the annotation, a comma-separated list.
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

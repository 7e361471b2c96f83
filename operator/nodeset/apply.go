package nodeset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// apply carries out the steps. Steps for one worker run in order up to the first that fails,
// different workers in parallel. Events follow the writes.
func (r *Reconciler) apply(ctx context.Context, s *seen, actions *plan.Todo) error {
	if err := r.hold(ctx, s.nodeSet); err != nil {
		return err
	}
	if s.nodeSet.DeletionTimestamp == nil {
		if err := r.adoptRevisions(ctx, s); err != nil {
			return err
		}
	}
	steps := actions.Steps
	var childErr error
	if s.problem.reason == "" && s.nodeSet.DeletionTimestamp == nil {
		if childErr = r.applyChildren(ctx, s); childErr != nil {
			steps = withoutCreations(steps)
		}
	}
	steps = r.creationsNow(s, steps)
	chains := chainsOf(steps)
	work := make([]func() error, len(chains))
	for i, chain := range chains {
		work[i] = func() error {
			for _, step := range chain {
				if err := r.take(ctx, s, step); err != nil {
					return err
				}
			}
			return nil
		}
	}
	err := inParallel(r.cfg.Parallel, work)
	r.memory.endCreations(s.memory, len(s.created))
	r.announceCreated(s)
	r.announceTold(s)
	if drains(steps) && s.live != nil {
		s.live.Soon() // so that idle workers are deleted soon after their drain
	}
	return errors.Join(childErr, err)
}

// hasDrain reports whether the steps drain a Slurm node.
func drains(steps []plan.Step) bool {
	return slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Verb == plan.Drain || s.Verb == plan.Close })
}

// withoutCreations removes the steps that create workers. Existing workers continue to be drained
// and deleted when the objects that new ones need cannot be created.
func withoutCreations(steps []plan.Step) []plan.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return s.Verb == plan.Create })
}

// limitCreations removes the creations that must wait because earlier ones failed. After the wait
// it tries a few of them, different ones each time.
func (r *Reconciler) creationsNow(s *seen, steps []plan.Step) []plan.Step {
	wait, failures := r.memory.beginCreations(s.memory, r.now())
	if s.lookAgain(wait); wait > 0 {
		return withoutCreations(steps)
	}
	isCreation := func(step plan.Step) bool { return step.Verb == plan.Create }
	creations := slices.DeleteFunc(slices.Clone(steps), func(step plan.Step) bool { return !isCreation(step) })
	if failures == 0 || len(creations) <= createTries {
		return steps
	}
	s.lookAgain(time.Millisecond) // for the others
	first := failures * createTries % len(creations)
	tried := slices.Concat(creations[first:], creations[:first])[:createTries]
	return slices.DeleteFunc(slices.Clone(steps), func(step plan.Step) bool {
		return isCreation(step) && !slices.ContainsFunc(tried, func(t plan.Step) bool { return t.Slot == step.Slot })
	})
}

// runParallel runs the functions, at most limit at a time, and joins their errors.
func inParallel(limit int, work []func() error) error {
	errs := make([]error, len(work))
	slots := make(chan struct{}, limit)
	var wg sync.WaitGroup
	for i, f := range work {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = f()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// groupByWorker groups steps by the worker that they concern, in order.
func chainsOf(steps []plan.Step) [][]plan.Step {
	var out [][]plan.Step
	index := map[string]int{}
	for _, s := range steps {
		key := cmp.Or(s.SlurmName, s.Pod, fmt.Sprintf("%v/%v", s.Slot, s.Names))
		i, known := index[key]
		if !known {
			i = len(out)
			index[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// errNotAsSeen ends the steps of a worker: its Slurm node has changed since it was read.
var errNotAsSeen = errors.New("the slurm node is no longer as it was read")

// takeStep carries out one step and reports it.
func (r *Reconciler) take(ctx context.Context, s *seen, step plan.Step) error {
	ok, err := look(ctx, s.live, s.mayTouch, step)
	if err != nil {
		return err
	}
	if !ok && step.Verb == plan.Forget {
		return r.forgotten(ctx, s, step)
	}
	if !ok {
		return errNotAsSeen
	}
	switch step.Verb {
	case plan.Create:
		return r.create(ctx, s, step)
	case plan.Adopt:
		err = r.adopt(ctx, s, step)
	case plan.Notes:
		err = r.note(ctx, s, step)
	case plan.Delete:
		err = r.deletePod(ctx, s, step)
	case plan.Records:
		return r.makeRecords(ctx, s, step)
	default:
		err = r.write(ctx, s, step)
	}
	if err == nil {
		r.metrics.took(s, step, r.now())
		r.announce(ctx, s, step)
	}
	return err
}

// confirmDeleted handles a record that differs from its reading. A record that does not exist any
// more was deleted earlier, and the answer was lost.
func (r *Reconciler) forgotten(ctx context.Context, s *seen, step plan.Step) error {
	if _, err := s.live.LookNode(ctx, step.SlurmName); !slurmclient.IsNotFound(err) {
		return errNotAsSeen
	}
	r.memory.wrote(s.memory, []string{step.SlurmName}, plan.Forget, r.now())
	return nil
}

// annotatePod writes a drain mark on a pod that is still as it was observed.
func (r *Reconciler) note(ctx context.Context, s *seen, step plan.Step) error {
	pod := s.pod(step.Pod)
	patch := notePatch(step.Note, noteOf(pod), s.nodeSet.Spec.Template.Metadata.Annotations)
	meta := patch["metadata"].(map[string]any)
	meta["resourceVersion"], meta["uid"] = pod.ResourceVersion, step.UID
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	written := pod.DeepCopy()
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldManager)); err != nil {
		return ignoreGone(fmt.Errorf("annotating pod %s: %w", step.Pod, err))
	}
	s.keep(written)
	return nil
}

// rememberPod keeps the newer version of a pod for the following steps and the next observation.
func (s *seen) keep(pod *corev1.Pod) {
	s.memory.pods.wrote(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[pod.Name] = pod
}

// rememberCreated remembers that a pod was created.
func (s *seen) add(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created = append(s.created, pod)
}

// requeueAfter reconciles the NodeSet again after the delay, or sooner.
func (s *seen) lookAgain(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = sooner(s.again, after)
}

func (s *seen) pod(name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[name]
}

// deletePod deletes a pod that is still as it was observed.
func (r *Reconciler) deletePod(ctx context.Context, s *seen, step plan.Step) error {
	pod := s.pod(step.Pod)
	uid, version := types.UID(step.UID), pod.ResourceVersion
	err := r.client.Delete(ctx, pod, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil {
		return ignoreGone(fmt.Errorf("deleting pod %s: %w", step.Pod, err))
	}
	s.memory.pods.removed(pod.UID, r.now())
	if step.Look == plan.LookUnregistered || step.Look == plan.LookFuture {
		r.memory.deletedUnregistered(s.memory, r.now())
	}
	return nil
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// writeSlurmNode changes a Slurm node, and expects the change until a reading shows it.
func (r *Reconciler) write(ctx context.Context, s *seen, step plan.Step) error {
	if s.live == nil {
		return errors.New("the Slurm cluster does not exist")
	}
	var err error
	switch step.Verb {
	case plan.Drain:
		err = s.live.Drain(ctx, step.SlurmName, step.Reason)
	case plan.Close: // without a reason, theirs stays
		err = s.live.UpdateNode(ctx, step.SlurmName, slurmclient.NodeUpdate{State: new("DRAIN")})
	case plan.Undrain:
		err = s.live.Undrain(ctx, step.SlurmName)
	case plan.Resume:
		err = s.live.Resume(ctx, step.SlurmName)
	case plan.Unmark:
		err = s.live.UpdateNode(ctx, step.SlurmName, slurmclient.NodeUpdate{Reason: new(" ")}) // slurmctld ignores ""
	case plan.Retire:
		err = s.live.Future(ctx, step.SlurmName)
	case plan.Forget:
		if err = s.live.DeleteNode(ctx, step.SlurmName); slurmclient.IsNotFound(err) {
			err = nil // an earlier request deleted it, and its answer was lost
		}
		r.memory.refuse(s.memory, step.SlurmName, err)
	default:
		err = fmt.Errorf("unknown verb %s", step.Verb)
	}
	if err != nil {
		r.memory.wrote(s.memory, []string{step.SlurmName}, doubtful, r.now())
		return fmt.Errorf("slurm node %s: %s: %w", step.SlurmName, step.Verb, err)
	}
	// A reading that began before the write finished may not show it.
	r.memory.wrote(s.memory, []string{step.SlurmName}, step.Verb, r.now())
	return nil
}

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

// apply takes the steps. Those about one worker are taken in order up to the first
// that fails, different workers at the same time. Events follow the writes.
func (r *Reconciler) apply(ctx context.Context, s *seen, todo *plan.Todo) error {
	if err := r.hold(ctx, s.nodeSet); err != nil {
		return err
	}
	if s.nodeSet.DeletionTimestamp == nil {
		if err := r.adoptRevisions(ctx, s); err != nil {
			return err
		}
	}
	steps := todo.Steps
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
		s.live.Soon() // an idle worker is drained at once, and may go
	}
	return errors.Join(childErr, err)
}

// drains reports whether a Slurm node is drained in the steps.
func drains(steps []plan.Step) bool {
	return slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Verb == plan.Drain || s.Verb == plan.Close })
}

// withoutCreations leaves out workers that are to be made: those that are there go on
// being drained and deleted when what new ones need cannot be made.
func withoutCreations(steps []plan.Step) []plan.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return s.Verb == plan.Create })
}

// creationsNow leaves out workers that are not to be made yet because others could not be.
// When it is time again a few are tried, each time others.
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

// inParallel runs the functions, so many at a time, and joins their errors.
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

// chainsOf groups steps by the worker that they are about, in order.
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

// errNotAsSeen ends a chain: the Slurm node is not as it was read any more.
var errNotAsSeen = errors.New("the slurm node is no longer as it was read")

// take takes one step and tells of it.
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

// forgotten is for a record that is not as it was read: one that is gone was deleted
// before, and its answer lost.
func (r *Reconciler) forgotten(ctx context.Context, s *seen, step plan.Step) error {
	if _, err := s.live.LookNode(ctx, step.SlurmName); !slurmclient.IsNotFound(err) {
		return errNotAsSeen
	}
	r.memory.wrote(s.memory, []string{step.SlurmName}, plan.Forget, r.now())
	return nil
}

// note writes a note on a pod that is still as it was seen.
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
		return ignoreGone(fmt.Errorf("noting on pod %s: %w", step.Pod, err))
	}
	s.keep(written)
	return nil
}

// keep holds the newer version of a pod, for the steps that follow and the next look.
func (s *seen) keep(pod *corev1.Pod) {
	s.memory.pods.wrote(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[pod.Name] = pod
}

// add remembers that a pod was created.
func (s *seen) add(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created = append(s.created, pod)
}

// lookAgain has the NodeSet looked at again after a while, or sooner.
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

// deletePod deletes a pod that is still as it was seen.
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

// write changes a Slurm node, and remembers that until a reading shows it.
func (r *Reconciler) write(ctx context.Context, s *seen, step plan.Step) error {
	if s.live == nil {
		return errors.New("there is no Slurm cluster to write to")
	}
	var err error
	switch step.Verb {
	case plan.Drain:
		err = s.live.Drain(ctx, step.SlurmName, step.Reason)
	case plan.Close: // without a reason theirs stays
		err = s.live.UpdateNode(ctx, step.SlurmName, slurmclient.NodeUpdate{State: new("DRAIN")})
	case plan.Undrain:
		err = s.live.Undrain(ctx, step.SlurmName)
	case plan.Resume:
		err = s.live.Resume(ctx, step.SlurmName)
	case plan.Unmark:
		err = s.live.UpdateNode(ctx, step.SlurmName, slurmclient.NodeUpdate{Reason: new(" ")}) // "" is as none given
	case plan.Retire:
		err = s.live.Future(ctx, step.SlurmName)
	case plan.Forget:
		if err = s.live.DeleteNode(ctx, step.SlurmName); slurmclient.IsNotFound(err) {
			err = nil // it was done before, and the answer lost
		}
		r.memory.refuse(s.memory, step.SlurmName, err)
	default:
		err = fmt.Errorf("there is no way to %s", step.Verb)
	}
	if err != nil {
		r.memory.wrote(s.memory, []string{step.SlurmName}, doubtful, r.now())
		return fmt.Errorf("%s of slurm node %s: %w", step.Verb, step.SlurmName, err)
	}
	// A reading that began before it was done may not have it.
	r.memory.wrote(s.memory, []string{step.SlurmName}, step.Verb, r.now())
	return nil
}

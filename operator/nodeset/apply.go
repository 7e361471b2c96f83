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

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/expectations"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// apply carries out the steps. Steps for one worker run in order up to the first that fails,
// different workers in parallel. Events follow the writes.
func (r *Reconciler) apply(ctx context.Context, s *observation, actions *plan.Actions) error {
	if err := kube.AddFinalizer(ctx, r.client, s.nodeSet, v1beta1.FinalizerDrain,
		client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	if err := r.applyRevisions(ctx, s, actions.Revisions, true); err != nil {
		return err
	}
	steps := actions.Steps
	var childErr error
	if s.problem.Reason == "" && s.nodeSet.DeletionTimestamp == nil {
		if childErr = r.applyChildren(ctx, s, actions.Revisions); childErr != nil {
			steps = withoutCreations(steps)
		}
	}
	steps = r.limitCreations(s, steps)
	chains := groupByWorker(steps)
	work := make([]func() error, len(chains))
	for i, chain := range chains {
		work[i] = func() error {
			for _, step := range chain {
				if err := r.takeStep(ctx, s, step); err != nil {
					return err
				}
			}
			return nil
		}
	}
	err := runParallel(r.cfg.Parallel, work)
	s.unlockDeletions()
	r.expectations.EndCreations(s.expectations, len(s.created))
	r.emitCreatedEvents(s)
	r.emitStepEvents(s)
	if (hasDrain(steps) || actions.AwaitsReading) && s.slurmCluster != nil {
		s.slurmCluster.RequestRefresh() // so that idle workers are deleted soon after their drain
	}
	return errors.Join(childErr, err)
}

// hasDrain reports whether the steps drain a Slurm node.
func hasDrain(steps []plan.Step) bool {
	return slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Verb == plan.Drain || s.Verb == plan.AddDrain })
}

// withoutCreations removes the steps that create workers. If the objects that new workers need cannot be
// created, existing workers are still drained and deleted.
func withoutCreations(steps []plan.Step) []plan.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return s.Verb == plan.CreatePod })
}

// limitCreations removes the creations that must wait because earlier ones failed. After the wait
// it tries a few of them, different ones each time.
func (r *Reconciler) limitCreations(s *observation, steps []plan.Step) []plan.Step {
	wait, failures := r.expectations.BeginCreations(s.expectations, r.now())
	if s.requeueAfter(wait); wait > 0 {
		return withoutCreations(steps)
	}
	isCreation := func(step plan.Step) bool { return step.Verb == plan.CreatePod }
	creations := slices.DeleteFunc(slices.Clone(steps), func(step plan.Step) bool { return !isCreation(step) })
	if failures == 0 || len(creations) <= expectations.CreateTries {
		return steps
	}
	s.requeueAfter(time.Millisecond) // for the others
	first := failures * expectations.CreateTries % len(creations)
	tried := slices.Concat(creations[first:], creations[:first])[:expectations.CreateTries]
	return slices.DeleteFunc(slices.Clone(steps), func(step plan.Step) bool {
		return isCreation(step) && !slices.ContainsFunc(tried, func(t plan.Step) bool { return t.Slot == step.Slot })
	})
}

// runParallel runs the functions, at most limit at a time, and joins their errors.
func runParallel(limit int, work []func() error) error {
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
func groupByWorker(steps []plan.Step) [][]plan.Step {
	var out [][]plan.Step
	index := map[string]int{}
	for _, s := range steps {
		key := cmp.Or(s.SlurmName, s.Pod, fmt.Sprintf("%v/%v", s.Slot, s.Names))
		if s.Verb == plan.CreateRecords {
			key = string(s.Verb) // one after the other: they share their failures
		}
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

var errNoSlurmCluster = errors.New("the Slurm cluster does not exist")

// errNotAsSeen ends the steps of a worker: its Slurm node has changed since it was read.
var errNotAsSeen = errors.New("the slurm node is no longer as it was read")

// takeStep carries out one step and reports it.
func (r *Reconciler) takeStep(ctx context.Context, s *observation, step plan.Step) error {
	ok, err := reading.CheckPrecondition(ctx, s.slurmCluster, s.mayWrite, observed.FaultReasons(s.nodeSet),
		s.recordShapeFor(step), step)
	if err != nil {
		return err
	}
	if !ok && step.Verb == plan.DeleteRecord {
		return r.confirmDeleted(ctx, s, step)
	}
	if !ok {
		return errNotAsSeen
	}
	if step.Verb == plan.DeleteRecord || step.Verb == plan.RecreateRecord {
		if err := s.checkUnused(ctx, step.SlurmName); err != nil {
			if step.Verb == plan.DeleteRecord && !errors.Is(err, errNotAsSeen) {
				r.expectations.RecordRefusal(s.expectations, step.SlurmName, err)
			}
			return err
		}
	}
	switch step.Verb {
	case plan.CreatePod:
		return r.createWorker(ctx, s, step)
	case plan.AdoptPod:
		err = r.adoptPod(ctx, s, step)
	case plan.Annotate:
		err = r.annotatePod(ctx, s, step)
	case plan.DeletePod:
		err = r.deletePod(ctx, s, step)
	case plan.CreateRecords:
		return r.createRecords(ctx, s, step)
	case plan.RecreateRecord:
		err = r.recreateRecord(ctx, s, step)
	case plan.AdoptRecords:
		return r.adoptRecords(ctx, s, step.Names)
	default:
		err = r.writeSlurmNode(ctx, s, step)
	}
	if err == nil {
		r.metrics.countStep(s, step, r.now())
		r.reportStep(ctx, s, step)
	}
	return err
}

// confirmDeleted handles a record that differs from its reading. If it no longer exists, an earlier deletion
// succeeded and its answer was lost.
func (r *Reconciler) confirmDeleted(ctx context.Context, s *observation, step plan.Step) error {
	if _, err := s.slurmCluster.ReadNode(ctx, step.SlurmName); !slurmclient.IsNotFound(err) {
		return errNotAsSeen
	}
	r.expectations.ExpectWrite(s.expectations, []string{step.SlurmName}, plan.DeleteRecord, r.now())
	return nil
}

// annotatePod writes a drain mark on a pod that has not changed since its observation.
func (r *Reconciler) annotatePod(ctx context.Context, s *observation, step plan.Step) error {
	pod := s.pod(step.Pod)
	patch := observed.DrainMarkPatch(step.DrainMark, observed.DrainMark(pod),
		s.nodeSet.Spec.Template.Metadata.Annotations)
	meta := patch["metadata"].(map[string]any)
	meta["resourceVersion"], meta["uid"] = pod.ResourceVersion, step.UID
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	written := pod.DeepCopy()
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data),
		client.FieldOwner(FieldManager)); err != nil {
		return ignoreNotFound(fmt.Errorf("annotating pod %s: %w", step.Pod, err))
	}
	s.rememberPod(written)
	return nil
}

// rememberPod keeps the newer version of a pod for the following steps and the next observation.
func (s *observation) rememberPod(pod *corev1.Pod) {
	s.expectations.Pods.ExpectVersion(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[pod.Name] = pod
}

// rememberCreated remembers that a pod was created.
func (s *observation) rememberCreated(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created = append(s.created, pod)
}

// requeueAfter reconciles the NodeSet again after the delay, or sooner.
func (s *observation) requeueAfter(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requeue = shorterDelay(s.requeue, after)
}

func (s *observation) pod(name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[name]
}

// deletePod deletes a pod that has not changed since its observation.
func (r *Reconciler) deletePod(ctx context.Context, s *observation, step plan.Step) error {
	pod := s.pod(step.Pod)
	uid, version := types.UID(step.UID), pod.ResourceVersion
	err := r.client.Delete(ctx, pod,
		&client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil {
		return ignoreNotFound(fmt.Errorf("deleting pod %s: %w", step.Pod, err))
	}
	s.expectations.Pods.ExpectDeletion(pod.UID, r.now())
	if step.Precondition == plan.PreconditionUnregistered || step.Precondition == plan.PreconditionFuture {
		r.expectations.RecordUnregisteredDeletion(s.expectations, r.now())
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// writeSlurmNode changes a Slurm node, and expects the change until a reading shows it.
func (r *Reconciler) writeSlurmNode(ctx context.Context, s *observation, step plan.Step) error {
	if s.slurmCluster == nil {
		return errNoSlurmCluster
	}
	var err error
	switch step.Verb {
	case plan.Drain:
		err = s.slurmCluster.Drain(ctx, step.SlurmName, step.Reason)
	case plan.AddDrain: // without a reason, theirs stays
		err = s.slurmCluster.UpdateNode(ctx, step.SlurmName, slurmclient.NodeUpdate{State: new("DRAIN")})
	case plan.Undrain:
		err = s.slurmCluster.Undrain(ctx, step.SlurmName)
	case plan.Resume:
		err = s.slurmCluster.Resume(ctx, step.SlurmName)
	case plan.ClearReason:
		err = s.slurmCluster.UpdateNode(ctx, step.SlurmName,
			slurmclient.NodeUpdate{Reason: new(" ")}) // slurmctld ignores ""
	case plan.ClearPod:
		err = s.clearPod(ctx, step.SlurmName)
	case plan.MarkFuture:
		err = s.slurmCluster.Future(ctx, step.SlurmName)
	case plan.DeleteRecord:
		if err = s.slurmCluster.DeleteNode(ctx, step.SlurmName); slurmclient.IsNotFound(err) {
			err = nil // an earlier request deleted it, and its answer was lost
		}
		r.expectations.RecordRefusal(s.expectations, step.SlurmName, err)
	default:
		err = fmt.Errorf("unknown verb %s", step.Verb)
	}
	if err != nil {
		r.expectations.ExpectWrite(s.expectations, []string{step.SlurmName}, expectations.OutcomeUnknown, r.now())
		return fmt.Errorf("slurm node %s: %s: %w", step.SlurmName, step.Verb, err)
	}
	// A reading that began before the write finished may not show it.
	r.expectations.ExpectWrite(s.expectations, []string{step.SlurmName}, step.Verb, r.now())
	return nil
}

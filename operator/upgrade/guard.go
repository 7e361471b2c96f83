package upgrade

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/holder"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/releases"
)

const (
	// lookupInterval is how often the operator looks at a pod that looks up a release, and at its own status: it does
	// not watch them.
	lookupInterval = time.Second
	// impededInterval is how often it does so while there is a problem.
	impededInterval = 10 * time.Second
)

// Guard decides for reconcilers which images workloads get.
type Guard struct {
	kube.Writer
	events events.EventRecorder
	now    func() time.Time
	// ReadState returns the release that has written the state of an object's daemon, or the zero value if it is not known.
	// It is nil if nobody can know.
	ReadState func(ctx context.Context, object client.Object) (releases.Release, error)
	// noLookups has the objects that have no lookup pod. Those of another operator, or of an earlier process of this one, may have
	// one although no status tells of it: the cache may still have had a status that asks for one.
	noLookups *sync.Map
}

// NewGuard returns a Guard. It writes the pods of lookups through w, reads them past the cache, and reads the time from
// now.
func NewGuard(w kube.Writer, recorder events.EventRecorder, now func() time.Time) Guard {
	return Guard{Writer: w, events: recorder, now: now, noLookups: &sync.Map{}}
}

// Restrain gives the workload among the rendered objects of a daemon the image that it has, unless the one that is
// wanted is allowed. A daemon that somebody has stopped to restore a copy of its state stays stopped until then. The decision is
// to be recorded in the status after the objects have been applied.
func (g Guard) Restrain(ctx context.Context, object Object, objects []podspec.KubeObject) (*Decision, error) {
	s := subjectOf(object)
	rendered, ok := findWorkload(objects, s.container)
	if !ok {
		return nil, nil //nolint:nilnil // a nil decision changes nothing
	}
	live, err := g.findLive(ctx, s, rendered)
	if err != nil {
		return nil, err
	}
	d, err := g.decide(ctx, s, rendered, live)
	if err != nil {
		return nil, err
	}
	rendered.setImage(d.Image)
	if d.StaysStopped && !live.isStarted() {
		rendered.stop()
	}
	return d, nil
}

// decide looks up what is not known, and decides which image takes the place of that of the live workload.
func (g Guard) decide(ctx context.Context, s subject, rendered, live workload) (*Decision, error) {
	o, err := g.observe(ctx, s, rendered, live)
	if err != nil {
		return nil, err
	}
	d, err := g.planByLiveOthers(ctx, s, &o)
	if err != nil {
		return nil, err
	}
	if o.Last.Image == "" && d.Status.Image != "" && s.daemon.HasState() {
		if err := g.recordImage(ctx, s.object, d.Status); err != nil {
			return nil, err
		}
		// Lookups may be left of a time before the daemon ran elsewhere.
		if err := g.deleteOtherLookups(ctx, s, d.Lookups); err != nil {
			return nil, err
		}
	}
	if isLookingUp(o.Last) { // what begins is in the status first, so that no pod is forgotten
		if err := g.lookUpAll(ctx, s, rendered, d.Lookups, o.Answers); err != nil {
			return nil, err
		}
		if d, err = g.planByLiveOthers(ctx, s, &o); err != nil {
			return nil, err
		}
		if err := g.deleteOtherLookups(ctx, s, d.Lookups); err != nil {
			return nil, err
		}
	} else if err := g.deleteForgottenLookups(ctx, s); err != nil {
		return nil, err
	}
	return &d, nil
}

// planByLiveOthers is Plan. Where another image is allowed, it looks at the other daemons past the cache, which may not show yet what has run since.
func (g Guard) planByLiveOthers(ctx context.Context, s subject, o *Observation) (Decision, error) {
	d := Plan(*o)
	if !d.Verdict.Allowed() || o.Applied == "" || o.Wanted == o.Applied {
		return d, nil
	}
	if err := g.observeOthers(ctx, g.Uncached, s, o); err != nil {
		return d, err
	}
	return Plan(*o), nil
}

// observe reads what Plan decides by. The only answers are those that users state.
func (g Guard) observe(ctx context.Context, s subject, rendered, live workload) (Observation, error) {
	last, conditions := s.object.ReleaseStatusOf()
	wanted := rendered.container.Image
	out := Observation{Daemon: s.daemon, Last: *last, Wanted: wanted, Answers: readStated(s.object, wanted),
		Restored:   s.object.GetAnnotations()[v1beta1.AnnotationRestoredState],
		IsRecorded: meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionReleaseAllowed), IsStopped: live.isStopped()}
	if live.container != nil {
		out.Applied, out.HasReady, out.Complete = live.container.Image, live.hasReady, live.isComplete
	}
	if g.ReadState != nil && out.Applied != "" && out.Applied != wanted {
		stored, err := g.ReadState(ctx, s.object)
		if err != nil {
			return out, err
		}
		out.Stored = stored
	}
	return out, g.observeOthers(ctx, g.Client, s, &out)
}

// observeOthers reads the other daemons of the cluster.
func (g Guard) observeOthers(ctx context.Context, reader client.Reader, s subject, out *Observation) error {
	all, err := readInventory(ctx, reader, s.object.GetNamespace())
	if err != nil {
		return err
	}
	if err := g.findStrays(ctx, all); err != nil {
		return err
	}
	others := slices.DeleteFunc(all.othersOf(s.object), g.isHeld)
	out.Others, out.IsAsked = membersOf(s.daemon, others)
	unrecorded, err := g.findUnrecorded(ctx, reader, s.daemon, others)
	out.Others = append(out.Others, unrecorded...)
	return err
}

// recordImage writes the image of a daemon into the status before its workload is first written: if that vanishes later, its
// image is still known, and so is what has written the state.
func (g Guard) recordImage(ctx context.Context, object Object, status v1beta1.ReleaseStatus) error {
	next, ok := object.DeepCopyObject().(Object)
	if !ok {
		return fmt.Errorf("copying %T: the copy is of another type", object)
	}
	of, _ := next.ReleaseStatusOf()
	*of = status
	if err := kube.PatchStatus(ctx, g.Client, object, next, nil, g.Owner); err != nil {
		return err
	}
	object.SetResourceVersion(next.GetResourceVersion())
	of, _ = object.ReleaseStatusOf()
	*of = status
	return nil
}

// isHeld reports whether another operator runs the daemon of an object, which then counts as one that runs elsewhere.
func (g Guard) isHeld(o Object) bool {
	_, held := holder.Of(g.now(), o)
	return held
}

// findLive returns the workload that exists, without a container if there is none. That of another operator is a
// *problem.Error, before anything of the daemon is written. It is read past the cache where the cache does not have it,
// since that of another operator may lack the labels of ours, and where the one in the cache has another image than the
// rendered one: the cache may not have the last write yet, and an image that is allowed must not be taken back.
func (g Guard) findLive(ctx context.Context, s subject, rendered workload) (workload, error) {
	live, ok := reflect.New(reflect.TypeOf(rendered.object).Elem()).Interface().(client.Object)
	if !ok {
		return workload{}, fmt.Errorf("%T is no object", rendered.object)
	}
	key := client.ObjectKeyFromObject(rendered.object)
	found, err := g.Find(ctx, key, live)
	if err != nil {
		return workload{}, err
	}
	cached, has := newWorkload(live, s.container)
	if !found || has && cached.container.Image != rendered.container.Image {
		err := g.Uncached.Get(ctx, key, live)
		if apierrors.IsNotFound(err) {
			return workload{}, nil
		} else if err != nil {
			return workload{}, fmt.Errorf("reading the workload %s: %w", key, err)
		}
	}
	out, _ := newWorkload(live, s.container)
	if !metav1.IsControlledBy(live, s.object) {
		out.container = nil
		return out, nil
	}
	return out, kube.CheckMaker(live)
}

// RequeueAfter returns when to look again at what the operator does not watch, or 0 if there is nothing.
func (d *Decision) RequeueAfter() time.Duration {
	switch {
	case d == nil || len(d.Lookups) == 0 && !d.IsDeferred:
		return 0
	case d.Verdict.Reason == v1beta1.ReasonLookupFailed:
		return impededInterval
	}
	return lookupInterval
}

// Record writes the decision into the status of an object. A nil decision changes nothing.
func (d *Decision) Record(object Object, now time.Time) {
	if d == nil {
		return
	}
	status, conditions := object.ReleaseStatusOf()
	*status = d.Status
	switch {
	case d.Verdict.Reason != "":
		allowed := metav1.ConditionFalse
		if d.Verdict.Allowed() {
			allowed = metav1.ConditionTrue
		}
		v1beta1.SetCondition(conditions, v1beta1.ConditionReleaseAllowed, metav1.Condition{Status: allowed,
			Reason: d.Verdict.Reason, Message: d.Verdict.Message}, object.GetGeneration(), now)
	case meta.IsStatusConditionFalse(*conditions, v1beta1.ConditionReleaseAllowed): // of an image that nobody wants now
		meta.RemoveStatusCondition(conditions, v1beta1.ConditionReleaseAllowed)
	}
}

// RecordEvent records an event if the decision says something else than the condition of the object, which is the
// one before the decision was recorded.
func (g Guard) RecordEvent(before Object, d *Decision) {
	if d == nil || d.Verdict.Reason == "" || d.Verdict.Reason == v1beta1.ReasonUnknown {
		return
	}
	_, conditions := before.ReleaseStatusOf()
	last := meta.FindStatusCondition(*conditions, v1beta1.ConditionReleaseAllowed)
	if last != nil && last.Reason == d.Verdict.Reason && last.Message == d.Verdict.Message {
		return
	}
	kind, reason := corev1.EventTypeWarning, "ReleaseRefused"
	if d.Verdict.Allowed() {
		kind, reason = corev1.EventTypeNormal, "ReleaseAllowed"
	}
	g.events.Eventf(before, nil, kind, reason, "Upgrade", "%s", d.Verdict.Message)
}

// OnChange is the option of a watch that ignores changes of the metadata, and of the status but for releases and what holds
// them up.
func OnChange() builder.Predicates {
	return builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{},
		predicate.Funcs{UpdateFunc: hasReleaseChanged}))
}

// OnReleaseChange is the option of a watch that ignores all changes but those of the releases in the status.
func OnReleaseChange() builder.Predicates {
	return builder.WithPredicates(predicate.Funcs{UpdateFunc: hasReleaseChanged})
}

// hasReleaseChanged reports whether an update changes the releases in the status of an object, or what holds them up.
func hasReleaseChanged(e event.UpdateEvent) bool {
	before, isObject := e.ObjectOld.(Object)
	after, isToo := e.ObjectNew.(Object)
	if !isObject || !isToo {
		return false
	}
	was, conditionsBefore := before.ReleaseStatusOf()
	is, conditionsAfter := after.ReleaseStatusOf()
	return !reflect.DeepEqual(was, is) || reasonIn(*conditionsBefore) != reasonIn(*conditionsAfter)
}

// reasonIn returns the reason of the condition ReleaseAllowed, empty if it is missing.
func reasonIn(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1beta1.ConditionReleaseAllowed); c != nil {
		return c.Reason
	}
	return ""
}

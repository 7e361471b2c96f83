package simulation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// breakage breaks rules of the operator by changes to its reads and writes.
type breakage struct {
	// read changes the operator's reads.
	read func(*simulation, client.Object)
	// write changes the operator's writes, or reports that a write is left out.
	write func(*simulation, *write) bool
	// agent changes the reports of agents.
	agent func(*simulation, configagent.Status, error) (configagent.Status, error)
	// settles plays each history to its rest; by default none.
	settles bool
	// ignoreHolds has agents apply revisions that would end jobs, and keepOpen has partitions stay open.
	ignoreHolds, keepOpen bool
	// ignoreDatabase has agents apply revisions that slurmctld does not start with while slurmdbd does not run.
	ignoreDatabase bool
	// ignoreNamespaces lets the operator run daemons everywhere.
	ignoreNamespaces bool
	// from is the first history to play: the first that notices, where it is far from 0. After a change of the simulation
	// another one may be the first; the test then takes longer, and finds it.
	from uint64
}

// isBroken reports whether a rule is broken.
func (b breakage) isBroken() bool {
	return b.read != nil || b.write != nil || b.agent != nil || b.ignoreNamespaces || b.ignoreDatabase || b.ignoreHolds || b.keepOpen
}

// TestBrokenRulesAreNoticed breaks one rule at a time; each must break a promise.
func TestBrokenRulesAreNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		broken breakage
		// notices is part of the history's message.
		notices string
	}{
		"an image is applied at once": {breakage{write: applyWantedImage}, "while that of"},
		"a state is taken for a restored one": {breakage{read: func(w *simulation, o client.Object) {
			onRead(readAsStopped)(w, o)
			onRead(func(_ *simulation, o *v1beta1.Controller) {
				o.Annotations = map[string]string{v1beta1.AnnotationRestoredState: "24.11"}
			})(w, o)
		}, agent: func(_ *simulation, said configagent.Status, err error) (configagent.Status, error) {
			said.StateRelease = "" // which the annotation would not outweigh
			return said, err
		}, from: 5122}, "gets "},
		"a copy of a state counts while a daemon may convert it": {breakage{read: onRead(stopForCopy), write: keepStarted,
			settles: true}, "gets the state of"},
		"the state is told to be older than it is": {breakage{agent: func(_ *simulation, said configagent.Status,
			err error) (configagent.Status, error) {
			if said.StateRelease != "" {
				said.StateRelease = "24.11"
			}
			return said, err
		}, from: 5122}, "gets "},
		"the release of slurmdbd is not looked at": {breakage{read: onRead(func(_ *simulation, o *v1beta1.Accounting) {
			o.Status.Image = ""
		}), from: 1559}, "while that of"},
		"what runs is not remembered": {breakage{read: onRead(func(_ *simulation, o *v1beta1.Controller) {
			o.Status.ReleaseStatus = v1beta1.ReleaseStatus{}
			if o.Spec.Slurmctld.Raw != nil && o.Annotations == nil {
				o.Annotations = map[string]string{v1beta1.AnnotationImageReleases: "slurm:26.05=24.11"}
			}
		}), from: 178}, "while that of"},
		"workers are not looked at": {breakage{read: onRead(func(_ *simulation, o *v1beta1.NodeSet) {
			o.Status.Replicas = 0
		}), from: 8040}, "deletes slurmctld while there are"},
		"nothing keeps a Controller": {breakage{write: withoutWrite(func(next *write) bool {
			return next.kind == v1beta1.KindController && strings.Contains(string(next.data), `"finalizers":["`)
		}), settles: true, from: 66}, "of a Controller that is gone stays"},
		"what somebody else has made is taken for the operator's": {breakage{read: takeOver}, "of somebody else is written"},
		"claims are deleted with their StatefulSet":               {breakage{write: deleteClaims}, "are not kept"},
		"sessions are not counted": {breakage{write: withoutWrite(func(next *write) bool {
			return next.kind == "Pod" && strings.Contains(string(next.data), corev1.PodDeletionCost)
		}), from: 1098}, "a login pod with sessions costs"},
		"namespaces are not looked at": {breakage{ignoreNamespaces: true}, "where it may not run daemons"},
		"a daemon that does not answer is taken for one with the keys": {breakage{agent: func(w *simulation,
			said configagent.Status, err error) (configagent.Status, error) {
			if err != nil {
				said = configagent.Status{Keys: w.writtenKeys(), AppliedAt: epoch}
			}
			return said, nil
		}}, "does not accept"},
		"a daemon is taken for one with the keys before it has them": {breakage{agent: func(w *simulation,
			said configagent.Status, err error) (configagent.Status, error) {
			said.Keys = w.writtenKeys()
			return said, err
		}}, "does not accept"},
		"a revision that ends jobs is not held":          {breakage{ignoreHolds: true}, "which ends job"},
		"accounting is turned on without slurmdbd":       {breakage{ignoreDatabase: true, from: 1954}, "and ends"},
		"a partition whose removal is held stays open":   {breakage{keepOpen: true}, "is to be removed, and may still get jobs"},
		"a revision that is held is told to be in force": {breakage{agent: hideHold}, "is held, and ConfigApplied is True"},
	} {
		t.Run(name, func(t *testing.T) { expectBrokenPromise(t, tc.broken, tc.notices) })
	}
}

// TestBrokenReportsAreNoticed breaks the operator's reports, or the time when it rests.
func TestBrokenReportsAreNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		broken  breakage
		notices string
	}{
		"a condition does not say why": {breakage{write: replaceInStatus(`"message":"[^"]*"`, `"message":""`)},
			"does not say why"},
		"a condition is of an old generation": {breakage{write: replaceInStatus(`"observedGeneration":\d+`,
			`"observedGeneration":1`)}, "is of generation 1"},
		"a condition has a Secret": {breakage{write: replaceInStatus(`"message":"`, `"message":"`+secretText)},
			"has the content of a Secret"},
		"a status is not written": {breakage{write: withoutWrite(func(next *write) bool { return next.isStatus })},
			"has no condition Ready"},
		"what is applied is not remembered": {breakage{read: onRead(func(_ *simulation, o *corev1.Service) {
			delete(o.Annotations, v1beta1.AnnotationAppliedHash)
			o.Labels = map[string]string{"generation": "unknown"}
		}), write: touchServices, settles: true}, "still written"},
		"a lookup stays": {breakage{write: withoutWrite(func(next *write) bool {
			return next.verb == "delete" && next.kind == "Pod"
		}), settles: true}, "lookups stay"},
		"what an agent has applied is not told": {breakage{settles: true, agent: func(_ *simulation, said configagent.Status,
			err error) (configagent.Status, error) {
			said.Applied = ""
			return said, err
		}}, "is not in force"},
		"the time at which keys are loaded is not told": {breakage{settles: true, agent: func(_ *simulation, said configagent.Status,
			err error) (configagent.Status, error) {
			said.AppliedAt = metav1.Time{}.Time
			return said, err
		}}, "the operator is not at rest"},
		"a verdict is not remembered": {breakage{settles: true, read: func(_ *simulation, o client.Object) {
			if object, isObject := o.(upgrade.Object); isObject {
				_, conditions := object.ReleaseStatusOf()
				meta.RemoveStatusCondition(conditions, v1beta1.ConditionReleaseAllowed)
			}
		}}, "the operator is not at rest"},
		"a StatefulSet is not applied": {breakage{settles: true, write: withoutWrite(func(next *write) bool {
			return next.verb == "apply" && next.kind == "StatefulSet"
		})}, "is not ready"},
	} {
		t.Run(name, func(t *testing.T) { expectBrokenPromise(t, tc.broken, tc.notices) })
	}
}

// expectBrokenPromise fails the test unless a history reports a broken promise.
func expectBrokenPromise(t *testing.T, broken breakage, notices string) {
	t.Helper()
	const enough = 20_000
	_, failed := playHistories(broken.from, broken.from+enough, broken)
	if failed == nil {
		t.Fatalf("%d histories did not notice", enough)
	}
	if t.Logf("history %d: %s", failed.seed, failed.failure); !strings.Contains(failed.failure, notices) {
		t.Errorf("it does not say %q", notices)
	}
}

// onRead changes the objects of one type that the operator reads.
func onRead[T client.Object](change func(*simulation, T)) func(*simulation, client.Object) {
	return func(w *simulation, o client.Object) {
		if o, isOne := o.(T); isOne {
			change(w, o)
		}
	}
}

// readAsStopped reads a StatefulSet as one without pods.
func readAsStopped(_ *simulation, set *appsv1.StatefulSet) {
	set.Spec.Replicas, set.Status = new(int32(0)), appsv1.StatefulSetStatus{ObservedGeneration: set.Generation}
}

// stopForCopy reads a StatefulSet as one without pods while a copy of its daemon's state awaits another image.
func stopForCopy(w *simulation, set *appsv1.StatefulSet) {
	kind, image := daemonOf(&set.Spec.Template)
	o := w.objectOf(kind)
	if o != nil && o.GetAnnotations()[v1beta1.AnnotationRestoredState] != "" && image != w.images[kind] {
		readAsStopped(w, set)
	}
}

// keepStarted keeps a StatefulSet running that the operator stops.
func keepStarted(_ *simulation, next *write) bool {
	if spec, isSpec := next.content["spec"].(map[string]any); isSpec && next.kind == "StatefulSet" {
		if replicas, isNumber := spec["replicas"].(float64); isNumber && replicas == 0 {
			spec["replicas"] = 1
		}
	}
	return true
}

// withoutWrite leaves out writes.
func withoutWrite(which func(*write) bool) func(*simulation, *write) bool {
	return func(_ *simulation, next *write) bool { return !which(next) }
}

// deleteClaims has claims deleted with their StatefulSets.
func deleteClaims(_ *simulation, next *write) bool {
	if spec, isSpec := next.content["spec"].(map[string]any); isSpec && next.kind == "StatefulSet" {
		spec["persistentVolumeClaimRetentionPolicy"] = map[string]any{
			"whenDeleted": string(appsv1.DeletePersistentVolumeClaimRetentionPolicyType)}
	}
	return true
}

package simulation

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// maxRounds is how many times all reconcilers are called until everything must be at rest.
const maxRounds = 60

// settle ends everything odd, has all specs valid, and checks that the operator comes to rest with everything ready.
func (w *simulation) settle() {
	w.logf("calm")
	w.calm, w.restricted, w.faults = true, false, faults{}
	clear(w.cache)
	w.startOperator()
	w.meetSomebodyElse()
	for _, name := range []string{keySecret, jwtSecret, dbSecret, sssdSecret, filesMap, acctsMap} {
		w.restoreReference(name)
	}
	w.endJobs()
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		if p.silent, p.refuses = false, false; p.daemon != "slurmctld" {
			p.applied = p.wanted
		} else if p.started {
			w.tryConfig(p)
		}
	}
	w.correctSpecs()
	w.dropOddClaims()
	w.reachRest()
	w.checkRest()
	if w.failure == "" && w.chance(25) {
		w.rollBack()
	}
}

// reachRest runs everything until nothing is written.
func (w *simulation) reachRest() {
	for round := 0; ; round++ {
		before := w.api.version + w.podChanges
		w.now = w.now.Add(5 * time.Second)
		for range 4 {
			w.environmentEvent()
		}
		w.reconcileAll()
		w.checkKeys()
		if w.failure != "" || w.api.version+w.podChanges == before {
			return
		}
		if round == maxRounds {
			w.failf("after %d rounds the operator is not at rest", round)
			return
		}
	}
}

// rollBack makes users return a cluster at rest to an older release with copies of its states. Either they follow the
// documentation, which succeeds, or they restart the daemons themselves. Then the cluster comes to rest, and gets one image again.
func (w *simulation) rollBack() {
	image := pick(w, slurmImages...)
	stateful := []string{v1beta1.KindController, v1beta1.KindAccounting}
	if slices.ContainsFunc(stateful, func(kind string) bool { return releaseIn(image).Compare(w.states[kind]) >= 0 }) {
		return
	}
	asDocumented := true
	for _, kind := range kinds {
		if w.wantImage(kind, image); slices.Contains(stateful, kind) && !w.restoreState(kind, image) {
			asDocumented = false
		}
	}
	w.counts["a cluster is taken back"]++
	if w.reachRest(); asDocumented && w.failure == "" {
		w.checkRest()
		w.counts["a cluster gets the copies of its states"]++
	}
	if w.failure != "" {
		return
	}
	w.correctSpecs()
	w.reachRest()
	w.checkRest()
}

// correctSpecs gives all objects valid specs, with one image of the newest release that has run.
func (w *simulation) correctSpecs() {
	if c := find[*v1beta1.Controller](w.api, ctldName); c == nil || c.DeletionTimestamp != nil {
		w.counts["a Controller is gone"]++
		w.setWorkers(0)
		for range 2 { // its deletion
			w.environmentEvent()
			w.reconcile(v1beta1.KindController)
		}
		if w.objectOf(v1beta1.KindController) != nil {
			w.failf("the Controller is not deleted although there are no workers")
		}
		if w.api.objects["StatefulSet"][names.ControllerStatefulSet(ctldName)] != nil {
			w.failf("the StatefulSet of a Controller that is gone stays")
		}
		w.forget(v1beta1.KindController)
		w.addObject(v1beta1.KindController)
	}
	newest := w.newestImage()
	for _, kind := range kinds {
		w.images[kind] = newest
		w.annotate(kind, v1beta1.AnnotationRestoredState, "")
		delete(w.restored, kind)
		w.annotate(kind, v1beta1.AnnotationImageReleases, siteImage+"=26.05")
		w.changeObject(kind, w.setSpec)
	}
}

// newestImage returns the image of the newest release that has run, or that the operator believes to have run. The operator must
// also believe it of an image that it allowed before the workload vanished: it is unknown whether a pod got it.
func (w *simulation) newestImage() string {
	w.recordImages()
	newest := slurmImages[0]
	for _, kind := range kinds {
		o, _ := w.objectOf(kind).(upgrade.Object)
		status, conditions := o.ReleaseStatusOf()
		believed := []string{w.applied[kind], status.Image}
		if !w.hasWorkload(kind) && meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionReleaseAllowed) {
			believed = append(believed, status.NextImage)
		}
		for _, image := range slurmImages {
			release := releaseIn(image)
			has := func(image string) bool { return releaseIn(image) == release }
			if (w.states[kind] == release || slices.ContainsFunc(believed, has)) && release.Compare(releaseIn(newest)) > 0 {
				newest = image
			}
		}
	}
	return newest
}

func (w *simulation) hasWorkload(kind string) bool {
	for _, set := range each[*appsv1.StatefulSet](w.api) {
		if of, _ := daemonOf(&set.Spec.Template); of == kind {
			return true
		}
	}
	return kind != v1beta1.KindController && kind != v1beta1.KindAccounting
}

// dropOddClaims deletes a StatefulSet that was made with other claims, which cannot be changed.
func (w *simulation) dropOddClaims() {
	set := find[*appsv1.StatefulSet](w.api, names.ControllerStatefulSet(ctldName))
	if set != nil && len(set.Spec.VolumeClaimTemplates) != 1 {
		w.api.delete(metav1.NewTime(w.now), "StatefulSet", set.Name)
	}
}

// checkRest checks that everything is ready, and that nothing is written.
func (w *simulation) checkRest() {
	w.recordImages()
	for _, kind := range kinds {
		o, _ := w.objectOf(kind).(upgrade.Object)
		status, conditions := o.ReleaseStatusOf()
		if !meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionReady) {
			w.failf("%s is not ready: %+v", kind, meta.FindStatusCondition(*conditions, v1beta1.ConditionReady))
		}
		if meta.IsStatusConditionFalse(*conditions, v1beta1.ConditionReleaseAllowed) {
			w.failf("%s waits for another release: %+v", kind, *conditions)
		}
		if w.applied[kind] != w.images[kind] || status.Image != w.images[kind] || status.NextImage != "" {
			w.failf("%s has image %s and the status %+v, not image %s", kind, w.applied[kind], status, w.images[kind])
		}
	}
	w.checkRotated()
	w.checkLeftovers()
	w.checkPartitionsAtRest()
	if !w.chance(20) {
		return
	}
	before := w.writes
	w.now = w.now.Add(time.Hour)
	if w.reconcileAll(); w.writes > before {
		w.failf("%d writes although everything is at rest", w.writes-before)
	}
}

// checkRotated checks that a rotation that was asked for is over.
func (w *simulation) checkRotated() {
	c := find[*v1beta1.Controller](w.api, ctldName)
	if c.Annotations[v1beta1.AnnotationRotateKeys] == "" {
		return
	}
	w.counts["a rotation ends"]++
	if !meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionKeysRotated) {
		w.failf("the keys are not rotated: %+v", meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated))
	}
}

// checkLeftovers checks that no lookup stays, and that all configurations are in force.
func (w *simulation) checkLeftovers() {
	for _, pod := range each[*corev1.Pod](w.api) {
		if pod.Labels[v1beta1.LabelAppName] == v1beta1.AppReleaseLookup {
			w.failf("lookups stay, such as %s", pod.Name)
		}
	}
	for _, kind := range kinds[:2] {
		o, _ := w.objectOf(kind).(upgrade.Object)
		_, conditions := o.ReleaseStatusOf()
		if !meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionConfigApplied) {
			w.failf("the configuration of %s is not in force: %+v", kind, conditions)
		}
	}
}

package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// Observation is what Plan decides by.
type Observation struct {
	Daemon releases.Daemon
	// Last is the last status of the object.
	Last v1beta1.ReleaseStatus
	// IsRecorded says that Last goes with a condition ReleaseAllowed that is True.
	IsRecorded bool
	// Wanted is the image that the object asks for, and Applied that of its workload, empty if there is none.
	Wanted, Applied string
	// Restored names the release of a copy of the state that users have put in place. It is empty if there is none.
	Restored string
	// Stored is the release that the agents read from the state; the zero value is one that is not known.
	Stored releases.Release
	// HasReady says that a pod of the workload is ready, and Complete that all are and have Applied.
	HasReady, Complete bool
	// IsStopped says that the workload has no pods, or is missing. Before that, a daemon may still convert a copy of the state that
	// users put in place, so that what they say of it does not count.
	IsStopped bool
	// Others are the other daemons of the cluster.
	Others []releases.Member
	// IsAsked says that one of them waits for the release of this daemon.
	IsAsked bool
	// Answers are those of the lookups, by image.
	Answers map[string]Answer
}

// Answer is what a lookup has found. The zero value is one that goes on.
type Answer struct {
	Release releases.Release
	// Problem says why there is no release, and what to do about it.
	Problem string
	// CannotBePulled is set if the kubelet cannot pull the image, so no pod with it starts.
	CannotBePulled bool
}

// Decision is what becomes of the image of a workload.
type Decision struct {
	// Image is the image that the workload gets.
	Image string
	// Status is the new status.
	Status v1beta1.ReleaseStatus
	// Verdict is what the condition ReleaseAllowed says. Without a reason there is nothing new to say.
	Verdict releases.Verdict
	// IsDeferred says that the image is allowed, and given to the workload when the status says so.
	IsDeferred bool
	// StaysStopped says that a daemon that somebody has stopped is not started yet: a copy of an older state was put in place,
	// which the image that it has would convert.
	StaysStopped bool
	// Lookups are the images whose releases must be looked up, or are being looked up.
	Lookups []string
}

// Plan decides which image a workload gets. It is pure.
func Plan(o Observation) Decision {
	d := Decision{Image: o.Wanted, Status: *o.Last.DeepCopy()}
	s := &d.Status
	applied := cmp.Or(o.Applied, lastGiven(o), s.Image)
	if applied == "" || o.Wanted == "" { // nothing has run that could break; without an image nothing will
		s.Image = o.Wanted
		return d
	}
	s.Image = cmp.Or(s.Image, applied)
	if s.NeverRan && s.Image != applied { // it was replaced
		s.Image = applied
	}
	if o.HasReady && o.Complete { // also if another image is wanted since
		s.Image = applied
	}
	s.NeverRan, s.HasRun = false, s.HasRun || o.HasReady
	if o.Restored == "" {
		s.RestoredState = ""
	}
	for _, image := range slices.Sorted(maps.Keys(o.Answers)) {
		if found := o.Answers[image].Release; found.IsKnown() {
			setRelease(s, image, found.String())
		}
	}
	s.NextImage = o.Wanted
	switch {
	case o.Wanted != applied:
		d.judge(o, applied)
	case o.Complete || s.Image == applied:
		s.Image, s.NextImage = applied, ""
	}
	d.answerOthers(o)
	if d.Verdict.Reason == "" && s.NextImage == applied && !o.IsRecorded { // a third image was wanted in between, and refused
		d.Verdict = releases.Verdict{Reason: v1beta1.ReasonAllowed, Message: "the pods are being given " + applied}
	}
	s.ImageReleases = slices.DeleteFunc(s.ImageReleases, func(known v1beta1.ImageRelease) bool {
		return !slices.Contains([]string{s.Image, applied, o.Wanted}, known.Image) &&
			!(s.Image == o.Last.Image && s.Image != applied && slices.Contains(givenImages(&o.Last), known.Image))
	})
	s.Release = s.ReleaseOf(s.Image)
	return d
}

// lastGiven returns the image that the pods were given last by the status, empty if they have the recorded one. Where the workload
// has vanished nothing else tells it, and its pods may have converted the state.
func lastGiven(o Observation) string {
	if o.Last.NextImage == "" {
		return ""
	}
	if o.IsRecorded {
		return o.Last.NextImage
	}
	newest := ""
	for _, image := range givenImages(&o.Last) {
		if newest == "" || parse(o.Last.ReleaseOf(newest)).Compare(parse(o.Last.ReleaseOf(image))) < 0 {
			newest = image
		}
	}
	return newest
}

// judge decides whether the wanted image takes the place of the one that is applied.
func (d *Decision) judge(o Observation, applied string) {
	ran, isFirst := d.findRun(o, applied)
	d.Status.NeverRan = isFirst
	// What the state says itself counts more than what users say of it.
	change := releases.Change{Daemon: o.Daemon, IsFirst: isFirst, From: parse(d.Status.ReleaseOf(ran)),
		To: parse(d.Status.ReleaseOf(o.Wanted)), Stored: cmp.Or(o.Stored, restoredRelease(o)), Others: o.Others}
	change.IsFromLost = o.Answers[ran].Problem != ""
	d.Verdict = releases.Judge(change)
	d.useRestored(o, change)
	if !change.To.IsKnown() && !d.Verdict.Allowed() {
		d.Lookups = append(d.Lookups, o.Wanted)
	}
	// The verdict may depend on that nothing can be found out.
	if d.Status.ReleaseOf(ran) == "" && ran != o.Wanted && (!d.Verdict.Allowed() || isFirst || change.IsFromLost) {
		d.Lookups = append(d.Lookups, ran)
	}
	if ran != applied {
		d.Lookups = append(d.Lookups, applied)
	}
	failed := o.Answers[o.Wanted].Problem
	if failed == "" && !isFirst {
		failed = o.Answers[ran].Problem
	}
	if d.Verdict.Reason == v1beta1.ReasonUnknown && failed != "" {
		d.Verdict = releases.Verdict{Reason: v1beta1.ReasonLookupFailed, Message: failed}
	}
	// What was found out is in the status first, so that an operator that is killed does not lose it.
	d.IsDeferred = d.Verdict.Allowed() && !(o.IsRecorded && o.Last.NextImage == o.Wanted)
	if !d.Verdict.Allowed() || d.IsDeferred {
		d.Image = applied
		d.StaysStopped = o.Daemon.HasState() && isRestoring(o)
	}
	if d.IsDeferred && o.Applied == "" && !isRestoring(o) { // no pod can get it yet; the records would mean that one may have it
		d.Verdict, d.Status.NextImage = releases.Verdict{}, o.Last.NextImage
		d.Status.ImageReleases = slices.DeleteFunc(d.Status.ImageReleases, func(known v1beta1.ImageRelease) bool {
			return known.Image == o.Wanted && !slices.Contains(o.Last.ImageReleases, known)
		})
	}
	if !d.Verdict.Allowed() && isRestoring(o) && !o.Stored.IsKnown() && !parse(o.Restored).IsKnown() {
		d.Verdict.Message += fmt.Sprintf("; annotation %s: %q names no release of Slurm, such as 24.11",
			v1beta1.AnnotationRestoredState, o.Restored)
	}
}

// findRun returns the image that has run last, and reports whether none has: an image that cannot be pulled, and of which
// nothing has been ready, has never run. Somebody may have given it to a workload that ran with another one.
func (d *Decision) findRun(o Observation, applied string) (image string, isFirst bool) {
	s := &d.Status
	switch {
	case o.HasReady || s.ReleaseOf(applied) != "" || !o.Answers[applied].CannotBePulled:
		return applied, false
	case s.HasRun:
		return s.Image, false
	}
	return applied, true
}

// isRestoring reports whether a copy of the state was put in place for this change. What was put in place for an earlier change
// has been converted since.
func isRestoring(o Observation) bool {
	isUnderWay := o.IsRecorded && o.Last.NextImage == o.Wanted
	return o.Restored != "" && (o.Restored != o.Last.RestoredState || isUnderWay)
}

// restoredRelease returns the release of the copy that was put in place, or the zero value. A daemon that runs may have converted it.
func restoredRelease(o Observation) releases.Release {
	if !isRestoring(o) || !o.IsStopped {
		return releases.Release{}
	}
	return parse(o.Restored)
}

// useRestored records that a change was allowed by a copy of the state, or says that an earlier one was.
func (d *Decision) useRestored(o Observation, change releases.Change) {
	if o.Stored.IsKnown() {
		return
	}
	isRestored := change.Stored.IsKnown()
	change.Stored = releases.Release{}
	switch {
	case isRestored && d.Verdict.Allowed() && !releases.Judge(change).Allowed():
		d.Status.RestoredState = o.Restored
	case !o.IsStopped && isRestoring(o) && parse(o.Restored).IsKnown() && d.Verdict.Reason == v1beta1.ReasonDowngrade:
		d.Verdict.Message += fmt.Sprintf("; annotation %s: %s counts while %s has no pods: stop the operator, scale the StatefulSet to zero, "+
			"put the copy in place, and start the operator", v1beta1.AnnotationRestoredState, o.Restored, o.Daemon)
	case !isRestored && o.Restored != "" && d.Verdict.Reason == v1beta1.ReasonDowngrade:
		d.Verdict.Message += fmt.Sprintf("; annotation %s: %s has had its effect, and another copy needs another value",
			v1beta1.AnnotationRestoredState, o.Restored)
	}
}

// answerOthers looks the release up that runs if another daemon waits for it. A lookup that has begun goes on until it
// has an answer.
func (d *Decision) answerOthers(o Observation) {
	s := &d.Status
	hasBegun := slices.Contains(s.ImageReleases, v1beta1.ImageRelease{Image: s.Image})
	if s.ReleaseOf(s.Image) != "" || !o.IsAsked && !hasBegun {
		return
	}
	failed := o.Answers[s.Image].Problem
	if failed != "" && !o.IsAsked { // nobody needs it any more
		s.ImageReleases = slices.DeleteFunc(s.ImageReleases, func(known v1beta1.ImageRelease) bool {
			return known.Image == s.Image
		})
		return
	}
	if !slices.Contains(d.Lookups, s.Image) {
		d.Lookups = append(d.Lookups, s.Image)
	}
	setRelease(s, s.Image, "")
	s.NeverRan = s.NeverRan || o.Answers[s.Image].CannotBePulled && !s.HasRun
	if failed != "" {
		d.reportFailed(failed)
	}
}

// reportFailed says in the verdict that the release that runs cannot be looked up, for which others wait. A daemon that waits
// for one of them waits in vain until somebody states it.
func (d *Decision) reportFailed(failed string) {
	v := &d.Verdict
	switch {
	case v.Reason == "":
		*v = releases.Verdict{Reason: v1beta1.ReasonLookupFailed, Message: failed}
	case d.Status.NeverRan: // nobody waits for it
	case v.Reason == v1beta1.ReasonWaitingForSlurmdbd, v.Reason == v1beta1.ReasonWaitingForSlurmctld:
		*v = releases.Verdict{Reason: v1beta1.ReasonLookupFailed, Message: fmt.Sprintf(
			"%s. Other daemons wait for that release, and this one for them: %s", failed, v.Message)}
	case v.Reason == v1beta1.ReasonTooOld, v.Reason == v1beta1.ReasonDowngrade:
		v.Message += ". Other daemons wait for the release that runs: " + failed
	}
}

// givenImages returns the images that pods were given after the recorded one, but for the one that is wanted now. Their releases
// stay in the status until all pods have the same image.
func givenImages(s *v1beta1.ReleaseStatus) []string {
	var out []string
	for _, known := range s.ImageReleases {
		if known.Release != "" && known.Image != s.Image && known.Image != s.NextImage {
			out = append(out, known.Image)
		}
	}
	return out
}

// isLookingUp reports whether a lookup may have begun that is over when nothing has to be looked up any more.
func isLookingUp(s v1beta1.ReleaseStatus) bool {
	return s.NextImage != "" || slices.ContainsFunc(s.ImageReleases, func(known v1beta1.ImageRelease) bool {
		return known.Release == ""
	})
}

// setRelease sets the release of an image, "" for one that is being looked up.
func setRelease(s *v1beta1.ReleaseStatus, image, release string) {
	for i := range s.ImageReleases {
		if s.ImageReleases[i].Image == image {
			s.ImageReleases[i].Release = release
			return
		}
	}
	s.ImageReleases = append(s.ImageReleases, v1beta1.ImageRelease{Image: image, Release: release})
}

// parse returns the release in a status, or the zero value if it is not known.
func parse(text string) releases.Release {
	out, err := releases.Parse(text)
	if err != nil {
		return releases.Release{}
	}
	return out
}

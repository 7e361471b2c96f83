package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// The images of the tests.
const (
	imageOld = "slurm:24.11"
	imageNew = "slurm:26.05"
)

var (
	oldRelease, newRelease = releases.Release{Year: 24, Month: 11}, releases.Release{Year: 26, Month: 5}
	oldKnown               = v1beta1.ImageRelease{Image: imageOld, Release: "24.11"}
	newKnown               = v1beta1.ImageRelease{Image: imageNew, Release: "26.05"}
)

// newChange returns the observation of a slurmctld of 24.11 that is to become 26.05, which has a slurmdbd.
func newChange(slurmdbd releases.Release) Observation {
	return Observation{Daemon: releases.Slurmctld, Wanted: imageNew, Applied: imageOld, HasReady: true, Complete: true,
		IsRecorded: true, Last: v1beta1.ReleaseStatus{Image: imageOld},
		Others:  []releases.Member{{Daemon: releases.Slurmdbd, Name: "Accounting a", Release: slurmdbd}},
		Answers: map[string]Answer{}}
}

func TestPlan(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Observation)
		// image is the one that the workload gets, lookups are those that are looked up.
		image, lookups, reason string
		status                 v1beta1.ReleaseStatus
	}{
		{"the first image is not looked up", func(o *Observation) { o.Last, o.Applied = v1beta1.ReleaseStatus{}, "" },
			imageNew, "", "", v1beta1.ReleaseStatus{Image: imageNew}},
		{"an object of an older operator", func(o *Observation) { o.Last, o.Wanted = v1beta1.ReleaseStatus{}, imageOld },
			imageOld, "", "", v1beta1.ReleaseStatus{Image: imageOld}},
		{"nothing changes", func(o *Observation) { o.Wanted = imageOld }, imageOld, "", "",
			v1beta1.ReleaseStatus{Image: imageOld}},
		{"both images are looked up", func(*Observation) {}, imageOld, imageNew + " " + imageOld, "Unknown",
			v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew}},
		{"the new one is known", func(o *Observation) { o.Answers[imageNew] = Answer{Release: newRelease} }, imageOld,
			imageOld, "Unknown", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew,
				ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"then it is allowed, which is recorded first", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases, o.IsRecorded = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}, false
		}, imageOld, "", "Allowed", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"a record of another image does not count", func(o *Observation) {
			o.Last.ImageReleases = []v1beta1.ImageRelease{newKnown, oldKnown}
		}, imageOld, "", "Allowed", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"then the workload gets it", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown}
			o.Answers[imageOld] = Answer{Release: oldRelease}
		}, imageNew, "", "Allowed", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"it waits for slurmdbd", func(o *Observation) {
			o.Last.ImageReleases = []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Others[0].Release = oldRelease
		}, imageOld, "", "WaitingForSlurmdbd", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
			NextImage: imageNew, ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"its workload was deleted meanwhile", func(o *Observation) {
			o.Last.ImageReleases, o.Applied = []v1beta1.ImageRelease{newKnown, oldKnown}, ""
			o.Others[0].Release = oldRelease
		}, imageOld, "", "WaitingForSlurmdbd", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
			NextImage: imageNew, ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"its workload was deleted before another image is allowed, which is not recorded: no pod gets it yet", func(o *Observation) {
			o.Last.ImageReleases, o.Applied = []v1beta1.ImageRelease{newKnown, oldKnown}, ""
			o.HasReady, o.Complete = false, false
		}, imageOld, "", "", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"its workload was deleted, and a third image waited before: what is not given is not recorded", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = "slurm:25.05", []v1beta1.ImageRelease{oldKnown}
			o.Applied, o.HasReady, o.Complete, o.IsRecorded = "", false, false, false
			o.Answers[imageNew] = Answer{Release: newRelease}
		}, imageOld, "", "", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: "slurm:25.05",
			ImageReleases: []v1beta1.ImageRelease{oldKnown}}},
		{"its workload is deleted while the pods get it, and the old image is wanted again", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.HasReady, o.Complete = "", imageOld, false, false
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"its workload is deleted while the pods get it", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.HasReady, o.Complete = "", false, false
			o.Others[0].Release = releases.Release{} // looked up again
		}, imageNew, "", "", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"its workload is deleted after the refusal of a third image", func(o *Observation) {
			o.Last.NextImage, o.IsRecorded = imageOld, false
			o.Last.ImageReleases = []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.HasReady, o.Complete = "", imageOld, false, false
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the pods get it", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Complete = imageNew, false
		}, imageNew, "", "", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the pods get it, and nobody else knows what they had", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases, o.IsAsked = imageNew, []v1beta1.ImageRelease{newKnown}, true
			o.Applied, o.Complete, o.IsRecorded, o.Answers[imageOld] = imageNew, false, false, Answer{Problem: "no image"}
		}, imageNew, imageOld, "LookupFailed", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown, {Image: imageOld}}}},
		{"all pods have it", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied = imageNew
		}, imageNew, "", "", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05",
			ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"all pods have it, and another one is wanted since", func(o *Observation) {
			o.Last.Image, o.Last.NextImage, o.Last.ImageReleases = "typo:1", imageNew, []v1beta1.ImageRelease{newKnown}
			o.Applied, o.Wanted, o.Answers["slurm:25.11"] = imageNew, "slurm:25.11", Answer{Release: releases.Release{Year: 25, Month: 11}}
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: "slurm:25.11",
			ImageReleases: []v1beta1.ImageRelease{newKnown, {Image: "slurm:25.11", Release: "25.11"}}}},
		{"the way back, when not all pods have the new one", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Complete = imageNew, imageOld, false
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the way back, with a copy of the state", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageOld, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Restored, o.IsStopped = imageNew, imageOld, "24.11", true
			o.Last.Image = imageNew
		}, imageOld, "", "Allowed", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			RestoredState: "24.11", ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"which is recorded first", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases, o.IsRecorded = imageOld, []v1beta1.ImageRelease{newKnown, oldKnown}, false
			o.Applied, o.Wanted, o.Restored, o.IsStopped = imageNew, imageOld, "24.11", true
			o.Last.Image = imageNew
		}, imageNew, "", "Allowed", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			RestoredState: "24.11", ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"once more, with the annotation of then", func(o *Observation) {
			o.Last.RestoredState, o.Last.ImageReleases = "24.11", []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Restored, o.IsStopped = imageNew, imageOld, "24.11", true
			o.Last.Image = imageNew
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			RestoredState: "24.11", ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"once more, with another value", func(o *Observation) {
			o.Last.RestoredState, o.Last.ImageReleases = "24.11", []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Restored, o.IsStopped = imageNew, imageOld, "24.11 of Monday", true
			o.Last.Image = imageNew
		}, imageNew, "", "Allowed", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			RestoredState: "24.11 of Monday", ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the way back of a slurmctld that never started", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageOld, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Stored, o.HasReady, o.Complete = imageNew, imageOld, oldRelease, false, false
		}, imageOld, "", "Allowed", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the way back, with a copy of the state that a daemon may have converted", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageOld, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Restored = imageNew, imageOld, "24.11"
			o.Last.Image = imageNew
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"an annotation that the state denies", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageOld, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Restored, o.Stored = imageNew, imageOld, "24.11", newRelease
			o.Last.Image = imageNew
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the annotation is removed", func(o *Observation) { o.Wanted, o.Last.RestoredState = imageOld, "24.11" }, imageOld, "",
			"", v1beta1.ReleaseStatus{Image: imageOld}},
		{"the way back, with a copy of another release", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageOld, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Applied, o.Wanted, o.Restored, o.IsStopped = imageNew, imageOld, "25.05", true
			o.Last.Image = imageNew
		}, imageNew, "", "Downgrade", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", NextImage: imageOld,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}},
		{"the new image is taken back before it was given", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases = imageNew, []v1beta1.ImageRelease{newKnown, oldKnown}
			o.Wanted = imageOld
		}, imageOld, "", "", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
			ImageReleases: []v1beta1.ImageRelease{oldKnown}}},
		{"the new image cannot be looked up", func(o *Observation) { o.Answers[imageNew] = Answer{Problem: "no image", CannotBePulled: true} },
			imageOld, imageNew + " " + imageOld, "LookupFailed", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew}},
		{"that which runs cannot be looked up", func(o *Observation) {
			o.Last.ImageReleases = []v1beta1.ImageRelease{newKnown}
			o.Answers[imageOld] = Answer{Problem: "no image", CannotBePulled: true}
		}, imageOld, imageOld, "LookupFailed", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"an image that has never run is no obstacle", func(o *Observation) {
			o.Last.NextImage, o.Last.ImageReleases, o.HasReady = imageNew, []v1beta1.ImageRelease{newKnown}, false
			o.Answers[imageOld] = Answer{Problem: "no image", CannotBePulled: true}
		}, imageNew, imageOld, "Allowed", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew, NeverRan: true,
			ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"an image that has never run, and waits", func(o *Observation) {
			o.Last.ImageReleases, o.HasReady = []v1beta1.ImageRelease{newKnown}, false
			o.Answers[imageOld], o.Others = Answer{Problem: "no image", CannotBePulled: true}, newChange(oldRelease).Others
		}, imageOld, imageOld, "WaitingForSlurmdbd", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew, NeverRan: true,
			ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"an image that only the lookup failed for may have run", func(o *Observation) {
			o.Last.ImageReleases, o.HasReady = []v1beta1.ImageRelease{newKnown}, false
			o.Answers[imageOld] = Answer{Problem: "the pod was evicted"}
		}, imageOld, imageOld, "LookupFailed", v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew,
			ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"what has replaced it runs", func(o *Observation) {
			o.Last, o.Applied, o.HasReady = v1beta1.ReleaseStatus{Image: "typo:1", NextImage: imageNew, NeverRan: true,
				ImageReleases: []v1beta1.ImageRelease{newKnown}}, imageNew, false
		}, imageNew, "", "", v1beta1.ReleaseStatus{Image: imageNew, Release: "26.05", ImageReleases: []v1beta1.ImageRelease{newKnown}}},
		{"others learn what runs, although the new image cannot be looked up", func(o *Observation) {
			o.Answers[imageNew], o.Answers[imageOld] = Answer{Problem: "no image", CannotBePulled: true}, Answer{Release: oldRelease}
			o.IsAsked = true
		}, imageOld, imageNew, "LookupFailed", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
			NextImage: imageNew, ImageReleases: []v1beta1.ImageRelease{oldKnown}}},
		{"another daemon asks", func(o *Observation) { o.Wanted, o.IsAsked = imageOld, true }, imageOld, imageOld, "",
			v1beta1.ReleaseStatus{Image: imageOld, ImageReleases: []v1beta1.ImageRelease{{Image: imageOld}}}},
		{"it is answered", func(o *Observation) {
			o.Wanted, o.IsAsked, o.Answers[imageOld] = imageOld, true, Answer{Release: oldRelease}
		}, imageOld, "", "", v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
			ImageReleases: []v1beta1.ImageRelease{oldKnown}}},
		{"it cannot be answered", func(o *Observation) {
			o.Wanted, o.IsAsked, o.Answers[imageOld] = imageOld, true, Answer{Problem: "no image", CannotBePulled: true}
		}, imageOld, imageOld, "LookupFailed",
			v1beta1.ReleaseStatus{Image: imageOld, ImageReleases: []v1beta1.ImageRelease{{Image: imageOld}}}},
		{"it cannot be answered, and nothing has ever run", func(o *Observation) {
			o.Wanted, o.IsAsked, o.Answers[imageOld], o.HasReady = imageOld, true, Answer{Problem: "no image", CannotBePulled: true}, false
		}, imageOld, imageOld, "LookupFailed",
			v1beta1.ReleaseStatus{Image: imageOld, NeverRan: true, ImageReleases: []v1beta1.ImageRelease{{Image: imageOld}}}},
		{"it asks no more, and there is no answer", func(o *Observation) {
			o.Wanted, o.Answers[imageOld] = imageOld, Answer{Problem: "no image", CannotBePulled: true}
			o.Last.ImageReleases = []v1beta1.ImageRelease{{Image: imageOld}}
		}, imageOld, "", "", v1beta1.ReleaseStatus{Image: imageOld}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newChange(newRelease)
			tc.change(&o)
			d := Plan(o)
			if d.Image != tc.image || strings.Join(d.Lookups, " ") != tc.lookups || d.Verdict.Reason != tc.reason {
				t.Errorf("image %s, lookups %q, verdict %+v", d.Image, d.Lookups, d.Verdict)
			}
			if len(d.Status.ImageReleases) == 0 {
				d.Status.ImageReleases = nil
			}
			d.Status.HasRun = false // TestADaemonThatHasRunIsNoFirst
			if diff := cmp.Diff(tc.status, d.Status); diff != "" {
				t.Errorf("the status (-want +got):\n%s", diff)
			}
		})
	}
}

// TestARestoredStateIsGoodForOneWayBack: the annotation is left on, the daemon is upgraded, and would then go back again.
func TestARestoredStateIsGoodForOneWayBack(t *testing.T) {
	o := newChange(newRelease)
	o.Others, o.Restored, o.IsRecorded, o.IsStopped = nil, "24.11", false, true
	o.Last = v1beta1.ReleaseStatus{Image: imageNew, ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}
	o.Applied = imageNew
	for i, tc := range []struct{ wanted, reason, image string }{
		{imageOld, "Allowed", imageNew}, {imageOld, "Allowed", imageOld}, {imageOld, "", imageOld},
		{imageNew, "Allowed", imageOld}, {imageNew, "Allowed", imageNew}, {imageNew, "", imageNew},
		{imageOld, "Downgrade", imageNew}, {imageOld, "Downgrade", imageNew},
	} {
		o.Wanted = tc.wanted
		o.Answers = map[string]Answer{imageOld: {Release: oldRelease}, imageNew: {Release: newRelease}}
		d := Plan(o)
		if d.Verdict.Reason != tc.reason || d.Image != tc.image {
			t.Fatalf("step %d: image %s, verdict %+v", i, d.Image, d.Verdict)
		}
		if tc.reason == "Downgrade" && !strings.Contains(d.Verdict.Message, "restored-state: 24.11 has had its effect") {
			t.Errorf("step %d: it says %q", i, d.Verdict.Message)
		}
		o.Last, o.Applied = d.Status, d.Image
		if d.Verdict.Reason != "" {
			o.IsRecorded = d.Verdict.Allowed()
		}
	}
}

// TestADaemonThatHasRunIsNoFirst: its image cannot be looked up, and no pod is ready just now. What it has stored and those that
// talk to it still count.
func TestADaemonThatHasRunIsNoFirst(t *testing.T) {
	o := newChange(newRelease)
	o.Wanted = imageOld
	o.Last = Plan(o).Status // it is ready, and no image changes
	o.Wanted, o.HasReady, o.Complete = imageNew, false, false
	o.Answers = map[string]Answer{imageOld: {Problem: "no image"}, imageNew: {Release: newRelease}}
	for range 2 { // what is allowed is recorded first
		d := Plan(o)
		if d.Image != imageOld || d.Verdict.Reason != v1beta1.ReasonLookupFailed || d.Status.NeverRan {
			t.Errorf("image %s, verdict %+v, status %+v", d.Image, d.Verdict, d.Status)
		}
		o.Last, o.IsRecorded = d.Status, d.Verdict.Allowed()
	}
	o.Stored = oldRelease // its agent runs
	if d := Plan(o); !d.Verdict.Allowed() || !slices.Equal(d.Lookups, []string{imageOld}) {
		t.Errorf("with the release of the state: verdict %+v, lookups %v", d.Verdict, d.Lookups)
	}
	o.Stored, o.Answers[imageOld] = releases.Release{}, Answer{Release: oldRelease} // it is stated
	if d := Plan(o); !d.Verdict.Allowed() {
		t.Errorf("its release is stated, and the verdict is %+v", d.Verdict)
	}
}

// TestAnImageOfSomebodyElseThatNeverRan: somebody has given the workload a mistyped image, and the one before has run.
func TestAnImageOfSomebodyElseThatNeverRan(t *testing.T) {
	o := newChange(newRelease)
	o.Applied, o.Wanted, o.HasReady, o.Complete = "typo:1", imageNew, false, false
	o.Last = v1beta1.ReleaseStatus{Image: imageNew, HasRun: true, ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}
	o.Answers["typo:1"] = Answer{Problem: "no image", CannotBePulled: true}
	d := Plan(o)
	if !d.Verdict.Allowed() || d.Status.NeverRan || d.Status.Image != imageNew {
		t.Errorf("the way back: %+v, %+v", d.Verdict, d.Status)
	}
	o.Wanted = imageOld
	if d := Plan(o); d.Verdict.Reason != v1beta1.ReasonDowngrade {
		t.Errorf("an image that cannot read what the one before has stored: %+v", d.Verdict)
	}
}

// TestAStoppedDaemonWaitsForTheImageOfItsRestoredState: until it gets that image, and only then.
func TestAStoppedDaemonWaitsForTheImageOfItsRestoredState(t *testing.T) {
	restored := func(change func(*Observation)) Observation {
		o := newChange(newRelease)
		o.Wanted, o.Applied, o.Restored, o.IsStopped = imageOld, imageNew, "24.11", true
		o.Last = v1beta1.ReleaseStatus{Image: imageNew, ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}
		change(&o)
		return o
	}
	for _, tc := range []struct {
		name   string
		change func(*Observation)
		want   bool
	}{
		{"the release of the older image is looked up", func(o *Observation) { o.Last.ImageReleases = nil }, true},
		{"the older image is allowed, which is recorded first", func(o *Observation) { o.IsRecorded = false }, true},
		{"then it is given", func(o *Observation) { o.Last.NextImage, o.Last.RestoredState = imageOld, "24.11" }, false},
		{"newer workers do not work with it", func(o *Observation) {
			o.Others = []releases.Member{{Daemon: releases.Slurmd, Name: "NodeSet n", Release: newRelease}}
		}, true},
		{"nothing was restored", func(o *Observation) { o.Restored = "" }, false},
		{"an earlier copy has had its effect", func(o *Observation) { o.Last.RestoredState, o.IsRecorded = "24.11", false }, false},
		{"the annotation names no release", func(o *Observation) { o.Restored = "v24.11" }, true},
		{"no other image is wanted", func(o *Observation) { o.Wanted = imageNew }, false},
		{"a daemon without a state", func(o *Observation) { o.Daemon, o.IsRecorded = releases.Slurmrestd, false }, false},
	} {
		if got := Plan(restored(tc.change)).StaysStopped; got != tc.want {
			t.Errorf("%s: it stays stopped: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestARestoredStateOfNoReleaseIsReported: the annotation has no effect.
func TestARestoredStateOfNoReleaseIsReported(t *testing.T) {
	for _, tc := range []struct {
		restored, lastRestored string
		stored                 releases.Release
		want                   bool
	}{
		{"v24.11", "", releases.Release{}, true}, {"yes", "24.11", releases.Release{}, true},
		{"24.11", "24.11", releases.Release{}, false}, {"", "24.11", releases.Release{}, false},
		{"v24.11", "", newRelease, false}, // the state says itself what has written it
	} {
		o := newChange(newRelease)
		o.Wanted, o.Applied, o.Restored, o.Stored = imageOld, imageNew, tc.restored, tc.stored
		o.Last = v1beta1.ReleaseStatus{Image: imageNew, RestoredState: tc.lastRestored,
			ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}
		v := Plan(o).Verdict
		if v.Reason != v1beta1.ReasonDowngrade || strings.Contains(v.Message, "names no release of Slurm, such as 24.11") != tc.want {
			t.Errorf("with %q, and before %q: %+v", tc.restored, tc.lastRestored, v)
		}
	}
}

// TestWhatUsersSayOfTheStateOfADaemonThatRuns has no effect, and the verdict says what to do.
func TestWhatUsersSayOfTheStateOfADaemonThatRuns(t *testing.T) {
	const advice = "restored-state: 24.11 counts while slurmctld has no pods: stop the operator, scale the StatefulSet to zero"
	for _, isStopped := range []bool{false, true} {
		o := newChange(newRelease)
		o.Wanted, o.Applied, o.Restored, o.IsStopped, o.IsRecorded = imageOld, imageNew, "24.11", isStopped, false
		o.Last = v1beta1.ReleaseStatus{Image: imageNew, ImageReleases: []v1beta1.ImageRelease{newKnown, oldKnown}}
		if v := Plan(o).Verdict; v.Allowed() != isStopped || strings.Contains(v.Message, advice) == isStopped {
			t.Errorf("stopped: %t, verdict %+v", isStopped, v)
		}
		// It is started by somebody before it gets the older image.
		o.Last, o.IsRecorded = Plan(o).Status, true
		if o.IsStopped = false; isStopped {
			if d := Plan(o); d.Verdict.Allowed() || d.Image != imageNew {
				t.Errorf("it was started with the newer image, and gets %s: %+v", d.Image, d.Verdict)
			}
		}
	}
}

// TestAFailureSaysWhy: the message is that of the lookup.
func TestAFailureSaysWhy(t *testing.T) {
	o := newChange(newRelease)
	o.Answers[imageNew] = Answer{Problem: "ImagePullBackOff: correct the image"}
	if d := Plan(o); !strings.Contains(d.Verdict.Message, "correct the image") {
		t.Errorf("the verdict is %+v", d.Verdict)
	}
}

// TestALostReleaseIsReported where slurmctld waits for the release of login pods, whose image is gone, and they wait for slurmctld:
// somebody has to state it.
func TestALostReleaseIsReported(t *testing.T) {
	for _, tc := range []struct {
		name            string
		change          func(*Observation)
		reason, message string
	}{
		{"they wait for slurmctld", func(*Observation) {}, "LookupFailed", "which is 24.11"},
		{"they are too old", func(o *Observation) { o.Others[0].Release = releases.Release{Year: 28, Month: 5} }, "TooOld",
			"which is 28.05"},
		{"nobody waits for them", func(o *Observation) { o.IsAsked = false }, "WaitingForSlurmctld", ""},
		{"they work with any slurmctld that may run", func(o *Observation) { o.Others[0].Release = newRelease }, "Allowed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Observation{Daemon: releases.Sackd, Wanted: imageNew, Applied: imageOld, HasReady: true, Complete: true, IsAsked: true,
				Last:   v1beta1.ReleaseStatus{Image: imageOld, NextImage: imageNew, HasRun: true},
				Others: []releases.Member{{Daemon: releases.Slurmctld, Name: "Controller c", Release: oldRelease}},
				Answers: map[string]Answer{imageNew: {Release: newRelease},
					imageOld: {Problem: "no image: state its release", CannotBePulled: true}}}
			tc.change(&o)
			v := Plan(o).Verdict
			if v.Reason != tc.reason || !strings.Contains(v.Message, tc.message) ||
				strings.Contains(v.Message, "state its release") != (tc.message != "") {
				t.Errorf("the verdict is %+v", v)
			}
		})
	}
}

// TestPlanDoesNotChangeTheLastStatus: it belongs to the cache.
func TestPlanDoesNotChangeTheLastStatus(t *testing.T) {
	o := newChange(newRelease)
	o.Last.ImageReleases = []v1beta1.ImageRelease{{Image: imageNew}, oldKnown}
	before := *o.Last.DeepCopy()
	o.Answers[imageNew] = Answer{Release: newRelease}
	Plan(o)
	if diff := cmp.Diff(before, o.Last); diff != "" {
		t.Error(diff)
	}
}

// TestReasonsAreThoseOfTheAPI: package releases cannot import them, since slurm-agent has it, too.
func TestReasonsAreThoseOfTheAPI(t *testing.T) {
	for got, want := range map[string]string{
		releases.ReasonAllowed: v1beta1.ReasonAllowed, releases.ReasonWaitingForSlurmdbd: v1beta1.ReasonWaitingForSlurmdbd,
		releases.ReasonWaitingForSlurmctld: v1beta1.ReasonWaitingForSlurmctld,
		releases.ReasonDowngrade:           v1beta1.ReasonDowngrade, releases.ReasonTooOld: v1beta1.ReasonTooOld,
		releases.ReasonUnknown: v1beta1.ReasonUnknown,
	} {
		if got != want {
			t.Errorf("%s is %s in the API", got, want)
		}
	}
}

package upgrade

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestReadStated(t *testing.T) {
	problem := func(part string) map[string]Answer {
		return map[string]Answer{imageNew: {Problem: `annotation slinky.slurm.net/image-releases: "` + part +
			`" is not IMAGE=RELEASE, such as example.com/slurmctld:site=26.05`}}
	}
	for _, tc := range []struct {
		value string
		want  map[string]Answer
	}{
		{"", map[string]Answer{}},
		{imageNew + "=26.05", map[string]Answer{imageNew: {Release: newRelease}}},
		{" example.com:5000/ctld@sha256:1 = 24.11.5 ,\n" + imageNew + "=26.05,", map[string]Answer{
			"example.com:5000/ctld@sha256:1": {Release: oldRelease}, imageNew: {Release: newRelease}}},
		{"26.05", problem("26.05")},
		{imageOld + "=latest", problem(imageOld + "=latest")},
		{imageOld + "=24.11, " + imageNew, problem(imageNew)},
	} {
		object := &v1beta1.Controller{}
		object.Annotations = map[string]string{v1beta1.AnnotationImageReleases: tc.value}
		if diff := cmp.Diff(tc.want, readStated(object, imageNew)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.value, diff)
		}
	}
}

// TestStatedReleasesNeedNoLookup plans by what a user has stated.
func TestStatedReleasesNeedNoLookup(t *testing.T) {
	o := newChange(newRelease)
	object := &v1beta1.Controller{}
	object.Annotations = map[string]string{v1beta1.AnnotationImageReleases: imageOld + "=24.11," + imageNew + "=26.05"}
	o.Answers = readStated(object, imageNew)
	if d := Plan(o); len(d.Lookups) != 0 || !d.Verdict.Allowed() {
		t.Errorf("stated releases: lookups %v, verdict %+v", d.Lookups, d.Verdict)
	}
	object.Annotations[v1beta1.AnnotationImageReleases] = imageNew
	o.Answers = readStated(object, imageNew)
	if d := Plan(o); d.Verdict.Reason != v1beta1.ReasonLookupFailed || d.Image != imageOld {
		t.Errorf("a value that cannot be read: image %s, verdict %+v", d.Image, d.Verdict)
	}
}

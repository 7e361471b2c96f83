package upgrade

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// readStated returns the releases that AnnotationImageReleases of an object states, by image. A value that cannot be
// read is a problem of the wanted image: nothing is looked up against what a user has stated.
func readStated(object metav1.Object, wanted string) map[string]Answer {
	out := map[string]Answer{}
	value := object.GetAnnotations()[v1beta1.AnnotationImageReleases]
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		image, text, _ := strings.Cut(part, "=")
		release, err := releases.Parse(text)
		if err != nil {
			return map[string]Answer{wanted: {Problem: fmt.Sprintf("annotation %s: %q is not IMAGE=RELEASE, such as "+
				"example.com/slurmctld:site=26.05", v1beta1.AnnotationImageReleases, part)}}
		}
		out[strings.TrimSpace(image)] = Answer{Release: release}
	}
	return out
}

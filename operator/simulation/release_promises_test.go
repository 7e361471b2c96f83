package simulation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// ranks are the ranks of the kinds: a daemon must not be newer than a daemon of a higher rank (Slurm's upgrade guide).
var ranks = map[string]int{v1beta1.KindAccounting: 2, v1beta1.KindController: 1}

// checkRelease holds the image of a workload to its state and to the other daemons.
func (w *simulation) checkRelease(name string, template *corev1.PodTemplateSpec) {
	kind, image := daemonOf(template)
	old := w.applied[kind]
	if kind == "" || old == image || !w.hasRun[kind] {
		return
	}
	w.counts["a daemon gets another image"]++
	from, to := releaseIn(old), releaseIn(image)
	if !to.IsKnown() {
		w.failf("%s %s gets image %s, of which nothing is known", kind, name, image)
	}
	for _, other := range kinds {
		if ranks[other] == ranks[kind] || !w.hasRun[other] || !w.isInCluster(kind) || !w.isInCluster(other) {
			continue
		}
		for _, r := range w.runningReleases(other) {
			if isBroken(ranks[kind], to, ranks[other], r) && !isBroken(ranks[kind], from, ranks[other], r) {
				w.failf("the daemon of %s gets %s while that of %s is %s", kind, to, other, r)
			}
		}
	}
}

// isInCluster reports whether users have an object in the cluster. A RestApi or LoginSet without a reference belongs to the
// cluster of its pods.
func (w *simulation) isInCluster(kind string) bool {
	if a, isAccounting := w.objectOf(kind).(*v1beta1.Accounting); isAccounting {
		c, _ := w.objectOf(v1beta1.KindController).(*v1beta1.Controller)
		return c != nil && c.Spec.AccountingRef != nil && c.Spec.AccountingRef.Name == dbdName && !a.Spec.External // one outside is no concern of the operator
	}
	return w.objectOf(kind) != nil
}

// daemonOf returns the kind whose daemon a template has, and its image.
func daemonOf(template *corev1.PodTemplateSpec) (kind, image string) {
	for _, c := range template.Spec.Containers {
		if of, isDaemon := kindsOfDaemons[c.Name]; isDaemon {
			return of, c.Image
		}
	}
	return "", ""
}

// recordImages remembers which images are applied.
func (w *simulation) recordImages() {
	for _, set := range each[*appsv1.StatefulSet](w.api) {
		kind, image := daemonOf(&set.Spec.Template)
		w.applied[kind] = image
	}
	for _, d := range each[*appsv1.Deployment](w.api) {
		kind, image := daemonOf(&d.Spec.Template)
		w.applied[kind] = image
	}
}

// isBroken reports whether two daemons of different ranks do not work together.
func isBroken(rank int, release releases.Release, otherRank int, other releases.Release) bool {
	if rank > otherRank {
		return other.Compare(release) > 0
	}
	return release.Compare(other) > 0
}

// runningReleases returns the releases of the daemons of a kind that run.
func (w *simulation) runningReleases(kind string) []releases.Release {
	var out []releases.Release
	for _, p := range w.pods {
		if p.started && kindsOfDaemons[p.daemon] == kind {
			out = append(out, releaseIn(p.image))
		}
	}
	return out
}

package nodeset

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// restrainImage keeps the image of the workers until the new one is allowed. The revision then belongs to the NodeSet with the
// current image. It creates and deletes the pods that look up releases.
func (r *Reconciler) restrainImage(ctx context.Context, s *observation) error {
	if !r.cfg.ComparesReleases || s.problem.Reason != "" || s.nodeSet.DeletionTimestamp != nil {
		return nil
	}
	applied := s.appliedImage()
	var err error
	s.release, err = r.guard.RestrainWorkers(ctx, s.nodeSet, &s.template, upgrade.Workers{Applied: applied,
		HasReady: s.hasReadyWorker(), IsComplete: s.haveAllImage(applied)})
	if err != nil || s.release == nil {
		return err
	}
	s.requeueAfter(s.release.RequeueAfter())
	wanted := render.SlurmdImage(s.template.Spec.Containers)
	if s.release.Image == wanted {
		return nil
	}
	if s.input, err = s.input.WithImage(wanted, s.release.Image); err != nil {
		return err
	}
	var wrong problemError
	if err = s.renderTemplate(); errors.As(err, &wrong) {
		s.problem, err = wrong.Problem, nil
	}
	return err
}

// appliedImage returns the image of the newest workers, or an empty string. It is the image of the newest pod of the newest
// revision, or of all pods if the status does not know that revision (it was lost, or the pods were adopted). Otherwise it
// is the image in the revision, or else in the status.
func (s *observation) appliedImage() string {
	newest := s.nodeSet.Status.NodeSetHash
	if pod := s.newestPod(newest); pod != nil {
		return render.SlurmdImage(pod.Spec.Containers)
	}
	for i := range s.revisions {
		if r := &s.revisions[i]; r.Labels[render.LabelRevision] == newest {
			if image := s.imageOfRevision(r); image != "" {
				return image
			}
		}
	}
	last, conditions := s.nodeSet.ReleaseStatusOf()
	if last.NextImage != "" && meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionReleaseAllowed) {
		return last.NextImage
	}
	if pod := s.newestPod(""); last.Image == "" && pod != nil {
		return render.SlurmdImage(pod.Spec.Containers) // of another operator, which had just begun an update
	}
	return last.Image
}

// newestPod returns the newest pod of a revision, or of any revision if it is empty; nil without a pod.
func (s *observation) newestPod(revision string) *corev1.Pod {
	var out *corev1.Pod
	for _, p := range s.pods {
		if (revision == "" || p.Labels[render.LabelRevision] == revision) && p.DeletionTimestamp == nil && (out == nil || isNewer(p, out)) {
			out = p
		}
	}
	return out
}

// isNewer orders pods by their creation, and pods of the same second by name.
func isNewer(a, b *corev1.Pod) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name > b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}

// imageOfRevision returns the image in a stored revision. It is empty if the revision has none or cannot be read.
func (s *observation) imageOfRevision(r *appsv1.ControllerRevision) string {
	if !render.IsRevisionData(r.Data.Raw) {
		return ""
	}
	in, err := s.input.AtRevision(r.Data.Raw)
	if err != nil {
		return ""
	}
	image, err := in.ImageNamed()
	if err != nil {
		return ""
	}
	return image
}

// hasReadyWorker reports whether a worker is ready.
func (s *observation) hasReadyWorker() bool {
	for i := range s.workers {
		if s.workers[i].Ready {
			return true
		}
	}
	return false
}

// haveAllImage reports whether all workers have an image, and those that will be created of an old revision.
func (s *observation) haveAllImage(image string) bool {
	for _, pod := range s.pods {
		if render.SlurmdImage(pod.Spec.Containers) != image {
			return false
		}
	}
	for i := range s.revisions {
		if r := &s.revisions[i]; r.Annotations[v1beta1.AnnotationOrdinals] != "" {
			if named := s.imageOfRevision(r); named != "" && named != image {
				return false
			}
		}
	}
	return true
}

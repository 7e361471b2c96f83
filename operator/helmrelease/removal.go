package helmrelease

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/claims"
)

// removal is the removal of a release, as Helm's records of it show. Helm leaves the Job of a hook when it gives up. If the Job did not
// check the records, it would delete the clusters of a release that was rolled back or installed again.
type removal struct {
	release *Release
	// revision is the last one, 0 if Helm's records are elsewhere: Argo CD writes none, and other drivers of Helm write different ones.
	revision int
	// job is the Job of the hook, nil if it is not known.
	job *metav1.PartialObjectMetadata
}

// statusUninstalling is the label "status" of the record of a release that Helm removes. Helm sets it before it runs hooks.
const statusUninstalling = "uninstalling"

// revisionsAhead is the maximum number of revisions, by rollbacks, since the revision at which the release was rendered.
const revisionsAhead = 30

func (r *Release) newRemoval(ctx context.Context) (removal, error) {
	job, err := r.findJob(ctx)
	if out := (removal{release: r, job: job}); err != nil || r.Revision == 0 {
		return out, err
	}
	out := removal{release: r, job: job}
	for revision := r.Revision; revision <= max(r.Revision, out.revision)+revisionsAhead; revision++ {
		record, err := r.findRecord(ctx, revision)
		switch {
		case apierrors.IsForbidden(err):
			r.Logf("cannot see whether Helm still removes the release: %v", err)
			return out, nil
		case err != nil:
			return out, err
		case record != nil:
			out.revision = revision
		}
	}
	if out.revision == 0 {
		r.Logf("there are no records of release %s in namespace %s, so it is unknown whether Helm still removes it", r.Name, r.Namespace)
	}
	return out, nil
}

// findJob returns the Job of the hook, or nil.
func (r *Release) findJob(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	if r.Job == "" {
		return nil, nil
	}
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.OperatorNamespace, Name: r.Job}, job)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &RefusedError{fmt.Sprintf("Job %s/%s is gone, so nothing is deleted", r.OperatorNamespace, r.Job)}
	case apierrors.IsForbidden(err):
		r.Logf("cannot see since when the release is being removed: %v", err)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Job %s: %w", r.Job, err)
	}
	return job, nil
}

// checkAge returns an error for an object that is newer than the Job: it is of a release that was installed again.
func (r removal) checkAge(o object) error {
	if r.job == nil || !r.job.CreationTimestamp.Before(new(o.GetCreationTimestamp())) {
		return nil
	}
	return &RefusedError{fmt.Sprintf("%s was created after the removal had begun. Nothing else is deleted", o)}
}

// checkRecords returns an error if Helm no longer removes the release.
func (r removal) checkRecords(ctx context.Context) error {
	if r.revision == 0 {
		return nil
	}
	ended := func(why string) error {
		return &RefusedError{fmt.Sprintf("release %s is not being removed any more: %s. Nothing else is deleted", r.release.Name, why)}
	}
	record, err := r.release.findRecord(ctx, r.revision)
	switch {
	case err != nil:
		return err
	case record == nil:
		return ended(fmt.Sprintf("there is no record of revision %d", r.revision))
	case record.Labels["status"] != statusUninstalling:
		return ended(fmt.Sprintf("revision %d is %s", r.revision, record.Labels["status"]))
	}
	next, err := r.release.findRecord(ctx, r.revision+1)
	if err == nil && next != nil {
		err = ended(fmt.Sprintf("there is a revision %d", r.revision+1))
	}
	return err
}

// lastRevision returns the revision to roll back to.
func (r removal) lastRevision() int { return max(1, r.revision, r.release.Revision) }

// findRecord returns Helm's record of a revision without its content, or nil.
func (r *Release) findRecord(ctx context.Context, revision int) (*metav1.PartialObjectMetadata, error) {
	record := &metav1.PartialObjectMetadata{}
	record.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	name := RecordName(r.Name, revision)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, record)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return record, nil
}

// RecordName returns the name of the Secret where Helm records a revision of a release.
func RecordName(release string, revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
}

// absencePeriod is the time without an operator in a namespace after which it is an error: a new leader needs less.
const absencePeriod = time.Minute

// canEnd reports whether an operator manages the namespace of an object; otherwise the object would wait forever. An object without
// finalizers needs no operator. It returns an error if no operator has managed the namespace for a while.
func (r removal) canEnd(ctx context.Context, o object, absentSince map[string]time.Time) (bool, error) {
	if len(o.GetFinalizers()) == 0 {
		return true, nil
	}
	namespace := o.GetNamespace()
	manager, isKnown, err := claims.HolderOf(ctx, r.release.Client, namespace, time.Now())
	if err != nil || manager != "" || !isKnown {
		delete(absentSince, namespace)
		return err == nil, err
	}
	if absentSince[namespace].IsZero() {
		absentSince[namespace] = time.Now()
		r.release.Logf("no operator manages namespace %s: waiting for one", namespace)
	}
	if time.Since(absentSince[namespace]) < r.release.absencePeriod() {
		return false, nil
	}
	return false, &RefusedError{fmt.Sprintf("no operator runs that would end the jobs of %[1]s and let it go. Bring the operator back with "+
		"'helm rollback %[2]s %[3]d --namespace %[4]s' and uninstall then; or give its workers up with "+
		"'helm uninstall %[2]s --no-hooks --namespace %[4]s', delete the pods and remove the finalizers", o, r.release.Name, r.lastRevision(), r.release.Namespace)}
}

func (r *Release) absencePeriod() time.Duration { return min(absencePeriod, 60*r.Interval) }

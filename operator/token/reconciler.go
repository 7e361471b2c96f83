package token

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-token"

// afterConflict is time for the caches to learn what a write met.
const afterConflict = 100 * time.Millisecond

// Reconciler keeps the Secrets of Tokens.
type Reconciler struct {
	client client.Client
	// secrets reads Secrets as they are now; no cache holds their content.
	secrets client.Reader
	kube    access.Kube
	events  events.EventRecorder
	now     func() time.Time
}

// New returns a reconciler. c reads Tokens and writes; secrets reads Secrets from the
// API server, kube the keys.
func New(c client.Client, secrets client.Reader, kube access.Kube, recorder events.EventRecorder, now func() time.Time) *Reconciler {
	return &Reconciler{client: c, secrets: secrets, kube: kube, events: recorder, now: now}
}

// Reconcile looks at one Token, and writes its Secret and its status if they are to change.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t := &v1beta1.Token{}
	if err := r.client.Get(ctx, req.NamespacedName, t); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !t.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // its Secret goes with it, since it owns it
	}
	s, err := r.observe(ctx, t)
	if err != nil {
		return ctrl.Result{}, err
	}
	todo := plan(r.now(), string(uuid.NewUUID()), s)
	err = r.apply(ctx, s, todo)
	if apierrors.IsForbidden(err) {
		s.forbidden = "writing the Secret is forbidden: add the namespace to the chart's rbac.secretNamespaces, and leave rbac.writeSecrets on"
		todo = plan(r.now(), "", s)
		err = r.apply(ctx, s, todo)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: afterConflict}, nil
	}
	return ctrl.Result{RequeueAfter: soon(todo.again)}, err
}

// lookEvery is how often a Token is looked at although nothing is due: its Secret may have
// been changed or deleted, and a key that was missing may be there.
const lookEvery = time.Minute

// soon is when to look again, given when something is due; 0 for never.
func soon(due time.Duration) time.Duration {
	if due == 0 {
		return lookEvery
	}
	return min(due, lookEvery)
}

// observe reads all that a plan rests on.
func (r *Reconciler) observe(ctx context.Context, t *v1beta1.Token) (seen, error) {
	s := seen{token: t}
	if ref := keyRef(t); ref == nil || ref.Name == "" {
		s.missing = "the Token has neither jwtKeyRef nor jwtHs256KeyRef, which tokens are signed with"
	} else {
		key, err := access.ReadKey(ctx, r.kube, access.RefOf(t.Namespace, ref))
		switch {
		case access.IsMissing(err):
			s.missing = err.Error()
		case apierrors.IsForbidden(err):
			s.forbidden = err.Error()
		case err != nil:
			return seen{}, err
		}
		s.key = key
	}
	if invalid(t) != "" {
		return s, nil
	}
	secret := &corev1.Secret{}
	err := r.secrets.Get(ctx, types.NamespacedName{Namespace: t.Namespace, Name: secretName(t)}, secret)
	switch {
	case err == nil:
		s.secret = secret
	case apierrors.IsForbidden(err):
		s.forbidden = "reading the Secret is forbidden: add the namespace to the chart's rbac.secretNamespaces"
	case !apierrors.IsNotFound(err):
		return seen{}, fmt.Errorf("reading the Secret of the Token: %w", err)
	}
	return s, nil
}

// apply writes the Secret and then the status, and stops at the first error.
func (r *Reconciler) apply(ctx context.Context, s seen, t todo) error {
	if err := r.write(ctx, s, t); err != nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(t.status, s.token.Status) {
		changed := s.token.DeepCopy()
		changed.Status = t.status
		if err := r.client.Status().Patch(ctx, changed, client.MergeFrom(s.token), client.FieldOwner(FieldManager)); err != nil {
			return fmt.Errorf("writing the status of the Token: %w", err)
		}
	}
	return nil
}

// write does to the Secret what is planned, to the version that was seen.
func (r *Reconciler) write(ctx context.Context, s seen, t todo) error {
	var err error
	switch t.verb {
	case nothing:
		return nil
	case create:
		err = r.client.Create(ctx, t.secret, client.FieldOwner(FieldManager))
	case update:
		seen := client.MergeFromWithOptions(s.secret, client.MergeFromWithOptimisticLock{})
		err = r.client.Patch(ctx, t.secret, seen, client.FieldOwner(FieldManager))
	case replace:
		err = r.replace(ctx, t.secret)
	}
	if err != nil {
		return fmt.Errorf("writing the Secret of the Token: %w", err)
	}
	r.events.Eventf(s.token, nil, corev1.EventTypeNormal, "Issued", "Issue", "wrote a token of user %s into Secret %s", s.token.Spec.Username, t.secret.Name)
	return nil
}

func (r *Reconciler) replace(ctx context.Context, secret *corev1.Secret) error {
	uid, version := secret.UID, secret.ResourceVersion
	err := r.client.Delete(ctx, secret.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	secret.ObjectMeta = metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels, Annotations: secret.Annotations,
		OwnerReferences: secret.OwnerReferences,
	}
	return r.client.Create(ctx, secret, client.FieldOwner(FieldManager))
}

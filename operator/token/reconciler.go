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

// New returns a reconciler. c reads Tokens and the metadata of Secrets, and writes;
// secrets reads Secrets from the API server, kube the keys.
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
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: afterConflict}, nil
	}
	return ctrl.Result{RequeueAfter: todo.again}, err
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
	case !apierrors.IsNotFound(err):
		return seen{}, fmt.Errorf("reading the Secret of the Token: %w", err)
	}
	s.stale, err = r.stale(ctx, t)
	return s, err
}

// stale lists the Secrets of former names.
func (r *Reconciler) stale(ctx context.Context, t *v1beta1.Token) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.client.List(ctx, &list, client.InNamespace(t.Namespace)); err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	var out []string
	for i := range list.Items {
		if o := &list.Items[i]; metav1.IsControlledBy(o, t) && o.Name != secretName(t) && o.DeletionTimestamp.IsZero() {
			out = append(out, o.Name)
		}
	}
	return out, nil
}

// apply writes the Secret, the status, and deletes what is stale, in this order, and stops
// at the first error.
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
	for _, name := range t.drop {
		old := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.token.Namespace, Name: name}}
		if err := client.IgnoreNotFound(r.client.Delete(ctx, old)); err != nil {
			return fmt.Errorf("deleting a former Secret of the Token: %w", err)
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
		err = r.client.Update(ctx, t.secret, client.FieldOwner(FieldManager))
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
	secret.UID, secret.ResourceVersion = "", ""
	return r.client.Create(ctx, secret, client.FieldOwner(FieldManager))
}

package token

import (
	"context"
	"errors"
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

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-token"

// Reconciler maintains the Secrets of Tokens.
type Reconciler struct {
	client client.Client
	gate   *kube.Gate
	// secrets reads Secrets without a cache, which must not contain their content.
	secrets client.Reader
	keys    access.SecretReader
	events  events.EventRecorder
	now     func() time.Time
}

// New returns a reconciler. c reads Tokens and does all writes; secrets reads Secrets from the API
// server, keys reads the keys.
func New(c client.Client, secrets client.Reader, keys access.SecretReader, recorder events.EventRecorder,
	now func() time.Time) *Reconciler {
	return &Reconciler{client: c, gate: kube.NewGate(c, FieldManager, now), secrets: secrets, keys: keys,
		events: recorder, now: now}
}

// Reconcile reconciles one Token: it writes the Token's Secret and status if they change.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t := &v1beta1.Token{}
	// The garbage collector deletes the Secret of a Token that is being deleted.
	if live, err := r.gate.EnterLive(ctx, req.NamespacedName, t); !live {
		return kube.ResultOf(0, err)
	}
	s, err := r.observe(ctx, t)
	if err != nil {
		return ctrl.Result{}, err
	}
	todo := planToken(r.now(), string(uuid.NewUUID()), s)
	err = r.apply(ctx, s, todo)
	if apierrors.IsForbidden(err) {
		s.forbidden = "writing the Secret is forbidden: add the namespace to the chart's rbac.secretNamespaces, and leave rbac.writeSecrets on"
		todo = planToken(r.now(), "", s)
		err = r.apply(ctx, s, todo)
	}
	return kube.ResultOf(limitRequeue(todo.requeueAfter), err)
}

// resyncInterval is the interval of reconciliations of a Token without a due action: its Secret may have been
// changed or deleted, and a missing key may have been created.
const resyncInterval = time.Minute

// limitRequeue returns the time until the next reconciliation, given the time until something is
// due, 0 for never.
func limitRequeue(due time.Duration) time.Duration {
	if due == 0 {
		return resyncInterval
	}
	return min(due, resyncInterval)
}

// observe reads everything that a plan is based on.
func (r *Reconciler) observe(ctx context.Context, t *v1beta1.Token) (observation, error) {
	s := observation{token: t}
	if ref := signingKeyRef(t); ref == nil || ref.Name == "" {
		s.missingKey = "the Token has neither jwtKeyRef nor jwtHs256KeyRef, which tokens are signed with"
	} else {
		raw, err := access.ReadSigningKey(ctx, r.keys, refs.SecretKeyRef(t.Namespace, ref))
		switch {
		case access.IsMissing(err):
			s.missingKey = err.Error()
		case apierrors.IsForbidden(err):
			s.forbidden = err.Error()
		case errors.Is(err, access.ErrNotForHS256), errors.Is(err, access.ErrKeyOfToken):
			s.invalidKey = err.Error()
		case err != nil:
			return observation{}, err
		}
		if err == nil {
			if s.key, err = signing.ParseKey(raw); err != nil {
				s.invalidKey = err.Error()
			}
		}
	}
	if specProblem(t) != "" {
		return s, nil
	}
	var err error
	if s.keyUser, err = findKeyUser(ctx, r.client, t.Namespace, names.TokenSecret(t)); err != nil {
		return observation{}, err
	}
	secret := &corev1.Secret{}
	err = r.secrets.Get(ctx, types.NamespacedName{Namespace: t.Namespace, Name: names.TokenSecret(t)}, secret)
	switch {
	case err == nil:
		s.secret = secret
	case apierrors.IsForbidden(err):
		s.forbidden = "reading the Secret is forbidden: add the namespace to the chart's rbac.secretNamespaces"
	case !apierrors.IsNotFound(err):
		return observation{}, fmt.Errorf("reading the Secret of the Token: %w", err)
	}
	return s, nil
}

// apply writes the Secret and then the status, and stops at the first error.
func (r *Reconciler) apply(ctx context.Context, s observation, t actions) error {
	if err := r.writeSecret(ctx, s, t); err != nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(t.status, s.token.Status) {
		changed := s.token.DeepCopy()
		changed.Status = t.status
		return kube.PatchStatus(ctx, r.client, s.token, changed, nil, client.FieldOwner(FieldManager))
	}
	return nil
}

// writeSecret writes the Secret as planned, on condition that it has not changed since it was read.
func (r *Reconciler) writeSecret(ctx context.Context, s observation, t actions) error {
	var err error
	switch t.secretAction {
	case keepSecret:
		return nil
	case createSecret:
		err = r.client.Create(ctx, t.secret, client.FieldOwner(FieldManager))
	case updateSecret:
		seen := client.MergeFromWithOptions(s.secret, client.MergeFromWithOptimisticLock{})
		err = r.client.Patch(ctx, t.secret, seen, client.FieldOwner(FieldManager))
	case replaceSecret:
		err = r.replaceSecret(ctx, t.secret)
	}
	if err != nil {
		return fmt.Errorf("writing the Secret of the Token: %w", err)
	}
	r.events.Eventf(s.token, nil, corev1.EventTypeNormal, "Issued", "Issue", "wrote a token of user %s into Secret %s",
		s.token.Spec.Username, t.secret.Name)
	return nil
}

func (r *Reconciler) replaceSecret(ctx context.Context, secret *corev1.Secret) error {
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

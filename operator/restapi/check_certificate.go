package restapi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/restapi/certificate"
)

// certificateCheckInterval is how often the operator looks at a certificate. It does not watch Secrets.
const certificateCheckInterval = time.Minute

// certificateCheckDelay returns how soon to look at the certificate of a RestApi again: 0 is never.
func certificateCheckDelay(api *v1beta1.RestApi) time.Duration {
	if api.Spec.TLS == nil {
		return 0
	}
	return certificateCheckInterval
}

// checkCertificate returns when the certificate of a RestApi ends, nil without TLS. A *problem.Error says why clients
// would not accept it.
func (r *Reconciler) checkCertificate(ctx context.Context, api *v1beta1.RestApi) (*metav1.Time, error) {
	if api.Spec.TLS == nil {
		return nil, nil
	}
	if err := r.CheckNamespace(api.Namespace); err != nil {
		return nil, err
	}
	if r.cfg.AgentImage == "" {
		return nil, problem.New(v1beta1.ReasonInvalidSpec,
			"spec.tls: the operator has no image of slurm-agent, which ends TLS: give it --controller.agent-image")
	}
	files, ca, err := r.readCertificate(ctx, api)
	if err != nil {
		return nil, err
	}
	end, err := certificate.Check(r.now(), refs.RestAPIHost(api), files, "Secret "+api.Spec.TLS.SecretName, ca.String())
	if err != nil {
		return nil, err
	}
	return new(metav1.NewTime(end)), nil
}

// readCertificate returns the certificate with its key, and the CA certificates with where they are from.
func (r *Reconciler) readCertificate(ctx context.Context, api *v1beta1.RestApi) (certificate.Files, refs.KeyRef,
	error) {
	ca, optional := refs.RestAPICA(api)
	secret := &corev1.Secret{}
	if err := r.readReferenced(ctx, api, "spec.tls.secretName", api.Spec.TLS.SecretName, secret); err != nil {
		return certificate.Files{}, ca, err
	}
	out := certificate.Files{Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey],
		CA: secret.Data[refs.CACertKey]}
	if optional {
		return out, ca, nil
	}
	var err error
	out.CA, err = r.readCA(ctx, api, ca)
	return out, ca, err
}

// readCA returns the CA certificates of spec.tls.caRef.
func (r *Reconciler) readCA(ctx context.Context, api *v1beta1.RestApi, ca refs.KeyRef) ([]byte, error) {
	const field = "spec.tls.caRef"
	secret, configMap := &corev1.Secret{}, &corev1.ConfigMap{}
	var into client.Object = secret
	if ca.Kind == string(v1beta1.CAInConfigMap) {
		into = configMap
	}
	if err := r.readReferenced(ctx, api, field, ca.Name, into); err != nil {
		return nil, err
	}
	for _, found := range [][]byte{secret.Data[ca.Key], []byte(configMap.Data[ca.Key]), configMap.BinaryData[ca.Key]} {
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, problem.New(v1beta1.ReasonReferenceNotFound, "%s: %s %s has no key %s", field, ca.Kind, ca.Name, ca.Key)
}

// readReferenced reads an object to which a field refers.
func (r *Reconciler) readReferenced(ctx context.Context, api *v1beta1.RestApi, field, name string,
	into client.Object) error {
	kind := "Secret"
	if _, isConfigMap := into.(*corev1.ConfigMap); isConfigMap {
		kind = "ConfigMap"
	}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: api.Namespace, Name: name}, into)
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no %s %s", field, kind, name)
	case apierrors.IsForbidden(err):
		return problem.New(v1beta1.ReasonForbidden, "%s: the operator may not read %s %s", field, kind, name)
	}
	return fmt.Errorf("reading %s %s: %w", kind, name, err)
}

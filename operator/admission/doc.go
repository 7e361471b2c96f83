// Package admission contains the operator's webhooks: the validating webhooks, which decide whether
// an object of our kinds may be written, and the conversion webhook between versions.
//
// The Validate functions are pure. They check what the schemas cannot express, and that immutable
// fields do not change. Each error names its field. Settings that are valid but may surprise cause
// warnings. Reconcilers use these functions too, because webhooks may be disabled or unavailable
// while an object is written.
//
// SetupWithManager runs the webhooks on every replica of the operator. By default the operator
// issues their certificate (operator/certs) and writes its CA into the webhook configuration
// and the CustomResourceDefinitions. If the certificate is read from files, their issuer, such as
// cert-manager, writes the CA.
//
// An update is never refused if it does not change the spec, or the object is being deleted: labels,
// finalizers and status of an object that has become invalid can still be written.
package admission

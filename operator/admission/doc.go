// Package admission is what the operator says to the API server about objects of its
// kinds: whether one may be written (validating webhooks), and what it is in another
// version (the conversion webhook).
//
// The Validate functions are pure. They hold what the schemas' rules can not say, and
// fields that are immutable; an object that they refuse is refused by one message that
// names the field. What would only surprise is a warning. Reconcilers use them too,
// since webhooks may be switched off, or away while an object is written.
//
// SetupWithManager runs the webhooks on every replica of the operator. Their
// certificate is self-made (operator/api/certs) and its CA announced in the webhook
// configuration and in the definitions, unless the certificate comes in files: then
// cert-manager, or whoever made them, announces it.
//
// An update that changes nothing of the spec, or of an object that is being deleted,
// is never refused: labels, finalizers and status of an object that has become invalid
// can still be written.
package admission

// Package admission tests the custom resource definitions and the operator's webhooks on a real API
// server (build tag e2e).
package admission

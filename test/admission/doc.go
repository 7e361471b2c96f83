// Package admission tests the definitions and the operator's webhooks on a real API
// server (tag e2e).
package admission

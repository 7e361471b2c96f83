// Package unreconciled reports that the operator does not reconcile Controllers, RestApis,
// Accountings and LoginSets yet. Each gets the condition Ready (False) with the reason
// NotReconciled, and the condition FieldsIgnored if it sets a field that no component reads. The
// package creates and deletes nothing. The operator still reads Controllers and RestApis to find
// slurmrestd (package live), so NodeSets can join the clusters that they name.
package unreconciled

// Package unreconciled tells users that nothing reconciles their Controllers, RestApis,
// Accountings and LoginSets yet: each gets the condition Ready, False, with the reason
// NotReconciled, and the condition FieldsIgnored where a field is set that would do nothing
// even so. It makes nothing and deletes nothing. Controllers and RestApis are still read, to
// find slurmrestd (package live), so NodeSets can join what they name.
package unreconciled

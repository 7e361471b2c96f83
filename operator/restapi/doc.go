// Package restapi reconciles RestApis: it runs slurmrestd in a Deployment.
//
// Package daemon has the order of the steps, and pass.go the steps of a RestApi. Package render builds the objects from
// the RestApi, its Controller and the Controller's Accounting, and package status computes the status.
package restapi

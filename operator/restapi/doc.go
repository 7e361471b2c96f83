// Package restapi reconciles RestApis: it runs slurmrestd in a Deployment.
//
// Package render builds the objects from the RestApi, its Controller and the Accounting of that one.
// Server-side apply writes what differs, and package status computes the status.
package restapi

// Package loginset reconciles LoginSets: it runs pods in which users log in by ssh and submit jobs, in a
// Deployment.
//
// Package render builds the objects from the LoginSet and its Controller. Server-side apply writes what
// differs, and package status computes the status. The host keys are generated once and are never changed.
package loginset

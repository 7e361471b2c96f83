// Package loginset reconciles LoginSets: it runs pods in which users log in by ssh and submit jobs, in a
// Deployment.
//
// Package daemon has the order of the steps, and pass.go the steps of a LoginSet. Package render builds the objects from
// the LoginSet and its Controller, and package status computes the status. The host keys are generated once and are never
// changed.
package loginset

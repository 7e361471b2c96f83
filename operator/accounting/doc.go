// Package accounting reconciles Accountings: it runs slurmdbd in a StatefulSet and writes slurmdbd.conf.
//
// The operator does not know the password of the database: slurm-agent beside slurmdbd (package configagent)
// adds it to slurmdbd.conf, tries the result and applies it. It also brings the accounts of a user's ConfigMap into the
// database, which the operator gives it beside slurmdbd.conf. Package daemon has the order of the steps, and pass.go the
// steps of an Accounting. Package render builds the objects, and package status computes the status.
package accounting

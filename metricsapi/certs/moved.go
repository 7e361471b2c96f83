// Package certs is where operator/api/certs was.
package certs

import "github.com/slurmtide/slurmtide/operator/api/certs"

// Keeper is that of operator/api/certs.
type Keeper = certs.Keeper

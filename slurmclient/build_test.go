package slurmclient_test

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// staticToken is a token that never changes.
type token string

func (t token) Token() (string, error) { return string(t), nil }
func (token) Reload() (bool, error)    { return false, nil }
func (token) Expiry() time.Time        { return time.Time{} }

func slurmJob() slurm.JobRequest {
	return slurm.JobRequest{Name: "j", Script: "#!/bin/sh\n", Environment: []string{"A=B"}, WorkingDirectory: "/tmp"}
}

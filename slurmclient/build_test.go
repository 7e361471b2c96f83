package slurmclient_test

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// token is one that does not change.
type token string

func (t token) Token() (string, error) { return string(t), nil }
func (token) Reload() (bool, error)    { return false, nil }
func (token) Expiry() time.Time        { return time.Time{} }

func slurmJob() slurm.JobRequest {
	return slurm.JobRequest{Name: "j", Script: "#!/bin/sh\n", Environment: []string{"A=B"}, WorkingDirectory: "/tmp"}
}

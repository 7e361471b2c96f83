package slurmclient_test

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// staticToken is a token that never changes.
type staticToken string

func (t staticToken) Token() (string, error) { return string(t), nil }
func (staticToken) Reload() (bool, error)    { return false, nil }
func (staticToken) Expiry() time.Time        { return time.Time{} }

func testJobRequest() slurm.JobRequest {
	return slurm.JobRequest{Name: "j", Script: "#!/bin/sh\n", Environment: []string{"A=B"}, WorkingDirectory: "/tmp"}
}

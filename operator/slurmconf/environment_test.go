package slurmconf

import (
	"slices"
	"testing"
)

func TestCommandEnvironment(t *testing.T) {
	environment := []string{"PATH=/bin", "SLURM_CONF=/etc/slurm/slurm.conf", "SQUEUE_PARTITION=other", "SQUEUE_USERS=", "SCONTROL_ALL=1", "TZ=UTC",
		"SLURM_TIME_FORMAT=relative", "SLURM_CLUSTERS=all", "SINFO_FORMAT=%a", "SLURM_JWT=SQUEUE_SORT=i"}
	want := []string{"PATH=/bin", "SLURM_CONF=/etc/slurm/slurm.conf", "TZ=UTC", "SLURM_JWT=SQUEUE_SORT=i"}
	if got := CommandEnvironment(environment); !slices.Equal(got, want) {
		t.Errorf("the environment is %v, want %v", got, want)
	}
	if environment[2] != "SQUEUE_PARTITION=other" {
		t.Error("the environment that was given has changed")
	}
}

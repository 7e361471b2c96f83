package slurmtest

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmrestd"
)

// The releases that the simulator imitates.
const (
	Release2411 = slurmctld.Release2411
	Release2605 = slurmctld.Release2605
)

// The configuration of a cluster.
type (
	// Config describes a cluster. The zero value is an empty cluster of release 26.05 with one
	// partition, "batch", which contains all nodes added later.
	Config = slurmctld.Config
	// NodeConf is a NodeName= line of slurm.conf.
	NodeConf = slurmctld.NodeConf
	// PartitionConf is a PartitionName= line of slurm.conf.
	PartitionConf = slurmctld.PartitionConf
	// LicenseConf is one entry of Licenses in slurm.conf.
	LicenseConf = slurmctld.LicenseConf
	// UserConf is a user with one association.
	UserConf = slurmctld.UserConf
	// QOSConf is a quality of service.
	QOSConf = slurmctld.QOSConf
)

// JobSpec describes a job to submit.
type JobSpec = slurmctld.JobSpec

// Refusal is an error of slurmctld.
type Refusal = slurmctld.Refusal

// The states of slurmctld. slurmrestd itself keeps answering in all of them.
const (
	ControllerUp = slurmrestd.ControllerUp
	// ControllerDown is a slurmctld that does not run: requests fail at once.
	ControllerDown = slurmrestd.ControllerDown
	// ControllerHung is a stopped slurmctld: it accepts requests and does not answer them. It
	// serves them once it is up again.
	ControllerHung = slurmrestd.ControllerHung
)

// Fault describes how requests fail. The zero Fault does nothing.
type Fault = slurmrestd.Fault

// The kinds of faults.
const (
	FaultNone           = slurmrestd.FaultNone           // only delays by Latency
	FaultStatus         = slurmrestd.FaultStatus         // answers with Status and its standard text
	FaultTruncate       = slurmrestd.FaultTruncate       // closes the connection in the middle of the answer
	FaultGarbage        = slurmrestd.FaultGarbage        // answers 200 with a body that is not JSON
	FaultReset          = slurmrestd.FaultReset          // closes the connection before any answer
	FaultLost           = slurmrestd.FaultLost           // serves the request and closes before any answer
	FaultHang           = slurmrestd.FaultHang           // does not answer until the client gives up
	FaultToken          = slurmrestd.FaultToken          // rejects the token
	FaultControllerDown = slurmrestd.FaultControllerDown // treats slurmctld as down
	FaultControllerHung = slurmrestd.FaultControllerHung // treats slurmctld as hung
)

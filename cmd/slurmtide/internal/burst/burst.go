// Package burst defines the jobs of the demo and tracks their outcome. It is pure.
package burst

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// JobTemplate is a job, or an array of jobs, to submit.
type JobTemplate struct {
	// Title is the name that the demo shows.
	Title string
	// Array is sbatch's --array, such as "1-6". It is empty for a single job.
	Array string
	// Tasks is the number of array tasks, or 1 for a single job.
	Tasks int
	// Partition, Features and GRES (such as gpu:h100:1) are empty for no requirement.
	Partition, Features, GRES string
	// Nodes is the number of nodes that each job needs at once. 0 means 1.
	Nodes uint32
	// Exclusive jobs do not share their nodes.
	Exclusive bool
	// Seconds is the run time.
	Seconds int
	// NeverFits is true when the job needs more than the NodeSets can ever offer.
	NeverFits bool
}

// Name is the Slurm job name of all jobs of the burst.
const Name = "demo"

// JobTemplates returns the jobs of the burst for the NodeSets cpu and gpu. The long job runs longer than the others, so
// its worker must stay. The last job needs one worker more than cpuMax.
func JobTemplates(cpuMax int) []JobTemplate {
	return []JobTemplate{
		{Title: "a long job", Tasks: 1, Exclusive: true, Seconds: 40},
		{Title: "an array of 8", Array: "1-8", Tasks: 8, Exclusive: true, Seconds: 8},
		{Title: "4 workers at once", Tasks: 1, Nodes: 4, Exclusive: true, Seconds: 8},
		{Title: "one GPU each", Array: "1-3", Tasks: 3, Partition: "gpu", GRES: "gpu:h100:1", Seconds: 10},
		{Title: "a feature", Tasks: 1, Partition: "all", Features: "gpu", Exclusive: true, Seconds: 6},
		{Title: "never fits", Tasks: 1, Nodes: uint32(cpuMax) + 1, Exclusive: true, Seconds: 1,
			NeverFits: true}, //nolint:gosec // small
	}
}

// SbatchArgs returns the arguments of sbatch.
func (s JobTemplate) SbatchArgs() []string {
	args := []string{"--job-name=" + Name, "--output=/dev/null"}
	return append(append(args, s.sbatchFlags()...), "--wrap="+s.jobScript())
}

// String returns the sbatch command line in short form.
func (s JobTemplate) String() string {
	return "sbatch " + strings.Join(append(s.sbatchFlags(), fmt.Sprintf("--wrap='%s'", s.jobScript())), " ")
}

func (s JobTemplate) sbatchFlags() []string {
	var flags []string
	add := func(flag, value string) {
		if value != "" {
			flags = append(flags, flag+value)
		}
	}
	add("--array=", s.Array)
	if s.Nodes > 0 {
		add("-N", fmt.Sprint(s.Nodes))
	}
	add("-p", s.Partition)
	add("-C", s.Features)
	add("--gres=", s.GRES)
	if s.Exclusive {
		flags = append(flags, "--exclusive")
	}
	return flags
}

// jobScript returns the batch script. A job of several nodes uses srun to run on all of them.
func (s JobTemplate) jobScript() string {
	if s.Nodes > 1 {
		return fmt.Sprintf("srun hostname; sleep %d", s.Seconds)
	}
	return fmt.Sprintf("sleep %d", s.Seconds)
}

// JobRequest returns the equivalent request to slurmrestd.
func (s JobTemplate) JobRequest() slurm.JobRequest {
	r := slurm.JobRequest{
		Name: Name, Partition: s.Partition, Array: s.Array, Nodes: s.Nodes, Constraints: s.Features,
		Exclusive: s.Exclusive, Script: fmt.Sprintf("#!/bin/sh\nsleep %d\n", s.Seconds),
		Environment: []string{"PATH=/bin:/usr/bin"}, WorkingDirectory: "/",
	}
	if s.GRES != "" {
		r.TRESPerNode = "gres/" + s.GRES
	}
	return r
}

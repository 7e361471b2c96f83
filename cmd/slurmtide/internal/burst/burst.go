// Package burst has the jobs of the demo, of several shapes, and tells what became of
// them. It is pure.
package burst

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Shape is a job, or an array of jobs, to submit.
type Shape struct {
	// Title tells what it is for.
	Title string
	// Array is such as "1-6", empty for a single job.
	Array string
	// Tasks is how many jobs it is: the array's tasks, or 1.
	Tasks int
	// Partition, Features and GRES (such as gpu:h100:1) are empty for any.
	Partition, Features, GRES string
	// Nodes is how many each needs at once; 0 is 1.
	Nodes uint32
	// Exclusive jobs have their nodes for themselves.
	Exclusive bool
	// Seconds is how long it runs.
	Seconds int
	// Unfit: it needs more than there can ever be.
	Unfit bool
}

// Name is the name that all jobs of the burst have in Slurm.
const Name = "demo"

// Shapes are the jobs of the burst for the NodeSets cpu and gpu. One runs on when the
// others have ended, so that its worker has to stay. The last needs one more worker than
// cpu may have.
func Shapes(cpuMax int) []Shape {
	return []Shape{
		{Title: "a long one", Tasks: 1, Exclusive: true, Seconds: 40},
		{Title: "an array of 8", Array: "1-8", Tasks: 8, Exclusive: true, Seconds: 8},
		{Title: "4 workers at once", Tasks: 1, Nodes: 4, Exclusive: true, Seconds: 8},
		{Title: "a GPU each", Array: "1-3", Tasks: 3, Partition: "gpu", GRES: "gpu:h100:1", Seconds: 10},
		{Title: "a feature", Tasks: 1, Partition: "all", Features: "gpu", Exclusive: true, Seconds: 6},
		{Title: "never fits", Tasks: 1, Nodes: uint32(cpuMax) + 1, Exclusive: true, Seconds: 1, Unfit: true}, //nolint:gosec // small
	}
}

// Args are the arguments of sbatch for it.
func (s Shape) Args() []string {
	args := []string{"--job-name=" + Name, "--output=/dev/null"}
	return append(append(args, s.flags()...), "--wrap="+s.script())
}

// String is the command line in short.
func (s Shape) String() string {
	return "sbatch " + strings.Join(append(s.flags(), fmt.Sprintf("--wrap='%s'", s.script())), " ")
}

func (s Shape) flags() []string {
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

// script has srun start it on all its nodes, where it has several.
func (s Shape) script() string {
	if s.Nodes > 1 {
		return fmt.Sprintf("srun hostname; sleep %d", s.Seconds)
	}
	return fmt.Sprintf("sleep %d", s.Seconds)
}

// Request is the same for slurmrestd.
func (s Shape) Request() slurm.JobRequest {
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

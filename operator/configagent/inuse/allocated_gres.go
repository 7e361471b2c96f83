package inuse

import (
	"context"
	"regexp"
	"strings"
)

// A line of "scontrol --details --oneliner show jobs" begins with the ids of a job, and names the GRES that it has. A name of a job
// that looks like GRES adds some.
var (
	shownJob       = regexp.MustCompile(`(?m)^JobId=(\d+)(?: ArrayJobId=(\d+) ArrayTaskId=(\S+))?(?: HetJobId=(\d+) HetJobOffset=(\d+))?.*$`)
	shownAllocated = regexp.MustCompile(`\bJOB_GRES=(\S+)`)
)

// parseAllocatedGRES returns the kinds of GRES that jobs have, by their ids as squeue prints them.
func parseAllocatedGRES(shown string) map[string][]string {
	out := map[string][]string{}
	for _, line := range shownJob.FindAllStringSubmatch(shown, -1) {
		id := line[1]
		switch {
		case line[2] != "":
			id = line[2] + "_" + line[3]
		case line[4] != "":
			id = line[4] + "+" + line[5]
		}
		for _, list := range shownAllocated.FindAllStringSubmatch(line[0], -1) {
			for gres := range strings.SplitSeq(list[1], ",") {
				if kind, _, _ := strings.Cut(gres, ":"); kind != "(null)" {
					out[id] = append(out[id], kind)
				}
			}
		}
	}
	return out
}

// jobsWithGRES returns all jobs, including the GRES that they have without a request: an exclusive job has all GRES of its nodes,
// and squeue does not show them (measured: docs/development/slurm.md, "What ends jobs").
func (j Judge) jobsWithGRES(ctx context.Context) (jobList, error) {
	jobs, err := j.jobs(ctx)
	if err != nil {
		return jobs, err
	}
	shown, err := j.ask(ctx, "scontrol", "--all", "--details", "--oneliner", "show", "jobs")
	if err != nil {
		return jobs, err
	}
	allocated := parseAllocatedGRES(shown)
	for i, job := range jobs.unfinished {
		jobs.unfinished[i].gresTypes = append(job.gresTypes, allocated[job.id]...)
	}
	return jobs, nil
}

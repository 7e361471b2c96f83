package slurmctld

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// dependency is one entry of sbatch --dependency. kind is after, afterany, afterok, afternotok,
// aftercorr or singleton.
type dependency struct {
	kind string
	id   uint32
}

func (d dependency) String() string {
	if d.kind == "singleton" {
		return "singleton(unfulfilled)"
	}
	return d.kind + ":" + strconv.FormatUint(uint64(d.id), 10) + "(unfulfilled)"
}

// parseDependencies parses "afterok:3:4,singleton". "?" counts as ",".
func parseDependencies(text string) (list []dependency, ok bool) {
	if text == "" {
		return nil, true
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '?' }) {
		words := strings.Split(part, ":")
		known := slices.Contains([]string{"after", "afterany", "afterok", "afternotok", "aftercorr"}, words[0])
		if words[0] == "singleton" && len(words) == 1 {
			list = append(list, dependency{kind: "singleton"})
			continue
		}
		if !known || len(words) < 2 {
			return nil, false
		}
		for _, w := range words[1:] {
			number, _, _ := strings.Cut(w, "+")
			number, _, _ = strings.Cut(number, "_")
			id, err := strconv.ParseUint(number, 10, 32)
			if err != nil {
				return nil, false
			}
			list = append(list, dependency{words[0], uint32(id)})
		}
	}
	return list, true
}

// wakeDependents makes the scheduler check the jobs that depend on others.
func (c *Cluster) wakeDependents() { c.needsScheduling = true }

// resolveDependents drops the dependencies that are fulfilled.
func (c *Cluster) resolveDependents() {
	c.dependents = slices.DeleteFunc(c.dependents, func(j *job) bool {
		if j.purged || !j.pending() {
			return true
		}
		c.resolveDependencies(j)
		return len(j.dependencies) == 0
	})
}

func (c *Cluster) resolveDependencies(j *job) {
	var left []dependency
	blocked := ""
	for _, d := range j.dependencies {
		switch c.checkDependency(j, d) {
		case depFulfilled:
		case depNeverSatisfied:
			blocked = "DependencyNeverSatisfied"
			left = append(left, d)
		default:
			left = append(left, d)
		}
	}
	if len(left) > 0 && blocked == "" {
		blocked = "Dependency"
	}
	changed := len(left) != len(j.dependencies)
	j.dependencies, j.blockedReason = left, blocked
	if !changed && (blocked == "" || j.View().Reason == blocked || j.View().Hold) {
		return
	}
	var texts []string
	for _, d := range left {
		texts = append(texts, d.String())
	}
	r := c.edit(j)
	r.Dependency = strings.Join(texts, ",")
	if blocked != "" && !r.Hold {
		r.Reason = blocked
	} else if blocked == "" && strings.HasPrefix(r.Reason, "Dependency") {
		r.Reason, r.EligibleTime, r.AccrueTime = "None", c.now, c.now
		r.flags &^= flagDependent
		r.Flags = c.flagText(r.flags)
	}
}

type depState uint8

const (
	depUnfulfilled depState = iota
	depFulfilled
	depNeverSatisfied
)

// checkDependency returns the state of one dependency. A purged job counts as completed.
func (c *Cluster) checkDependency(j *job, d dependency) depState {
	if d.kind == "singleton" {
		return c.checkSingleton(j)
	}
	begun, ended, good := true, true, true
	jobs := c.findJobs(strconv.FormatUint(uint64(d.id), 10))
	if len(jobs) == 0 && d.kind == "afternotok" {
		return depNeverSatisfied
	}
	for _, other := range jobs {
		base := other.state()
		begun = begun && base != slurm.JobPending
		ended = ended && base.Finished()
		good = good && base == slurm.JobCompleted
	}
	switch {
	case d.kind == "after" && begun:
		return depFulfilled
	case d.kind == "after" || !ended:
		return depUnfulfilled
	case d.kind == "afterany", d.kind == "afternotok" != good:
		return depFulfilled
	}
	return depNeverSatisfied
}

func (c *Cluster) checkSingleton(j *job) depState {
	v := j.View()
	for _, other := range c.jobs {
		o := other.View()
		if other != j && other.id < j.id && o.Name == v.Name && o.UserName == v.UserName && !o.State.Base.Finished() {
			return depUnfulfilled
		}
	}
	return depFulfilled
}

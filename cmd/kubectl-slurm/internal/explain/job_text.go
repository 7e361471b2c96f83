package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// describeRequest describes the requested resources in one line.
func describeRequest(j *slurm.Job) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	number := func(n slurm.Number, one, many string) {
		switch v, ok := n.Value(); {
		case ok && v == 1:
			add("1 %s", one)
		case ok && v > 1:
			add("%d %s", v, many)
		}
	}
	if tasks, exact := pending.CountTasks(j); j.IsArrayBase() && tasks > 0 {
		if exact {
			add("%d tasks, each of", tasks)
		} else {
			add("at least %d tasks, each of", tasks)
		}
	}
	number(j.NodeCount, "node", "nodes")
	number(j.CPUs, "CPU", "CPUs")
	if v, ok := j.MemoryPerNode.Value(); ok {
		add("%d MiB on each node", v)
	}
	if v, ok := j.MemoryPerCPU.Value(); ok {
		add("%d MiB for each CPU", v)
	}
	for _, text := range []struct{ format, value string }{
		{"%s on each node", j.TRESPerNode()}, {"features %s", j.Features()}, {"licences %s", j.Licenses()},
		{"nodes %s", j.RequiredNodes()}, {"none of the nodes %s", j.ExcludedNodes()}, {"reservation %s", j.Reservation()},
	} {
		if text.value != "" {
			add(text.format, text.value)
		}
	}
	if strings.Contains(j.Shared(), "none") {
		add("exclusive nodes")
	}
	return strings.Replace(strings.Join(out, ", "), "each of, ", "each of ", 1)
}

// describeWait describes what a job of a class waits for.
func describeWait(class pending.Class, now slurm.Time, j *slurm.Job) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if class == pending.ClassDependency {
		add("it waits for %s", j.Dependency)
	}
	if class == pending.ClassTime {
		add("it may start at %s or later", formatTime(j.EligibleTime))
	}
	if class == pending.ClassLicense && j.Licenses() != "" {
		add("it needs licences %s", j.Licenses())
	}
	if class == pending.ClassArrayThrottle {
		add("at most %d tasks of its array run at once", j.ArrayMaxRunning())
	}
	if class == pending.ClassHeld {
		add("scontrol release %d releases it", j.ID)
	}
	if j.StartTime.IsSet() && j.StartTime > now {
		add("slurmctld expects it to start at %s", formatTime(j.StartTime))
	}
	if j.ScheduledNodes() != "" {
		add("slurmctld plans it for %s", j.ScheduledNodes())
	}
	if j.LastSchedEval.IsSet() && class == pending.ClassCapacity {
		add("the scheduler last evaluated it at %s", formatTime(j.LastSchedEval))
	}
	return out
}

// describeRun describes where a job that is not pending runs or ran, and how it ended.
func describeRun(j *slurm.Job) []string {
	var out []string
	finished := j.State.Base.Finished()
	switch {
	case j.Nodes != "" && finished:
		out = append(out, "it ran on "+j.Nodes)
	case j.Nodes != "":
		out = append(out, "it runs on "+j.Nodes)
	}
	if j.StartTime.IsSet() {
		out = append(out, "it started at "+formatTime(j.StartTime))
	}
	ended := j.EndTime.IsSet() && j.EndTime != slurm.Never
	switch {
	case ended && finished:
		out = append(out, "it ended at "+formatTime(j.EndTime)+" "+describeExit(j))
	case finished:
		out = append(out, "it ended "+describeExit(j))
	case ended:
		out = append(out, "its time limit ends at "+formatTime(j.EndTime))
	}
	return out
}

// describeExit describes how a job ended.
func describeExit(j *slurm.Job) string {
	if signal := j.ExitSignal(); signal != 0 {
		return fmt.Sprintf("by signal %d", signal)
	}
	if code, isKnown := j.ExitCode().Value(); isKnown {
		return fmt.Sprintf("with exit code %d", code)
	}
	return "with an unknown exit code"
}

func formatTime(t slurm.Time) string { return t.Time().UTC().Format(time.RFC3339) }

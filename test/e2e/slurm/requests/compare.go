//go:build e2e

package requests

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/constraint"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// tally counts the comparisons of one kind.
type tally map[string]int

// compareRecords compares the records of jobs with what Slurm's commands print. Each kind of request must occur.
func compareRecords(t *testing.T, jobs []*submittedJob, records []*slurm.Job) {
	byID := map[uint32]*slurm.Job{}
	for _, r := range records {
		byID[r.ID] = r
	}
	compared := tally{}
	for _, j := range jobs {
		r := byID[j.id]
		if r == nil {
			t.Errorf("job %d is missing", j.id)
			continue
		}
		for _, compare := range []func(*submittedJob, *slurm.Job) (kind, fault string){
			compareGPUs, compareArray, compareRequired, compareExcluded, compareConstraint, compareTimeLimit, compareMemory,
		} {
			kind, fault := compare(j, r)
			if kind != "" {
				compared[kind]++
			}
			if fault != "" {
				t.Errorf("sbatch %s: %s", strings.Join(j.args, " "), fault)
			}
		}
	}
	t.Logf("compared: %v", compared)
	for _, kind := range []string{"GPUs", "tasks", "required nodes", "excluded nodes", "constraint", "time limit", "memory"} {
		if compared[kind] < len(jobs)/20 {
			t.Errorf("%s: only %d comparisons of %d jobs", kind, compared[kind], len(jobs))
		}
	}
}

var requestedGRES = regexp.MustCompile(`,?gres/[^,]*`)

// compareGPUs compares the GPUs that follow from the job's requests with slurmctld's requested TRES. The compared
// record lacks these TRES, as with Slurm's default AccountingStorageTRES.
func compareGPUs(j *submittedJob, r *slurm.Job) (kind, fault string) {
	want, err := slurm.ParseTRES(j.shown["ReqTRES"])
	if err != nil {
		return "GPUs", err.Error()
	}
	bare := *r
	bare.TRESRequested = requestedGRES.ReplaceAllString(r.TRESRequested, "")
	text, known := bare.RequestedTRES()
	if !known {
		return "unknown GPUs", ""
	}
	got, err := slurm.ParseTRES(text)
	if err != nil {
		return "GPUs", err.Error()
	}
	if got.GPUs() != want.GPUs() {
		return "GPUs", fmt.Sprintf("%d GPUs, but scontrol shows %s", got.GPUs(), j.shown["ReqTRES"])
	}
	if want.GPUs() == 0 {
		return "no GPUs", ""
	}
	return "GPUs", ""
}

func compareArray(j *submittedJob, r *slurm.Job) (kind, fault string) {
	if j.array == "" {
		return "", ""
	}
	tasks, exact := pending.CountTasks(r)
	if exact && tasks != uint64(j.tasks) || tasks > uint64(j.tasks) {
		return "tasks", fmt.Sprintf("%d tasks (exact: %v), but scontrol shows %d", tasks, exact, j.tasks)
	}
	want := j.shown["ArrayTaskThrottle"]
	if got := pending.ArrayThrottle(r); fmt.Sprint(got) != want && (got != 0 || want != "") {
		return "tasks", fmt.Sprintf("%d tasks at once, but scontrol shows %q", got, want)
	}
	if !exact {
		return "inexact tasks", ""
	}
	return "tasks", ""
}

func compareRequired(j *submittedJob, r *slurm.Job) (kind, fault string) {
	return compareNodes("required nodes", j.requiredNodes, r.RequiredNodes())
}

func compareExcluded(j *submittedJob, r *slurm.Job) (kind, fault string) {
	return compareNodes("excluded nodes", j.excludedNodes, r.ExcludedNodes())
}

func compareNodes(what string, want []string, list string) (kind, fault string) {
	got, err := hostlist.Expand(list)
	slices.Sort(got)
	switch {
	case err != nil:
		return what, err.Error()
	case !slices.Equal(slices.Compact(got), want):
		return what, fmt.Sprintf("the %s are %v, but scontrol shows %v", what, got, want)
	case len(want) == 0:
		return "", ""
	}
	return what, ""
}

func compareConstraint(j *submittedJob, r *slurm.Job) (kind, fault string) {
	c, ok := constraint.Parse(r.Features())
	switch {
	case !ok:
		return "constraint", fmt.Sprintf("the constraint %q is malformed, but slurmctld accepted it", r.Features())
	case j.constraint == "" || !j.constrainsSingleNodes:
		return "", ""
	}
	var got []string
	features := nodeFeatures()
	for _, node := range slices.Sorted(maps.Keys(features)) {
		if c.IsMetBy(constraint.FeatureList(features[node])) {
			got = append(got, node)
		}
	}
	if !slices.Equal(got, j.meetingNodes) {
		return "constraint", fmt.Sprintf("%v meet the constraint, but sbatch accepts it on %v", got, j.meetingNodes)
	}
	return "constraint", ""
}

func compareTimeLimit(j *submittedJob, r *slurm.Job) (kind, fault string) {
	shown := j.shown["TimeLimit"]
	got := "UNLIMITED"
	if minutes, set := r.TimeLimit.Value(); set {
		got = fmt.Sprintf("%02d:%02d:00", minutes/60%24, minutes%60)
		if days := minutes / 60 / 24; days > 0 {
			got = fmt.Sprintf("%d-%s", days, got)
		}
	}
	if got != shown {
		return "time limit", fmt.Sprintf("the time limit is %s, but scontrol shows %s", got, shown)
	}
	return "time limit", ""
}

// compareMemory compares the memory per node or CPU. scontrol rounds values of GiB to two digits.
func compareMemory(j *submittedJob, r *slurm.Job) (kind, fault string) {
	for field, number := range map[string]slurm.Number{"MinMemoryNode": r.MemoryPerNode, "MinMemoryCPU": r.MemoryPerCPU} {
		shown, there := j.shown[field]
		got, set := number.Value()
		if there != set && (there && shown != "0" || set && got != 0) {
			return "memory", fmt.Sprintf("%s is %d (set: %v), but scontrol shows %q", field, got, set, shown)
		}
		if !there {
			continue
		}
		words := []string{fmt.Sprint(got), fmt.Sprintf("%dM", got), fmt.Sprintf("%dG", got/1024), fmt.Sprintf("%.2fG", float64(got)/1024)}
		if !slices.Contains(words, shown) {
			return "memory", fmt.Sprintf("%s is %d MiB, but scontrol shows %s", field, got, shown)
		}
	}
	return "memory", ""
}

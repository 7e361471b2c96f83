package queue

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobID matches an ID as squeue prints it: 7, 7_3, 7_[4-9%2] and 8+1.
var jobID = regexp.MustCompile(`^\d+(_(\d+|\[[^\[\]]+\])|\+\d+)?$`)

// ParseIDs splits lists of job IDs at their commas, except in brackets. What squeue would not print as an ID is an error.
func ParseIDs(lists []string) ([]string, error) {
	var out []string
	for _, list := range lists {
		depth := 0
		words := strings.FieldsFunc(list, func(r rune) bool {
			depth += strings.Count(string(r), "[") - strings.Count(string(r), "]")
			return r == ',' && depth == 0
		})
		if len(words) == 0 {
			words = []string{list}
		}
		for _, word := range words {
			if !jobID.MatchString(word) {
				return nil, fmt.Errorf("%q is not a job ID such as 7, 7_3, 7_[4-9] or 8+1", word)
			}
		}
		out = append(out, words...)
	}
	return out, nil
}

// isInRange reports whether a job is a split task of an ID with a range of tasks, such as 7_[4-9].
func isInRange(j *slurm.Job, id string) bool {
	array, tasks, ok := strings.Cut(strings.TrimSuffix(id, "]"), "_[")
	task, split := j.ArrayTaskID.Value()
	return ok && split && array == slurm.Num(uint64(j.ArrayJobID)).String() && slurm.HasArrayTask(tasks, task)
}

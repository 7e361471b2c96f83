package slurmtest

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// runTimeAndResult returns how long a job runs and how it ends.
func runTimeAndResult(s JobSpec) (slurm.Time, result) {
	res := result{exit: exitCode{code: s.ExitCode}, forever: s.Forever}
	if n, ok := lastNumber(`(?m)\bexit +(\d+)`, s.Script); ok && s.ExitCode == 0 {
		res.exit.code = uint32(n)
	}
	if s.RunFor > 0 {
		return max(1, slurm.Time(s.RunFor.Seconds())), res
	}
	if n, ok := sumNumbers(`(?m)\bsleep +(\d+)`, s.Script); ok {
		return n, res
	}
	n, _ := lastNumber(`\bduration=(\d+)`, s.Comment)
	return n, res
}

func findNumbers(pattern, text string) (out []slurm.Time) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil {
			out = append(out, slurm.Time(n))
		}
	}
	return out
}

func sumNumbers(pattern, text string) (total slurm.Time, ok bool) {
	list := findNumbers(pattern, text)
	for _, n := range list {
		total += n
	}
	return total, len(list) > 0
}

func lastNumber(pattern, text string) (slurm.Time, bool) {
	list := findNumbers(pattern, text)
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1], true
}

// formatShape returns a key that two jobs share only if the same nodes fit both.
func formatShape(s JobSpec, req *requirements) string {
	return fmt.Sprint(s.Partition, "/", req.nodes, "/", req.cpus, "/", req.memoryPerNode, "/", req.memoryPerCPU, "/",
		req.gpuType, req.gpusPerNode, "/", req.gpus, "/", req.features, "/", s.RequiredNodes, "/", s.ExcludedNodes, "/",
		req.exclusive, "/", s.Reservation)
}

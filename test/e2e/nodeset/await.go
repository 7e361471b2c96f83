package nodeset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// Await polls until the condition is true, and returns how long that took. After limit it returns
// an error with the last description.
func (s *Env) Await(ctx context.Context, what string, limit time.Duration,
	isTrue func(context.Context) (bool, string)) (time.Duration, error) {
	begin := time.Now()
	err := process.Retry(ctx, limit, func(ctx context.Context) error {
		ok, text := isTrue(ctx)
		if ok {
			return nil
		}
		return errors.New(text)
	})
	took := time.Since(begin)
	if err != nil {
		return took, fmt.Errorf("waiting for %s: %w", what, err)
	}
	s.Logf("%-40s %6.1f s", what, took.Seconds())
	return took, nil
}

// Pods returns the names of the NodeSet's workers, including terminating ones.
func (s *Env) Pods(ctx context.Context, nodeSet string) ([]string, error) {
	out, err := s.kubectl(ctx, "get", "pods", "--selector", "app.kubernetes.io/name=slurmd,app.kubernetes.io/instance="+
		nodeSet,
		"--output", "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}")
	return strings.Fields(out), err
}

// Jobs returns the state of each job of a name, with one entry per task of an array.
func (s *Env) Jobs(ctx context.Context, name string) (map[string]string, error) {
	out, err := s.Slurm(ctx, "squeue", "--all", "--array", "--noheader", "--states=all", "--name="+name,
		"--format=%i %T")
	jobs := map[string]string{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) >= 2 {
			jobs[f[0]] = f[1]
		}
	}
	return jobs, err
}

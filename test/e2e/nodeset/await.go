package nodeset

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// pollInterval is the pause between two attempts.
const pollInterval = 200 * time.Millisecond

// Await polls until the condition is true, and returns how long that took. After limit it returns
// an error with the last description.
func (s *Env) Await(ctx context.Context, what string, limit time.Duration,
	isTrue func(context.Context) (bool, string)) (time.Duration, error) {
	begin, last := time.Now(), ""
	for {
		ok, text := isTrue(ctx)
		last = text
		took := time.Since(begin)
		switch {
		case ok:
			s.Logf("%-40s %6.1f s", what, took.Seconds())
			return took, nil
		case took > limit || ctx.Err() != nil:
			return took, fmt.Errorf("waiting for %s: not after %v: %s", what, limit, last)
		}
		time.Sleep(pollInterval)
	}
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

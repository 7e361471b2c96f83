//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// streamScript submits a job and lists the queue every two seconds until the test creates a file. It prints the jobs, and each call that
// failed.
const streamScript = `cd /; until test -e /tmp/stream-ended; do
	begin=$(date +%s); if id=$(sbatch --parsable -o /dev/null --wrap true 2>/tmp/stream-error); then echo "job $id"
	else echo "failed: sbatch after $(($(date +%s) - begin)) s: $(tr '\n' ' ' </tmp/stream-error)"; fi
	begin=$(date +%s); squeue -h >/dev/null 2>/tmp/stream-error ||
		echo "failed: squeue after $(($(date +%s) - begin)) s: $(tr '\n' ' ' </tmp/stream-error)"
	sleep 2
done`

// startStream lets a user submit jobs and list the queue in a login pod. The returned function stops this, and checks that every accepted
// job ran once and is recorded.
func (e *env) startStream() (end func()) {
	pod := e.loginPod()
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := e.ssh(context.WithoutCancel(e.Context()), streamScript)
		done <- result{out, err}
	}()
	return func() {
		e.Helper()
		e.kubectl("exec", pod, "-c", "login", "--", "touch", "/tmp/stream-ended")
		r := <-done
		var jobs, failures []string
		for line := range strings.Lines(r.out) {
			if id, isJob := strings.CutPrefix(strings.TrimSpace(line), "job "); isJob {
				jobs = append(jobs, id)
			} else if strings.HasPrefix(line, "failed: ") {
				failures = append(failures, strings.TrimSpace(line))
			}
		}
		if r.err != nil || len(jobs) < 10 {
			e.Fatalf("%d jobs were submitted in a login pod: %v\n%s", len(jobs), r.err, r.out)
		}
		e.awaitRecords(jobs)
		e.Logf("a user submitted %d jobs meanwhile; each ran once and is recorded; %d calls failed%s", len(jobs),
			len(failures), strings.Join(append([]string{""}, failures...), "\n\t"))
	}
}

// awaitRecords waits until each job has one record, and all have completed. A job that was started again has two records.
func (e *env) awaitRecords(jobs []string) {
	e.Helper()
	unfinished := ""
	defer func() { // also if it fails
		if unfinished != "" {
			e.Log(e.describeJob(unfinished))
		}
	}()
	process.Await(e.T, func() error {
		unfinished = ""
		out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--", "sacct",
			"-n", "-P", "-X", "-D", "-j", strings.Join(jobs, ","), "-o", "jobid,state")
		if err != nil {
			return err
		}
		var completed []string
		for line := range strings.Lines(out) {
			id, state, _ := strings.Cut(strings.TrimSpace(line), "|")
			if state != "COMPLETED" {
				unfinished = id
				return fmt.Errorf("job %s is %s", id, state)
			}
			completed = append(completed, id)
		}
		slices.Sort(completed)
		if want := slices.Sorted(slices.Values(jobs)); !slices.Equal(completed, want) {
			return fmt.Errorf("there are records of jobs %v, not of %v", completed, want)
		}
		return nil
	})
}

// describeJob returns slurmctld's record of a job and its log lines about it.
func (e *env) describeJob(id string) string {
	out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--", "scontrol",
		"--oneliner", "show", "job", id)
	if err != nil {
		return err.Error()
	}
	log, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "logs", e.ctld, "-c", "slurmctld")
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "JobId="+id+" ") {
			out += "\n" + strings.TrimSpace(line)
		}
	}
	return out
}

//go:build e2e

package plugin

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/tables"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// submitJobs fills the queue with jobs of several shapes.
func (r *env) submitJobs(t *testing.T) {
	t.Helper()
	job := func(c *slurmtest.Cluster, user string, request slurm.JobRequest) {
		request.TimeLimit = slurm.Num(600)
		if _, err := c.Submit(slurmtest.JobSpec{User: user, Forever: true, JobRequest: request}); err != nil {
			t.Fatal(err)
		}
	}
	job(r.alpha, "alice", slurm.JobRequest{Name: "sweep", Partition: "gpu", Array: "1-5", Exclusive: true,
		TRESPerNode: "gres/gpu:4"})
	job(r.alpha, "bob", slurm.JobRequest{Name: "large", Partition: "gpu", Nodes: 6})
	job(r.alpha, "bob", slurm.JobRequest{Name: "later", Partition: "gpu", Hold: true})
	job(r.alpha, "bob", slurm.JobRequest{Name: "after", Partition: "gpu", Dependency: "afterok:1"})
	job(r.alpha, "alice", slurm.JobRequest{Name: "prepare", Partition: "cpu", Tasks: 4, MemoryPerNode: slurm.Num(2000)})
	job(r.beta, "alice", slurm.JobRequest{Name: "other", Partition: "cpu", Exclusive: true})
}

// replaceVarying replaces what differs between runs: ages, times and addresses. It keeps the
// columns aligned.
func replaceVarying(s string) string {
	// An HPA reports the condition ScaledToZero only after it has scaled.
	s = regexp.MustCompile(`(?m)^ +ScaledToZero .*\n`).ReplaceAllString(s, "")
	return tables.Realign(s, func(words string) string {
		for _, rule := range []struct{ pattern, by string }{
			{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "TIME"},
			{`\b\d+m\d+s\b|\b\d+[smhd]\b`, "AGE"},
			{`http://127\.0\.0\.1:\d+`, "http://RESTD"},
			{`"seconds": \d+`, `"seconds": N`}, {`seconds: \d+`, `seconds: N`},
			{`(oldestPendingSeconds"?): \d+`, `$1: N`},
		} {
			words = regexp.MustCompile(rule.pattern).ReplaceAllString(words, rule.by)
		}
		return words
	})
}

// compareGolden compares the output of a command with a golden file in testdata.
func (r *env) compareGolden(t *testing.T, name, line string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	see := func() string {
		a := r.runShell(t, line)
		out := "$ " + line + "\n" + a.out
		if a.err != "" {
			out += "--- on standard error\n" + a.err
		}
		if a.status != 0 {
			out += fmt.Sprintf("--- exit status %d\n", a.status)
		}
		return replaceVarying(out)
	}
	if *update {
		last := see()
		for now := ""; now != last; now, last = last, see() {
			time.Sleep(2 * time.Second) // until the output settles
		}
		if err := os.WriteFile(file, []byte(last), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The output depends on polls, so the first attempt may be too early.
	diff := ""
	for range 10 {
		if diff = cmp.Diff(string(want), see()); diff == "" {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("%s:\n%s", line, diff)
}

// testTables runs every command except top in every output format.
func (r *env) testTables(t *testing.T) {
	for name, line := range map[string]string{
		"partitions":       "kubectl slurm top partitions -n hpc",
		"partitions-all":   "kubectl slurm top partitions -A -o wide",
		"partition-name":   "kubectl slurm top partitions -n hpc -o name",
		"nodes":            "kubectl slurm top nodes -n hpc",
		"nodes-selected":   "kubectl slurm top nodes -n hpc -l partition=gpu --sort-by=node --no-headers",
		"nodes-wide":       "kubectl slurm top nodes -n hpc -o wide cpu-1",
		"jobs":             "kubectl slurm top jobs -n hpc",
		"jobs-all":         "kubectl slurm top jobs -A --sort-by cpus",
		"jobs-selected":    "kubectl slurm top jobs -n hpc -l user=bob -o name",
		"jobs-cluster":     "kubectl slurm top jobs -A --cluster beta -o wide",
		"jobs-field":       "kubectl slurm top jobs -n hpc --field-selector spec.name=prepare -o yaml",
		"nodesets":         "kubectl slurm top nodesets -n hpc -o wide",
		"nodesets-path":    "kubectl slurm top nodesets -n hpc -o jsonpath='{range .items[*]}{.name} {end}'",
		"nodesets-json":    "kubectl slurm top nodesets -n hpc -l kind=fast -o json",
		"nodesets-none":    "kubectl slurm top nodesets -n hpc -l kind=slow",
		"users":            "kubectl slurm top users -n hpc -o wide",
		"users-yaml":       "kubectl slurm top users -A -o yaml",
		"no-such-column":   "kubectl slurm top users -A --sort-by height",
		"no-such-format":   "kubectl slurm top users -A -o xml",
		"explain-nodeset":  "kubectl slurm explain nodeset gpu -n hpc",
		"explain-running":  "kubectl slurm explain job 1_1 -n hpc",
		"explain-waiting":  "kubectl slurm explain job 1_5 -n hpc",
		"explain-large":    "kubectl slurm explain job 2 -n hpc",
		"explain-held":     "kubectl slurm explain job 3 -n hpc",
		"explain-after":    "kubectl slurm explain job 4 -n hpc",
		"explain-json":     "kubectl slurm explain job 4 -n hpc -o json",
		"explain-nobody":   "kubectl slurm explain nodeset nobody -n hpc",
		"explain-no-job":   "kubectl slurm explain job 4711 -n hpc",
		"explain-anywhere": "kubectl slurm explain job 5 -A",
		"explain-several":  "kubectl slurm explain job 1 -A",
		"explain-which":    "kubectl slurm explain job",
		"no-such-nodeset":  "kubectl slurm top nodesets gpu fpga -n hpc",
		"jobs-none":        "kubectl slurm top jobs -A -l user=carol",
		"private-jobs":     "kubectl slurm top jobs -n lab --as=bob",
		"private-users":    "kubectl slurm top users -n lab --as=alice",
		"private-job":      "kubectl slurm explain job 1 -n lab --as=bob",
		"private-kubectl":  "kubectl get slurmjobs -n lab --as=bob",
		"complete-nodeset": "kubectl-slurm __complete explain nodeset -n hpc ''",
		"complete-cluster": "kubectl-slurm __complete top jobs -A --cluster ''",
	} {
		t.Run(name, func(t *testing.T) { r.compareGolden(t, name, line) })
	}
}

// testWatch checks that --watch prints the table repeatedly until it is interrupted.
func (r *env) testWatch(t *testing.T) {
	a := r.runShell(t, `set -m; exec 3>&2 2>/dev/null # what bash says of jobs
out=$(mktemp)
trap 'rm "$out"' EXIT
kubectl-slurm top jobs -n hpc --watch --interval=1s --no-headers -o name > "$out" 2>&3 &
until [[ $(grep -c 'alpha\.3$' "$out") -ge 3 ]]; do kill -0 %1 || break; sleep 0.1; done
kill -INT %1; wait %1; status=$?
cat "$out"; exit "$status"`)
	if n := strings.Count(a.out, "slurmjob.view.slinky.slurm.net/alpha.3\n"); n < 3 || a.err != "" || a.status != 0 {
		t.Errorf("exit status %d; job 3 is shown %d times: %s%s", a.status, n, a.out, a.err)
	}
}

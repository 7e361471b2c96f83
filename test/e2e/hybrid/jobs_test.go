//go:build e2e

package hybrid

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
)

// from is a place from which users run jobs.
type from struct {
	name string
	run  runner
}

// nameTimeout is how long Slurm waits for a name that does not resolve. A job that takes longer has lost a connection.
const nameTimeout = 10 * time.Second

// checkSrun runs a step on all nodes from each place: each task gets srun's input, and its output comes back.
func (e *env) checkSrun(nodes []string, places ...from) {
	e.Helper()
	want := []string{}
	for _, node := range slices.Sorted(slices.Values(nodes)) {
		want = append(want, node+" hello")
	}
	for _, place := range places {
		begin := time.Now()
		out, err := place.run(e.Context(), "sh", "-c", fmt.Sprintf(
			`echo hello | timeout 60 srun -t1 -D / -N%d -w %s sh -c 'read word; echo $SLURMD_NODENAME $word'`, len(nodes),
			strings.Join(nodes, ",")))
		took := time.Since(begin)
		if got := slices.Sorted(strings.FieldsFuncSeq(out, isNewline)); err != nil || !slices.Equal(got, want) {
			e.Errorf("srun from %s prints %q, %v", place.name, out, err)
			continue
		}
		e.Logf("srun from %s on %s: %.2f s", place.name, strings.Join(nodes, ","), took.Seconds())
		if took > nameTimeout {
			e.Errorf("srun from %s waits for something", place.name)
		}
	}
}

func isNewline(r rune) bool { return r == '\n' }

// checkBatch runs a batch job from a place on a node, and returns its id.
func (e *env) checkBatch(place from, node string) string {
	e.Helper()
	begin := time.Now()
	job, err := place.run(e.Context(), "sbatch", "--parsable", "-t1", "-D", "/", "-o", "/dev/null", "-w", node, "--wrap",
		"srun hostname")
	must(e.T, err)
	e.await(e.ctld, "JobState=COMPLETED", "scontrol", "show", "job", job)
	took := time.Since(begin)
	e.Logf("sbatch from %s on %s: %.2f s", place.name, node, took.Seconds())
	if took > nameTimeout {
		e.Errorf("the job from %s on %s waits for something", place.name, node)
	}
	return job
}

// checkRecord checks that sacct shows a job in each place.
func (e *env) checkRecord(job string, places ...runner) {
	e.Helper()
	for _, run := range places {
		e.await(run, "COMPLETED", "sacct", "-n", "-X", "-j", job, "-o", "state")
	}
}

// checkRestAPI requests slurmdbd's jobs from the slurmrestd in pods.
func (e *env) checkRestAPI() {
	e.Helper()
	token, err := e.ctld(e.Context(), "scontrol", "token", "lifespan=600")
	must(e.T, err)
	pod := e.inPod("w-0", "slurmd") // which is in the network of Services
	text, err := pod(e.Context(), "bash", "-c", fmt.Sprintf(
		`exec 3<>/dev/tcp/%s/%d; printf 'GET /slurmdb/v0.0.42/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'`+
			`'X-SLURM-USER-TOKEN: %s\r\n\r\n' >&3; timeout 20 cat <&3`,
		names.RestAPIService("slurm"), names.SlurmrestdPort, strings.TrimPrefix(token, "SLURM_JWT=")))
	if err == nil && !strings.Contains(text, `"job_id"`) {
		err = errors.New(text)
	}
	if err != nil {
		e.Errorf("slurmrestd does not show the jobs of slurmdbd: %v", err)
	}
}

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testWorkerSSH logs in to a worker of the NodeSet burst, through a login pod. A user with a job there gets in; the
// session belongs to the job and ends with it. A user without a job is refused.
func (e *env) testWorkerSSH() {
	begin := time.Now()
	out, err := e.ssh(e.Context(), "cd / && sbatch --parsable -o /dev/null -C burst --wrap 'sleep 600'")
	must(e.T, err)
	job := out[strings.LastIndex(out, "\n")+1:]
	e.awaitState(job, "RUNNING")
	process.Await(e.T, func() error { // until SSSD answers and the new pod's name resolves
		_, err := e.kube.Kubectl(e.Context(), e.execInClient(workerSSH("alice", "true")...)...)
		return err
	})
	const output = "/tmp/worker" // in the pod of the client
	ctx, cancel := context.WithTimeout(e.Context(), 3*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := e.kube.Kubectl(ctx, e.execInClient("sh", "-c", strings.Join(workerSSH("alice",
			`'cat /proc/self/cgroup && echo job $SLURM_JOB_ID of $(whoami) on $(hostname) && sleep 600; echo still here'`), " ")+
			" >"+output)...)
		ended <- err
	}()
	var text string
	process.Await(e.T, func() error {
		var err error
		text, err = e.kube.Kubectl(ctx, e.execInClient("cat", output)...)
		if want := "job " + job + " of alice on burst-0"; err == nil && !strings.Contains(text, want) {
			err = fmt.Errorf("the session prints %q, not %q", text, want)
		}
		return err
	})
	if !strings.Contains(text, "/job_"+job+"/step_extern") {
		e.Errorf("the session is in no cgroup of job %s:\n%s", job, text)
	}
	_, err = e.kube.Kubectl(ctx, e.execInClient(workerSSH("bob", "true")...)...)
	if err == nil || !strings.Contains(err.Error(), "you have no active jobs on this node") {
		e.Errorf("without a job, bob gets %v", err)
	}
	e.slurm("scancel", job)
	if err := <-ended; err == nil || ctx.Err() != nil {
		e.Errorf("the session does not end with its job: %v", err)
	}
	if text := e.kubectl(e.execInClient("cat", output)[2:]...); strings.Contains(text, "still here") {
		e.Errorf("only the command ends with the job, and the session goes on: %q", text)
	}
	e.kubectl("get", "secret", names.WorkerHostKeys("burst"))
	e.Logf("ssh to a worker took %.1f s", time.Since(begin).Seconds())
}

// execInClient returns the arguments of kubectl that run a command in the client.
func (e *env) execInClient(command ...string) []string {
	return append([]string{"--namespace", e.namespace, "exec", "client", "--"}, command...)
}

// workerSSH returns the command that runs a command as a user in worker burst-0, through a login pod.
func workerSSH(user, command string) []string {
	return slices.Concat([]string{"ssh"}, sshOptions[:len(sshOptions)-1], []string{user, "-J", "alice@login", "burst-0",
		command})
}

package enter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func newPod(name, app, hostname string, phase corev1.PodPhase) corev1.Pod {
	pod := corev1.Pod{}
	pod.Name, pod.Status.Phase = name, phase
	pod.Labels = map[string]string{v1beta1.LabelAppName: app, v1beta1.LabelCluster: "main", v1beta1.LabelPodHostname: hostname}
	pod.Spec.Containers = []corev1.Container{{Name: "first"}, {Name: app}}
	return pod
}

func newJob(states ...string) *slurm.Job {
	j := &slurm.Job{ID: 7, State: slurm.ParseJobState(states...), Nodes: "gpu-[0-1]", BatchHost: "gpu-0", Reason: "Resources"}
	j.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID = "alice", 3001 })
	return j
}

func testPods() []corev1.Pod {
	return []corev1.Pod{
		newPod("worker-0", v1beta1.AppSlurmd, "gpu-0", corev1.PodRunning),
		newPod("worker-1", v1beta1.AppSlurmd, "gpu-1", corev1.PodPending),
		newPod("login-b", v1beta1.AppLogin, "", corev1.PodRunning), newPod("login-a", v1beta1.AppLogin, "", corev1.PodRunning),
	}
}

func TestShell(t *testing.T) {
	for _, tc := range []struct {
		name, node string
		job        *slurm.Job
		pods       []corev1.Pod
		want       string
	}{
		{"a login pod for the first node", "", newJob("RUNNING"), testPods(), "login-a login gpu-0"},
		{"the worker pod of the first node without a login pod", "", newJob("RUNNING"), testPods()[:1], "worker-0 slurmd gpu-0"},
		{"a login pod for a node whose pod does not run", "gpu-1", newJob("RUNNING"), testPods(), "login-a login gpu-1"},
		{"a node of another job", "gpu-2", newJob("RUNNING"), testPods(), "job 7 does not run on node gpu-2, but on gpu-[0-1]"},
		{"a pending job", "", newJob("PENDING"), testPods(), "job 7 has no node yet: it waits (Resources)"},
		{"a finished job", "", newJob("FAILED"), testPods(), "job 7 does not run: it is FAILED"},
		{"no pods", "", newJob("RUNNING"), nil, "node gpu-0 has no running worker pod, and cluster main has no running login pod"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			target, err := Shell(tc.job, "main", tc.node, tc.pods, true, []string{"bash", "-l"})
			got := strings.Join([]string{target.Pod, target.Container}, " ")
			if err != nil {
				got = err.Error()
			} else {
				got += " " + target.Command[6]
				if tail := strings.Join(target.Command[4:6], " "); tail != "7 3001" {
					t.Errorf("the job and the user are %s", tail)
				}
				if end := strings.Join(target.Command[7:], " "); end != "--pty -- bash -l" {
					t.Errorf("the command is %s", end)
				}
			}
			if got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAPendingJobHasNoLogs(t *testing.T) {
	if _, err := Logs(newJob("PENDING"), "main", testPods(), Output{}); err == nil || !strings.Contains(err.Error(), "has no output yet") {
		t.Errorf("the error is %v", err)
	}
}

// runScript runs a command with stand-ins for Slurm's commands and setpriv, which print what they are asked. It returns the output.
func runScript(t *testing.T, command []string, record string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"scontrol": "cat <<'RECORD'\n" + record + "\nRECORD\n",
		// The user 3001 has no name, and somebody has the name 3003.
		"id":      `case "$1 $2" in "-u 3001") echo 3001 ;; "-g 3001") echo 3002 ;; "-u 3003") echo 5 ;; "-g 3003") echo 5 ;; *) exit 1 ;; esac`,
		"squeue":  `case "$*" in *--jobs=7*%G) echo 4002 ;; esac`,
		"setpriv": "echo \"$1 $2 $3\"; shift 4; echo \"$*\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func TestTheScriptsRunAsTheUserOfTheJob(t *testing.T) {
	const record = "   StdErr=/home/alice/e.log\n   StdIn=/dev/null\n   StdOut=/home/alice/a b.out"
	const user = "--reuid=3001 --regid=3002 --init-groups\n"
	logs := func(o Output) []string {
		target, err := Logs(newJob("COMPLETED"), "main", testPods(), o)
		if err != nil {
			t.Fatal(err)
		}
		return target.Command
	}
	shell, err := Shell(newJob("RUNNING"), "main", "", testPods(), false, []string{"nvidia-smi", "-q x"})
	if err != nil {
		t.Fatal(err)
	}
	stranger := append([]string{}, shell.Command...)
	stranger[5] = "99"
	groupless := append([]string{}, stranger...)
	groupless[4] = "8"
	namesake := append([]string{}, shell.Command...)
	namesake[5] = "3003"
	for _, tc := range []struct {
		name           string
		command        []string
		record, expect string
	}{
		{"all lines", logs(Output{Lines: -1}), record, user + "tail -n +1 -- /home/alice/a b.out\n"},
		{"the last lines of the errors", logs(Output{Lines: 5, Stderr: true, Follow: true}), record,
			user + "tail -n 5 -F -- /home/alice/e.log\n"},
		{"errors in the file of the output", logs(Output{Lines: -1, Stderr: true}), "   StdErr=\n   StdOut=/o", user + "tail -n +1 -- /o\n"},
		{"no file", logs(Output{Lines: -1}), "   Command=(null)", "job 7 has no file of output\n"},
		{"a command within the job", shell.Command, record,
			user + "srun --jobid=7 --overlap --nodelist=gpu-0 --nodes=1 --ntasks=1 -- nvidia-smi -q x\n"},
		{"a user whose number is the name of another one", namesake, record, "this pod has another user named 3003\n"},
		{"a user that the pod does not know", stranger, record,
			"--reuid=99 --regid=4002 --clear-groups\nsrun --jobid=7 --overlap --nodelist=gpu-0 --nodes=1 --ntasks=1 -- nvidia-smi -q x\n"},
		{"a user without a group", groupless, record, "this pod does not know the user 99\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := runScript(t, tc.command, tc.record); got != tc.expect {
				t.Errorf("it prints %q, want %q", got, tc.expect)
			}
		})
	}
}

func TestAJobWithoutAUserIsNotEnteredAsRoot(t *testing.T) {
	unknown, root := newJob("RUNNING"), newJob("RUNNING")
	unknown.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID = "", 0 })
	root.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID = "root", 0 })
	for _, tc := range []struct {
		job   *slurm.Job
		fails bool
	}{{unknown, true}, {root, false}} {
		_, logs := Logs(tc.job, "main", testPods(), Output{})
		_, shell := Shell(tc.job, "main", "", testPods(), false, nil)
		if (logs != nil) != tc.fails || (shell != nil) != tc.fails {
			t.Errorf("the job of %q: %v, %v", tc.job.UserName(), logs, shell)
		}
	}
}

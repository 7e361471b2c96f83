package enter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Target is a container and the command to run in it.
type Target struct {
	Pod, Container string
	Command        []string
}

// Output is which output of a job to show.
type Output struct {
	// Stderr selects the file of errors, if the job has one of its own.
	Stderr bool
	// Follow continues until interrupted. Lines is the number of last lines to show, negative for all.
	Follow bool
	Lines  int
}

// asUser begins the scripts: it defines a function that runs a command as the user. Workers need not know the users of their jobs, since
// slurmd gets them from slurmctld; the command then has only the group of the job (from squeue, since a
// record of scontrol has texts of the user before it). A user who is only named like the ID is refused. The
// arguments of each script begin with the ID of the job and the ID of the user.
const asUser = `job=$1 user=$2
known=$(id -u "$user" 2>/dev/null)
case $known in
"$user") group=$(id -g "$user") groups=--init-groups ;;
'') group=$(squeue --noheader --states=all --jobs="$job" --format=%G | head -n 1) groups=--clear-groups ;;
*) echo "this pod has another user named $user" >&2; exit 1 ;;
esac
[ -n "$group" ] || { echo "this pod does not know the user $user" >&2; exit 1; }
home=$(getent passwd "$user" | cut -d: -f6)
name=$(id -un "$user" 2>/dev/null)
as_user() { exec env HOME="${home:-/}" USER="${name:-$user}" LOGNAME="${name:-$user}" setpriv --reuid="$user" --regid="$group" "$groups" -- "$@"; }
`

// logsScript takes the name of the field of scontrol and the arguments of tail.
const logsScript = asUser + `field=$3
shift 3
record=$(scontrol show job "$job") || exit 1
file=$(printf '%s\n' "$record" | sed -n "s/^ *$field=//p" | head -n 1)
[ -n "$file" ] || file=$(printf '%s\n' "$record" | sed -n 's/^ *StdOut=//p' | head -n 1)
[ -n "$file" ] || { echo "job $job has no file of output" >&2; exit 1; }
as_user tail "$@" -- "$file"`

// shellScript takes the node and the command.
const shellScript = asUser + `node=$3
shift 3
as_user srun --jobid="$job" --overlap --nodelist="$node" --nodes=1 --ntasks=1 "$@"`

// Logs returns where and how to read the output of a job. The pods are those of the namespace.
func Logs(j *slurm.Job, cluster string, pods []corev1.Pod, o Output) (Target, error) {
	if j.State.Base == slurm.JobPending {
		return Target{}, fmt.Errorf("job %s has no output yet: it waits (%s)", records.JobID(j), records.Reason(j))
	}
	if err := checkUser(j); err != nil {
		return Target{}, err
	}
	target, err := chooseTarget(nodeOf(j), cluster, pods, preferWorker)
	if err != nil {
		return target, err
	}
	field := "StdOut"
	if o.Stderr {
		field = "StdErr"
	}
	lines := "+1"
	if o.Lines >= 0 {
		lines = strconv.Itoa(o.Lines)
	}
	target.Command = append(scriptFor(logsScript, j), field, "-n", lines)
	if o.Follow {
		target.Command = append(target.Command, "-F")
	}
	return target, nil
}

// Shell returns where and how to run a command on a node of a running job, within the resources of the job. An empty node stands
// for the first one.
func Shell(j *slurm.Job, cluster, node string, pods []corev1.Pod, terminal bool, argv []string) (Target, error) {
	id := records.JobID(j)
	switch {
	case j.State.Base == slurm.JobPending:
		return Target{}, fmt.Errorf("job %s has no node yet: it waits (%s)", id, records.Reason(j))
	case j.State.Base != slurm.JobRunning || j.State.Has(slurm.JobCompleting):
		return Target{}, fmt.Errorf("job %s does not run: it is %s", id, j.State)
	case node != "" && !records.NodeSet(j.Nodes)[node]:
		return Target{}, fmt.Errorf("job %s does not run on node %s, but on %s", id, node, j.Nodes)
	}
	if err := checkUser(j); err != nil {
		return Target{}, err
	}
	node = cmp.Or(node, nodeOf(j))
	target, err := chooseTarget(node, cluster, pods, preferLogin)
	if err != nil {
		return target, err
	}
	target.Command = append(scriptFor(shellScript, j), node)
	if terminal {
		target.Command = append(target.Command, "--pty")
	}
	target.Command = append(append(target.Command, "--"), argv...)
	return target, nil
}

// checkUser returns an error if the user of a job is unknown: without a number in its record it would be root.
func checkUser(j *slurm.Job) error {
	if j.UserID() == 0 && j.UserName() != "root" {
		return fmt.Errorf("the user of job %s is unknown", records.JobID(j))
	}
	return nil
}

// scriptFor returns the command that runs a script for a job.
func scriptFor(script string, j *slurm.Job) []string {
	return []string{"sh", "-c", script, "sh", strconv.FormatUint(uint64(j.ID), 10), strconv.FormatUint(uint64(j.UserID()), 10)}
}

// nodeOf returns the node that runs or ran the script of a job.
func nodeOf(j *slurm.Job) string {
	if j.BatchHost != "" {
		return j.BatchHost
	}
	if names, err := hostlist.Expand(j.Nodes); err == nil && len(names) > 0 {
		return names[0]
	}
	return ""
}

// preference is which of two pods a command runs in.
type preference int

const (
	// preferWorker is for the files of the node.
	preferWorker preference = iota
	// preferLogin is for srun, which must know the user.
	preferLogin
)

// chooseTarget returns the worker pod of a node or a login pod of the cluster: the preferred one if both run.
func chooseTarget(node, cluster string, pods []corev1.Pod, prefer preference) (Target, error) {
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var worker, login Target
	for i := range sorted {
		pod := &sorted[i]
		if pod.Labels[v1beta1.LabelCluster] != cluster || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		switch app := pod.Labels[v1beta1.LabelAppName]; {
		case app == v1beta1.AppSlurmd && node != "" && cmp.Or(pod.Labels[v1beta1.LabelPodHostname], pod.Name) == node:
			worker = Target{Pod: pod.Name, Container: containerOf(pod, v1beta1.AppSlurmd)}
		case app == v1beta1.AppLogin && login.Pod == "":
			login = Target{Pod: pod.Name, Container: containerOf(pod, v1beta1.AppLogin)}
		}
	}
	switch {
	case worker.Pod != "" && (prefer == preferWorker || login.Pod == ""):
		return worker, nil
	case login.Pod != "":
		return login, nil
	}
	return login, fmt.Errorf("node %s has no running worker pod, and cluster %s has no running login pod", cmp.Or(node, "<none>"), cluster)
}

// containerOf returns the container of a name, or the first one.
func containerOf(pod *corev1.Pod, name string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			return name
		}
	}
	if len(pod.Spec.Containers) == 0 {
		return name
	}
	return pod.Spec.Containers[0].Name
}

//go:build e2e

package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// disturbance is something that happens to the cluster, and must cost no job.
type disturbance struct {
	name string
	// do carries out the disturbance, and returns a function that undoes it some seconds later, or nil. An error ends the disturbance, not the
	// soak: another disturbance may have stopped its target.
	do func(r *run) (undo func() error, err error)
}

// disturbances are drawn in a new order for each seed. Each is done once.
var disturbances = []disturbance{
	{"slurmctld is killed", (*run).killSlurmctld},
	{"the operator is killed", func(r *run) (func() error, error) { return nil, r.kill("slurm-operator", "slurm-operator") }},
	{"the adapter is killed", func(r *run) (func() error, error) {
		return nil, r.kill("slurm-metrics", "slurm-metrics-adapter")
	}},
	{"slurmrestd is killed", func(r *run) (func() error, error) { return nil, r.kill("slurmrestd", "slurmrestd") }},
	{"the operator's pod is deleted by force", deletePods("slurm-operator", "--force", "--grace-period=0")},
	{"the adapter's pod is deleted by force", deletePods("slurm-metrics", "--force", "--grace-period=0")},
	{"slurmrestd's pod is deleted by force", deletePods("slurmrestd", "--force", "--grace-period=0")},
	{"slurmctld's pod is deleted", deletePods("slurmctld")},
	{"all workers are evicted", (*run).evictWorkers},
	{"slurm.conf changes", (*run).changeController},
	{"the template of workers changes", (*run).changeNodeSet},
	{"sshd of the login pods changes", patch("loginset/slurm-login-main", `{"spec":{"extraSshdConfig":"LogLevel VERBOSE"}}`,
		`{"spec":{"extraSshdConfig":null}}`)},
	{"slurmdbd.conf changes", patch("accounting/slurm", `{"spec":{"extraConf":"DebugLevel=verbose"}}`,
		`{"spec":{"extraConf":null}}`)},
	{"slurmrestd has two pods", patch("restapi/slurm", `{"spec":{"replicas":2}}`, `{"spec":{"replicas":1}}`)},
	{"the options of a partition change", patch("nodeset/slurm-worker-cpu",
		`{"spec":{"partition":{"config":"MaxTime=60"}}}`, `{"spec":{"partition":{"config":"MaxTime=UNLIMITED"}}}`)},
	{"a partition is removed", patch("nodeset/slurm-worker-gpu", `{"spec":{"partition":{"enabled":false}}}`,
		`{"spec":{"partition":{"enabled":true}}}`)},
	{"the maximum falls", patch("hpa/slurm-worker-cpu", `{"spec":{"maxReplicas":3}}`, `{"spec":{"maxReplicas":4}}`)},
	{"the maximum rises", patch("hpa/slurm-worker-gpu", `{"spec":{"maxReplicas":4}}`, `{"spec":{"maxReplicas":2}}`)},
	{"an HPA is deleted and comes back", (*run).recreateAutoscaler},
	{"an administrator drains a worker", (*run).drainWorker},
	{"an administrator drains a partition", (*run).drainPartition},
	{"an administrator reboots a worker", (*run).rebootWorker},
	{"an administrator reconfigures", func(r *run) (func() error, error) { return nil, r.scontrol("reconfigure") }},
	{"an administrator holds all jobs that wait", (*run).holdJobs},
}

// scontrol runs scontrol in slurmctld's container.
func (r *run) scontrol(args ...string) error {
	_, err := r.controller(r.Context(), append([]string{"scontrol"}, args...)...)
	return err
}

// deletePods returns a disturbance that deletes the pods of a name.
func deletePods(name string, options ...string) func(*run) (func() error, error) {
	return func(r *run) (func() error, error) {
		_, err := r.tryKubectl(r.Context(), append([]string{"delete", "pods", "--selector=app.kubernetes.io/name=" + name,
			"--wait=false"}, options...)...)
		return nil, err
	}
}

// patch returns a disturbance that patches an object.
func patch(object, change, back string) func(*run) (func() error, error) {
	return func(r *run) (func() error, error) {
		apply := func(text string) error {
			_, err := r.tryKubectl(r.Context(), "patch", object, "--type=merge", "--patch", text)
			return err
		}
		return func() error { return apply(back) }, apply(change)
	}
}

// killSlurmctld kills slurmctld, and records the time, since slurmctld then loses what it accepted right before.
func (r *run) killSlurmctld() (func() error, error) {
	_, err := r.controller(r.Context(), "sh", "-c", "kill -9 $(cat /run/slurmctld/slurmctld.pid)")
	r.addKill(time.Now())
	return nil, err
}

// evictWorkers evicts every worker, as kubectl drain does. The budget must refuse to evict workers with jobs.
func (r *run) evictWorkers() (func() error, error) {
	pods, err := r.tryKubectl(r.Context(), "get", "pods", "--selector=app.kubernetes.io/name=slurmd", "-o",
		"jsonpath={.items[*].metadata.name}")
	if err != nil {
		return nil, err
	}
	for pod := range strings.FieldsSeq(pods) {
		if err := r.evict(pod); err != nil {
			r.note("evicting %s: %v", pod, err)
		}
	}
	return nil, nil
}

// changeController adds a line to slurm.conf, and takes it back.
func (r *run) changeController() (func() error, error) {
	const object = "controllers.slinky.slurm.net/slurm"
	before, err := r.tryKubectl(r.Context(), "get", object, "-o", "jsonpath={.spec.extraConf}")
	if err != nil {
		return nil, err
	}
	set := func(text string) error {
		_, err := r.tryKubectl(r.Context(), "patch", object, "--type=json", "--patch",
			fmt.Sprintf(`[{"op":"replace","path":"/spec/extraConf","value":%q}]`, text))
		return err
	}
	return func() error { return set(before) }, set(before + "\nMailDomain=soak.example.com\n")
}

// changeNodeSet changes the template of workers, so that they are replaced.
func (r *run) changeNodeSet() (func() error, error) {
	_, err := r.tryKubectl(r.Context(), "patch", "nodeset/slurm-worker-cpu", "--type=merge", "--patch", fmt.Sprintf(
		`{"spec":{"template":{"metadata":{"annotations":{"example.com/soak":"%d"}}}}}`, time.Now().Unix()))
	return nil, err
}

// recreateAutoscaler deletes an HPA and applies it again, as an upgrade with Helm or GitOps may.
func (r *run) recreateAutoscaler() (func() error, error) {
	manifest, err := r.tryKubectl(r.Context(), "get", "hpa/slurm-worker-cpu", "-o", "yaml")
	if err != nil {
		return nil, err
	}
	manifest = withoutLines(manifest, "resourceVersion:", "uid:", "creationTimestamp:")
	manifest, _, _ = strings.Cut(manifest, "\nstatus:")
	_, err = r.tryKubectl(r.Context(), "delete", "hpa/slurm-worker-cpu")
	return func() error { return r.kube.Apply(r.Context(), manifest+"\n") }, err
}

// withoutLines returns a text without the lines that begin with one of the words.
func withoutLines(text string, words ...string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		keep := true
		for _, word := range words {
			keep = keep && !strings.HasPrefix(strings.TrimSpace(line), word)
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

// drawNode returns a random node with a worker.
func (r *run) drawNode(dice *rand.Rand) (string, error) {
	out, err := r.controller(r.Context(), "sinfo", "-h", "-N", "-o", "%N")
	nodes := strings.Fields(out)
	if err == nil && len(nodes) == 0 {
		err = errors.New("no worker is there")
	}
	if err != nil {
		return "", err
	}
	return nodes[dice.IntN(len(nodes))], nil
}

// drainWorker drains a worker as an administrator, and resumes it later.
func (r *run) drainWorker() (func() error, error) {
	node, err := r.drawNode(r.dice)
	if err != nil {
		return nil, err
	}
	return func() error { return r.scontrol("update", "nodename="+node, "state=resume") },
		r.scontrol("update", "nodename="+node, "state=drain", "reason=the administrator looks at it")
}

// drainPartition drains a partition. It must still be drained when the administrator opens it again, whatever changed meanwhile.
func (r *run) drainPartition() (func() error, error) {
	failure := r.scontrol("update", "partition=cpu", "state=drain")
	return func() error {
		out, err := r.controller(r.Context(), "scontrol", "show", "partition", "cpu")
		switch {
		case err != nil:
			return err
		case strings.Contains(out, "State=DOWN"):
			return errors.New("the partition is closed while slurmctld starts or is reconfigured")
		case failure == nil && !strings.Contains(out, "State=DRAIN"):
			r.fault("the administrator's DRAIN of partition cpu is gone: %s", out)
		}
		return r.scontrol("update", "partition=cpu", "state=up")
	}, failure
}

// rebootWorker requests a reboot of a worker as soon as it is idle.
func (r *run) rebootWorker() (func() error, error) {
	node, err := r.drawNode(r.dice)
	if err != nil {
		return nil, err
	}
	return nil, r.scontrol("reboot", "ASAP", "nextstate=RESUME", node)
}

// holdJobs holds all pending jobs and releases them later.
func (r *run) holdJobs() (func() error, error) {
	out, err := r.controller(r.Context(), "squeue", "-h", "-t", "PD", "-o", "%A %r")
	if err != nil {
		return nil, err
	}
	var held []string
	for line := range strings.Lines(out) {
		id, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if reason != "JobHeldUser" {
			held = append(held, id)
		}
	}
	if len(held) == 0 {
		return nil, errors.New("no job waits")
	}
	release := func() error {
		var errs []error
		for _, id := range held {
			at := time.Now()
			err := r.scontrol("release", id)
			if err == nil {
				r.noteRelease(id, at)
			}
			errs = append(errs, ignoreFinished(err))
		}
		return errors.Join(errs...)
	}
	return release, r.scontrol("hold", strings.Join(held, ","))
}

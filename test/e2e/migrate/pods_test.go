//go:build e2e

package migrate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// pod is a Deployment's program, which runs as a process because no kubelet runs.
type pod struct {
	namespace, deployment, account string
	// command returns the program and its arguments, given the path of a kubeconfig with the rights of the account and the
	// arguments of the Deployment.
	command func(kubeconfig string, args []string) []string
	// expose, if set, makes the program reachable after its start.
	expose func(t *testing.T)

	args    string // of the Deployment when the process was started
	process *process.Process
}

// syncPods starts the programs of existing Deployments, stops the others, and restarts programs with changed arguments.
func (e *env) syncPods(t *testing.T) {
	t.Helper()
	for _, p := range e.pods {
		args := e.argsOf(t, p)
		if p.process != nil && args != p.args {
			must(t, p.process.Stop())
			p.process = nil
		}
		if args != "" {
			p.start(t, e, args)
		}
		if args != "" && p.expose != nil {
			p.expose(t)
		}
	}
}

// argsOf returns the arguments of the Deployment's first container, one in each line, or "" if the Deployment is missing.
func (e *env) argsOf(t *testing.T, p *pod) string {
	t.Helper()
	return e.kubectl(t, "get", "deployment", p.deployment, "--namespace", p.namespace, "--ignore-not-found",
		"--output=jsonpath={range .spec.template.spec.containers[0].args[*]}{@}{\"\\n\"}{end}")
}

func (p *pod) start(t *testing.T, e *env, args string) {
	t.Helper()
	if p.process != nil {
		return
	}
	kubeconfig := filepath.Join(e.dir, p.deployment+".kubeconfig")
	must(t, e.Kube.WriteKubeconfig(t.Context(), p.namespace, p.account, kubeconfig))
	command := p.command(kubeconfig, strings.Split(args, "\n"))
	p.process = process.Start(t, command[0], command[1:]...)
	p.args = args
}

// addSlurmMetrics adds the adapter of the chart slurm-metrics, which reads Slurm each second.
func (e *env) addSlurmMetrics(t *testing.T) {
	t.Helper()
	program, err := process.Build(t.Context(), e.dir, "slurm-metrics-adapter")
	must(t, err)
	api, metrics := process.FreePort(t), process.FreePort(t)
	e.pods["slurm-metrics"] = &pod{namespace: "slurm-system", deployment: "slurm-metrics", account: "slurm-metrics",
		command: func(kubeconfig string, args []string) []string {
			return append([]string{program}, replaceFlags(args, "--kube.config="+kubeconfig, "--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", api), fmt.Sprintf("--metrics.listen-address=127.0.0.1:%d", metrics),
				"--certificate.namespace=slurm-system", "--slurm.poll-interval=1s", "--metrics-max-age=5s", "--slurm.timeout=3s")...)
		},
		expose: func(t *testing.T) { e.exposeSlurmMetrics(t, api, metrics) },
	}
}

// replaceFlags replaces the flags of a Deployment that must differ for a process on this machine. It removes --view.peers, because the
// adapter has only one replica here.
func replaceFlags(args []string, own ...string) []string {
	return append(slices.DeleteFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == "--view.peers" || slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	}), own...)
}

// localService makes a Service point to this machine. An APIService has the port. helm upgrade reverts the change.
const localService = `{"spec":{"type":"ExternalName","externalName":"localhost","clusterIP":null,"clusterIPs":null,
	"ipFamilies":null,"ipFamilyPolicy":null,"internalTrafficPolicy":null}}`

// exposeSlurmMetrics points the chart's Service and APIServices at the process, and Prometheus if there is a ServiceMonitor.
func (e *env) exposeSlurmMetrics(t *testing.T, api, metrics int) {
	t.Helper()
	e.kubectl(t, "patch", "service", "slurm-metrics", "--namespace", "slurm-system", "--type=merge", "--patch="+localService)
	services := e.kubectl(t, "get", "apiservices", "--output=jsonpath={range .items[?(@.spec.service.namespace==\"slurm-system\")]}{.metadata.name}{\"\\n\"}{end}")
	for name := range strings.FieldsSeq(services) {
		e.kubectl(t, "patch", "apiservice", name, "--type=merge", fmt.Sprintf(`--patch={"spec":{"service":{"port":%d}}}`, api))
		e.awaitAPI(t, name)
	}
	target := ""
	if e.kubectl(t, "get", "servicemonitors", "--namespace", "slurm-system", "--output=name") != "" {
		target = fmt.Sprintf("127.0.0.1:%d", metrics)
	}
	e.prometheus.scrapeAdapter(t, target)
}

// awaitAPI waits until an APIService is available.
func (e *env) awaitAPI(t *testing.T, name string) {
	t.Helper()
	process.AwaitValue(t, "the APIService "+name, "True", func(ctx context.Context) (string, error) {
		return e.Kube.Kubectl(ctx, "get", "apiservice", name,
			`--output=jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	})
}

// buildFolder returns the folder of a program that hack/kube/build has built.
func buildFolder(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", "..", "..", "hack", "kube", "build"), name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

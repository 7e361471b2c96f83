//go:build e2e

package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// nodeRegistry is the registry's address in the network of the node, where containerd needs no TLS.
const nodeRegistry = "127.0.0.1:5000"

// TestStackFromARegistry installs slurm-stack from the registry on a node without any of our images, and runs a job on a worker that the
// HPA creates.
func TestStackFromARegistry(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	r := startRegistry(t)
	kube, err := realkube.Start(t.Context(), realkube.Config{Kubelet: true, Name: "release"})
	must(t, err)
	t.Cleanup(func() { must(t, kube.Close()) })
	r.serveInNode(t, kube.Dir)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := kube.Kubectl(t.Context(), "get", "pods,events", "--all-namespaces")
			t.Log(out)
		}
	})
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := kube.Kubectl(t.Context(), append([]string{"--namespace", "slurm"}, args...)...)
		must(t, err)
		return strings.TrimSpace(out)
	}
	begin := time.Now()
	_, err = kube.Helm(t.Context(), "install", "slurm", "oci://"+r.address+"/slurmtide/charts/slurm-stack", "--plain-http",
		"--version", releaseVersion(t), "--namespace", "slurm", "--create-namespace", "--wait", "--timeout", "8m",
		"--values", "testdata/stack.values.yaml", "--set", "global.imageRegistry="+nodeRegistry)
	must(t, err)
	for _, kind := range []string{"controllers.slinky.slurm.net", "restapis"} {
		kubectl("wait", kind+"/slurm", "--for=condition=Ready", "--timeout=300s")
	}
	t.Logf("helm install, until slurmctld and slurmrestd are Ready: %.1f s", time.Since(begin).Seconds())
	ctld := []string{"exec", "slurm-controller-0", "--container", "slurmctld", "--"}
	job := ""
	process.Await(t, func() error { // Slurm knows the nodes some seconds later
		out, err := kube.Kubectl(t.Context(), append([]string{"--namespace", "slurm"}, append(ctld, "sbatch", "--parsable",
			"--output=/dev/null", "--chdir=/", "--wrap=hostname")...)...)
		job = strings.TrimSpace(out)
		return err
	})
	process.Await(t, func() error {
		if out := kubectl(append(ctld, "scontrol", "show", "job", job)...); !strings.Contains(out, "JobState=COMPLETED") {
			return fmt.Errorf("job %s is not complete: %s", job, out)
		}
		return nil
	})
	t.Logf("until a job from zero has run: %.1f s", time.Since(begin).Seconds())
	images := kubectl("get", "pods", "--output", "jsonpath={.items[*].spec.containers[*].image} {.items[*].spec.initContainers[*].image}")
	for _, image := range strings.Fields(images) {
		if !strings.HasPrefix(image, nodeRegistry+"/slurmtide/") {
			t.Errorf("a pod runs %s, want an image of the registry", image)
		}
	}
	_, err = kube.Helm(t.Context(), "uninstall", "slurm", "--namespace", "slurm", "--wait", "--timeout", "5m")
	must(t, err)
	process.Await(t, func() error { // Helm does not wait until the pods of a Deployment have ended
		if left := kubectl("get", "pods,deployments", "--output", "name"); left != "" {
			return fmt.Errorf("the removal leaves %s", left)
		}
		return nil
	})
}

// serveInNode serves the registry's data in the network of the node of the cluster in a folder.
func (r registry) serveInNode(t *testing.T, cluster string) {
	t.Helper()
	record, err := os.ReadFile(filepath.Join(cluster, "pid", "node"))
	must(t, err)
	pid, _, _ := strings.Cut(string(record), " ")
	process.Start(t, "nsenter", "--target", pid, "--net", "--", r.program, "serve", r.writeConfig(t, nodeRegistry))
}

//go:build e2e

package cluster

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/page"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// withNodeValues is a stand-in for an installation from the internet on real machines.
var withNodeValues = page.StandIn{Text: "slurm charts/slurm-stack", With: "slurm charts/slurm-stack --values hack/images/stack.values.yaml",
	Why: "the images are those of this clone, and the node has cgroup v1"}

// gpuStandIns is all in which the test differs from docs/gpus.md.
func gpuStandIns(t *testing.T) []page.StandIn {
	t.Helper()
	devices, err := filepath.Abs("testdata/gpus.values.yaml")
	must(t, err)
	return []page.StandIn{withNodeValues,
		{Text: "--values docs/examples/gpus/values.yaml", With: "--values docs/examples/gpus/values.yaml --values " + devices,
			Why: "two device files stand in for eight GPUs, and 2 CPUs for 112"},
		{Text: "nvidia-smi", With: "case $SLURM_JOB_GPUS in 0) head -c 1 /dev/full;; 1) head -c 1 /dev/zero;; *) false;; esac",
			Why: "it opens the device that the job has"}}
}

// advertiseGPUs lets a Kubernetes node offer GPUs, as a device plugin does.
func (e *env) advertiseGPUs(node string, count int) {
	e.Helper()
	_, err := e.kube.Kubectl(e.Context(), "patch", "node", node, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"capacity":{"nvidia.com/gpu":"%d"}}}`, count))
	must(e.T, err)
}

// TestGPUPage runs docs/gpus.md on an empty Kubernetes cluster. A NodeSet with GPUs gets one worker for two jobs, the jobs are accounted
// for their GPUs, and the worker is removed. It runs with -long.
func TestGPUPage(t *testing.T) {
	s := startBareStackOn(t, realkube.Config{})
	s.advertiseGPUs("node", 2)
	p := page.Open(t, s.kube, "docs/gpus.md", gpuStandIns(t)...)

	requireLine(t, p.Next(t, "helm upgrade --install"), `^slurm-worker-h100\s+\d\s+0\s`) // no worker
	requireLine(t, p.Next(t, "sbatch"), `^Submitted batch job 1$`)
	out := p.Next(t, "kubectl slurm top jobs")
	for task := range 2 {
		requireLine(t, out, fmt.Sprintf(`^slurm\s+1_%d\s+wrap\s+root\s+h100\s+RUNNING\s+\S+\s+1\s+1\s+200Mi\s+1\s+h100-0\s*$`, task))
	}
	if got := s.kubectl("get", "nodesets", "-o", "jsonpath={.items[*].spec.replicas}"); got != "0 1" {
		t.Errorf("the NodeSets cpu and h100 have %s replicas", got)
	}
	out = p.Next(t, "sacct")
	for task := range 2 {
		requireLine(t, out, fmt.Sprintf(`^1_%d\s+COMPLETED\s+h100-0\s+billing=17,cpu=1,gres/gpu:h100=1,gres/gpu=1,mem=200M,node=1\s*$`, task))
	}
	p.End(t)
}

// requireLine requires that a line of an output matches a pattern.
func requireLine(t *testing.T, out, pattern string) {
	t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
		t.Errorf("no line matches %q:\n%s", pattern, out)
	}
}

//go:build e2e

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// machines are the Kubernetes nodes with cgroup v2.
var machines = []string{"machine-1", "machine-2"}

// TestConfinement runs jobs on two Kubernetes nodes with cgroup v2, each with one worker, with the default values except for the images. A
// job gets only its cores, its memory and its devices. It runs with -long.
func TestConfinement(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			s := startStackOn(t, version, realkube.Config{Machines: len(machines)})
			for _, node := range machines {
				s.advertiseGPUs(node, 2)
			}
			s.runStackWith(s.writeMachineValues(), "install", append(valuesOfRelease(version), "--values", "testdata/machines.values.yaml",
				"--values", filepath.Join("..", "..", "..", "docs", "examples", "gpus", "values.yaml"),
				"--values", "testdata/devices.values.yaml")...)
			s.awaitReady()
			if version == versions[0] { // before, Slurm accepts no job for workers that have never registered
				s.testOneWorkerForEachNode()
			}
			s.testConfinedJobs()
			s.runHelm("uninstall", "slurm", "--wait", "--timeout", "5m")
		})
	}
}

// writeMachineValues writes the values for the node, without the values that the machines keep at their defaults.
func (s stackEnv) writeMachineValues() string {
	s.Helper()
	text, err := os.ReadFile(nodeValues)
	must(s.T, err)
	var values map[string]any
	must(s.T, yaml.Unmarshal(text, &values))
	for _, path := range [][]string{{"slurm", "controller", "extraConfMap"}, {"slurm", "configFiles"},
		{"slurm", "nodesetDefaults", "oversubscribeNode"}} {
		if _, has, err := unstructured.NestedFieldNoCopy(values, path...); err != nil || !has {
			s.Fatalf("%s has no %s: %v", nodeValues, strings.Join(path, "."), err)
		}
		unstructured.RemoveNestedField(values, path...)
	}
	text, err = yaml.Marshal(values)
	must(s.T, err)
	return s.writeFile("machines.yaml", text)
}

// testOneWorkerForEachNode runs a job on two workers, which are on two Kubernetes nodes.
func (s stackEnv) testOneWorkerForEachNode() {
	s.Helper()
	job := s.submit("-N", "2", "--wrap", "srun sleep 60")
	s.awaitState(job, "RUNNING")
	nodes := strings.Fields(s.kubectl("get", "pods", "-l", "app.kubernetes.io/name=slurmd", "-o", "jsonpath={.items[*].spec.nodeName}"))
	slices.Sort(nodes)
	if !slices.Equal(nodes, machines) {
		s.Errorf("the workers are on the nodes %v", nodes)
	}
	s.slurm("scancel", job)
}

// testConfinedJobs runs jobs that try to use resources that they have not requested.
func (s stackEnv) testConfinedJobs() {
	s.Helper()
	const folder = `/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)`
	for _, tc := range []struct {
		name, want string
		args       []string
	}{
		{"a job sees its core", "COMPLETED", []string{"-n", "1", "--wrap", `[ "$(nproc)" = 1 ]`}},
		{"a job sees both cores", "COMPLETED", []string{"-n", "1", "-c", "2", "--wrap", `[ "$(nproc)" = 2 ]`}},
		{"a job stays on its core", "FAILED", []string{"-n", "1", "--wrap", "taskset -c 0,1 true && [ $(taskset -c 0,1 nproc) = 2 ]"}},
		{"a job has its memory", "COMPLETED", []string{"--mem", "300", "--wrap", "head -c 100M /dev/zero | tail >/dev/null"}},
		{"a job has no more memory", "OUT_OF_MEMORY", []string{"--mem", "50", "--wrap", "head -c 300M /dev/zero | tail >/dev/null; " +
			"grep . " + folder + "/../memory.max"}},
		{"a job opens its device", "COMPLETED", []string{"-p", "h100", "--gres=gpu:h100:1", "--wrap", "head -c 1 /dev/full"}},
		{"a job opens no device of others", "FAILED", []string{"-p", "h100", "--gres=gpu:h100:1", "--wrap", "head -c 1 /dev/zero"}},
		{"a job without GPU opens none", "FAILED", []string{"-p", "h100", "--wrap", "head -c 1 /dev/full"}},
	} {
		s.Logf("%s: %s", tc.name, strings.Join(tc.args, " "))
		var job string
		process.Await(s.T, func() (err error) { // Slurm knows the nodes some seconds later
			job, err = s.kube.Kubectl(s.Context(), append([]string{"--namespace", s.namespace, "exec", s.ctld, "-c", "slurmctld", "--",
				"sbatch", "--parsable", "-o", "/dev/null", "-D", "/"}, tc.args...)...)
			return err
		})
		s.awaitState(strings.TrimSpace(job), tc.want)
	}
}

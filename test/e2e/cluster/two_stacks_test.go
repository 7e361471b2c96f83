//go:build e2e

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// lean are values of a stack without the parts that the test does not need.
const lean = "slurm.accounting.enabled=false,slurm.loginsets=null"

// TestTwoStacks runs two stacks in one Kubernetes cluster, and an operator of all namespaces beside them. It removes the second stack in
// every way that fails, and rolls back. It runs with -long.
func TestTwoStacks(t *testing.T) {
	first := startStack(t, versions[0])
	first.runStack("install", "--set", lean)
	second := first.inNamespace("second")
	begin := time.Now()
	if out, err := second.helm("install", "slurm", filepath.Join(charts, "slurm-stack")); err == nil || !strings.Contains(err.Error()+out, "install.metrics=false") {
		t.Errorf("a second adapter: %s, %v", out, err)
	}
	second.runStack("install", "--set", lean, "--set", "install.metrics=false")
	first.runStack("upgrade", "--set", lean, "--set", "slurm-metrics.rbac.secretNamespaces={slurm,second}")
	for _, s := range []stackEnv{first, second} {
		s.kubectl("wait", "controllers.slinky.slurm.net/slurm", "--for=condition=Ready", "--timeout=300s")
	}
	second.testScaleByOtherAdapter()
	t.Logf("the second stack has run a job from zero after %.1f s", time.Since(begin).Seconds())
	second.kubectl("wait", "nodeset/slurm-worker-cpu", "--for=jsonpath={.status.replicas}=0", "--timeout=180s") // its HPA's change
	running := first.startJob(3000)
	first.requireStill(second)
	first.runHelmIn("ops", "install", "slurm-operator", filepath.Join(charts, "slurm-operator"), "--create-namespace",
		"--set", "image.repository=localhost/slurm-operator,image.tag=dev,image.pullPolicy=Never,"+
			"controlPlane.agentImage.repository=localhost/slurm-agent,controlPlane.agentImage.tag=dev,rbac.secretNamespaces={*}")
	process.Await(t, func() error {
		log, err := first.kube.Kubectl(t.Context(), "logs", "--namespace", "ops", "deployment/slurm-operator")
		if err != nil || !strings.Contains(log, "another operator (slurm) manages the namespace") ||
			!strings.Contains(log, "another operator (second) manages the namespace") {
			return fmt.Errorf("the operator of all namespaces does not know the others (%w): %s", err, log)
		}
		return nil
	})
	first.requireStill(second)

	second.testJobOfDays()
	first.runHelmIn("ops", "uninstall", "slurm-operator") // it would take the namespace over
	second.testOperatorGone()
	second.testMissingImage()
	first.await("JobState=RUNNING", "scontrol", "show", "job", running)
	first.await("Restarts=0", "scontrol", "show", "job", running)
	first.slurm("scancel", running)
	first.runHelm("uninstall", "slurm", "--wait", "--timeout", "3m")
	second.requireNothingLeft()
}

// inNamespace returns the release of the same name in another namespace, which is created.
func (s stackEnv) inNamespace(namespace string) stackEnv {
	s.Helper()
	e := *s.env
	e.namespace = namespace
	_, err := s.kube.Kubectl(s.Context(), "create", "namespace", namespace)
	must(s.T, err)
	return stackEnv{&e}
}

// helm runs Helm in the namespace and returns its output.
func (s stackEnv) helm(args ...string) (string, error) {
	return s.kube.Helm(s.Context(), append(args, "--namespace", s.namespace)...)
}

func (s stackEnv) runHelmIn(namespace string, args ...string) {
	s.Helper()
	_, err := s.kube.Helm(s.Context(), append(args, "--namespace", namespace)...)
	must(s.T, err)
}

// testScaleByOtherAdapter runs a job on a worker that the HPA creates by the metric of the first stack's adapter.
func (s stackEnv) testScaleByOtherAdapter() {
	s.Helper()
	var job string
	process.Await(s.T, func() (err error) {
		job, err = s.kube.Kubectl(s.Context(), "--namespace", s.namespace, "exec", s.ctld, "-c", "slurmctld", "--", "sbatch", "--parsable",
			"-o", "/dev/null", "-D", "/", "--wrap", "hostname")
		return err
	})
	s.awaitState(strings.TrimSpace(job), "COMPLETED")
}

// requireStill requires that the conditions of the stacks do not change for half a minute. Two operators that disagreed wrote them 13 times
// a minute.
func (s stackEnv) requireStill(others ...stackEnv) {
	s.Helper()
	versions := func() string {
		var out strings.Builder
		for _, e := range append([]stackEnv{s}, others...) {
			out.WriteString(e.kubectl("get", "nodesets,controllers.slinky.slurm.net,restapis", "-o",
				"jsonpath={range .items[*]}{.metadata.uid} {.status.conditions}{end}"))
		}
		return out.String()
	}
	process.Await(s.T, func() error { // wait for earlier changes to end
		if before := versions(); !awaitNothing(10*time.Second, func() bool { return versions() != before }) {
			return errors.New("conditions change")
		}
		return nil
	})
	before := versions()
	if !awaitNothing(30*time.Second, func() bool { return versions() != before }) {
		s.Errorf("conditions change:\n%s\n%s", before, versions())
	}
}

// awaitNothing reports whether something does not happen for a time.
func awaitNothing(d time.Duration, happens func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		if happens() {
			return false
		}
	}
	return true
}

// failToUninstall lets Helm time out, and returns its output.
func (s stackEnv) failToUninstall(timeout string) string {
	s.Helper()
	begin := time.Now()
	out, err := s.helm("uninstall", "slurm", "--timeout", timeout)
	if err == nil {
		s.Fatal("helm uninstall has ended well")
	}
	s.Logf("helm uninstall --timeout %s ended after %.1f s: %s %v", timeout, time.Since(begin).Seconds(), out, err)
	return out + err.Error()
}

// takeBack rolls the release back, as the page says.
func (s stackEnv) takeBack() {
	s.Helper()
	if out, err := s.helm("upgrade", "--install", "slurm", filepath.Join(charts, "slurm-stack"), "--reuse-values"); err == nil {
		s.Logf("helm upgrade --install works: %s", out)
		return
	}
	out, err := s.helm("history", "slurm", "--output", "json")
	must(s.T, err)
	var history []struct{ Revision int }
	must(s.T, json.Unmarshal([]byte(out), &history))
	s.runHelm("rollback", "slurm", fmt.Sprint(history[len(history)-1].Revision))
}

// testJobOfDays: Helm times out, the hook's rights exist, the release is rolled back, and the job continues.
func (s stackEnv) testJobOfDays() {
	s.Helper()
	job := s.startJob(200_000)
	for _, want := range []string{"is running on it", "helm rollback slurm"} {
		if out := s.failToUninstall("20s"); !strings.Contains(out, want) {
			s.Errorf("helm does not print %q", want)
		}
	}
	s.kubectl("get", "role/slurm-delete-clusters", "rolebinding/slurm-delete-clusters", "job/slurm-delete-clusters")
	s.takeBack()
	process.Await(s.T, func() error {
		log := s.kubectl("logs", "job/slurm-delete-clusters")
		if !strings.Contains(log, "not being removed any more") {
			return fmt.Errorf("the hook still runs: %s", log)
		}
		return nil
	})
	s.await("JobState=RUNNING", "scontrol", "show", "job", job)
	s.await("Restarts=0", "scontrol", "show", "job", job)
	s.slurm("scancel", job)
	process.Await(s.T, func() error {
		if left := s.kubectl("get", "nodesets", "-o", "name"); left != "" {
			return fmt.Errorf("%s is being deleted and stays", left)
		}
		return nil
	})
	s.runHelm("upgrade", "--install", "slurm", filepath.Join(charts, "slurm-stack"), "--reuse-values")
	if s.kubectl("get", "nodesets", "-o", "name") == "" {
		s.runHelm("rollback", "slurm")
	}
	s.testScaleByOtherAdapter()
}

// testOperatorGone: the hook ends because no operator would end the jobs, and the rollback restores the operator.
func (s stackEnv) testOperatorGone() {
	s.Helper()
	s.kubectl("delete", "deployment/slurm-operator", "--wait")
	if out := s.failToUninstall("5m"); !strings.Contains(out, "no operator runs") {
		s.Error("helm does not print why")
	}
	s.takeBack()
	s.kubectl("rollout", "status", "deployment/slurm-operator", "--timeout=120s")
}

// testMissingImage: the hook fails once, for a NodeSet that needs the operator. Then its image cannot be pulled, and --no-hooks is the way out of an installation that never ran.
func (s stackEnv) testMissingImage() {
	s.Helper()
	s.kubectl("create", "--filename", "testdata/foreign.yaml") // a NodeSet that belongs to no release
	s.kubectl("wait", "nodeset/mine", "--for=jsonpath={.metadata.finalizers[0]}=nodeset.slinky.slurm.net/drain", "--timeout=60s")
	if out := s.failToUninstall("2m"); !strings.Contains(out, "still needed for NodeSet second/mine") {
		s.Error("helm does not print why")
	}
	s.kubectl("delete", "nodeset/mine", "--wait", "--timeout=60s")
	s.runHelm("uninstall", "slurm", "--timeout", "3m")
	s.requireNothingLeft()
	s.runStack("install", "--set", lean, "--set", "install.metrics=false", "--set", "slurm-operator.image.tag=missing")
	s.failToUninstall("10s")
	s.runHelm("uninstall", "slurm", "--no-hooks", "--timeout", "1m")
	s.kubectl("delete", "job/slurm-delete-clusters")
	s.requireNothingLeft()
}

// requireNothingLeft requires that an uninstalled release has left only the objects that it keeps on purpose.
func (s stackEnv) requireNothingLeft() {
	s.Helper()
	process.Await(s.T, func() error { // pods end a little later
		left := strings.Fields(s.kubectl("get", "nodesets,controllers.slinky.slurm.net,restapis,pods,services,statefulsets,deployments,jobs,hpa,"+
			"roles,rolebindings", "-o", "name"))
		left = slices.DeleteFunc(left, func(name string) bool { return strings.HasSuffix(name, "/slurm:slurm-metrics:references") }) // the first stack's
		if len(left) > 0 {
			return fmt.Errorf("left after helm uninstall: %s", left)
		}
		return nil
	})
}

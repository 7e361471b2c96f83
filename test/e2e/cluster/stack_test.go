//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// stackEnv is a Kubernetes cluster with the release "slurm" of the chart slurm-stack.
type stackEnv struct{ *env }

// TestStack installs the chart slurm-stack on an empty Kubernetes cluster and runs a job from its login pod, on a worker that its HPA
// creates. It upgrades and removes the release while jobs run, and installs it again with the kept volumes. It runs with -long.
func TestStack(t *testing.T) {
	s := startStack(t, versions[0])
	begin := time.Now()
	s.runStack("install", "--wait", "--timeout", "5m")
	t.Logf("helm install --wait: %.1f s", time.Since(begin).Seconds())
	s.runHelm("test", "slurm", "--timeout", "6m")
	t.Logf("until everything is Ready: %.1f s", time.Since(begin).Seconds())
	s.awaitReady()
	s.testPendingLoadBalancer()
	jobs := s.remember(s.testJobFromZero())
	t.Logf("until a job has run and all is at zero again: %.1f s", time.Since(begin).Seconds())
	s.testVolumes(jobs)
	s.testUpgrade()
	s.testUninstall()
	s.requireKept()

	begin = time.Now()
	s.runStack("install")
	s.awaitReady()
	t.Logf("installed again, until everything is Ready: %.1f s", time.Since(begin).Seconds())
	s.testReinstalled(jobs)
	s.testGPUs()
	s.testSlinkyShapes()
	s.testRemovedPartition("--values", "testdata/slinky.values.yaml")
	s.runHelm("uninstall", "slurm", "--wait", "--timeout", "3m")
	s.testForgotten()
}

// startStack starts an empty Kubernetes cluster with a directory for a release of Slurm.
func startStack(t *testing.T, version string) stackEnv {
	t.Helper()
	return startStackOn(t, version, realkube.Config{})
}

// startStackOn is startStack on a configured cluster.
func startStackOn(t *testing.T, version string, config realkube.Config) stackEnv {
	t.Helper()
	s := startBareStackOn(t, config)
	_, err := s.kube.Kubectl(t.Context(), "create", "namespace", s.namespace)
	must(t, err)
	s.applyFiles(version, "ldap.yaml")
	return s
}

// startBareStackOn starts a configured Kubernetes cluster for a release, without its namespace.
func startBareStackOn(t *testing.T, config realkube.Config) stackEnv {
	t.Helper()
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	if !*long {
		t.Skip("it runs only with -long")
	}
	s := stackEnv{&env{T: t, kube: startKubeWith(t, config), namespace: "slurm", ctld: "slurm-controller-0",
		login: "slurm-login-main"}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.logs())
		}
	})
	return s
}

// TestStackOfTheOlderRelease switches a partition of the chart off, which waits for its job. It runs with -long.
func TestStackOfTheOlderRelease(t *testing.T) {
	s := startStack(t, "24.11")
	values := []string{"--set", "slurm.partitions.all.enabled=true"}
	values = append(values, valuesOfRelease("24.11")...)
	s.runStack("install", values...)
	s.awaitReady()
	s.testJobFromZero() // Slurm knows the nodes then
	s.testRemovedPartition(values...)
}

// valuesOfRelease returns arguments of Helm with the images of a release of Slurm.
func valuesOfRelease(version string) (out []string) {
	if version == versions[0] {
		return nil
	}
	for of, repository := range map[string]string{"controller.slurmctld": "slurmd", "restapi.slurmrestd": "slurmd",
		"accounting.slurmdbd": "slurmdbd", "loginsetDefaults.login": "login", "nodesetDefaults.slurmd": "slurmd"} {
		image := "slurm." + of + ".image."
		out = append(out, "--set", image+"repository=localhost/"+repository, "--set-string", image+"tag="+version)
	}
	return out
}

// testGPUs follows docs/gpus.md, with files instead of GPUs. A job gets a GPU on a worker that its HPA creates, and is accounted for it.
func (s stackEnv) testGPUs() {
	s.Helper()
	begin := time.Now()
	s.advertiseGPUs("node", 2)
	s.runStack("upgrade", "--values", filepath.Join("..", "..", "..", "docs", "examples", "gpus", "values.yaml"),
		"--values", "testdata/gpus.values.yaml")
	var job string
	process.Await(s.T, func() (err error) { // Slurm knows the kind, the type and the nodes some seconds later
		job, err = s.ssh(s.Context(), "sbatch", "--parsable", "-p", "h100", "--gres=gpu:h100:1", "-o", "/dev/null", "-D", "/",
			"--wrap='[ $SLURM_JOB_GPUS = 0 ]'")
		return err
	})
	s.awaitState(job, "COMPLETED")
	const want = "COMPLETED|h100-0|billing=17,cpu=1,gres/gpu:h100=1,gres/gpu=1,mem=200M,node=1"
	process.Await(s.T, func() error {
		out, err := s.ssh(s.Context(), "sacct", "-X", "-n", "-P", "-j", job, "-o", "State,NodeList,AllocTRES")
		if err == nil && out != want {
			err = fmt.Errorf("sacct says %q", out)
		}
		return err
	})
	s.kubectl("wait", "nodeset/slurm-worker-h100", "--for=jsonpath={.status.replicas}=0", "--timeout=180s")
	s.Logf("from helm upgrade with a NodeSet of GPUs until a job has had one, and it is at zero again: %.1f s", time.Since(begin).Seconds())
}

// testSlinkyShapes upgrades the release with the examples of Slinky's documentation. The worker of the Kubernetes node is in the rack that
// the node's annotation names. A job in the partition of all gets its GPU, on a worker that knows the SPANK plugins.
func (s stackEnv) testSlinkyShapes() {
	s.Helper()
	begin := time.Now()
	_, err := s.kube.Kubectl(s.Context(), "annotate", "node", "node", v1beta1.AnnotationTopology+"=racks:rack2")
	must(s.T, err)
	s.runStack("upgrade", "--values", "testdata/slinky.values.yaml")
	inRack := regexp.MustCompile(`BlockName=rack2 BlockIndex=1 Nodes=(cpu-0,)?node `) // cpu-0 has run on the Kubernetes node, too
	process.Await(s.T, func() error {
		if topology := s.slurm("scontrol", "show", "topology"); !inRack.MatchString(topology) {
			return errors.New(topology)
		}
		return nil
	})
	s.await("Gres=gpu:1", "scontrol", "show", "node", "node")
	s.await("PartitionName=all", "scontrol", "show", "partition", "all") // once the partition of the GPUs is gone
	job := s.submit("-p", "all", "-w", "node", "--gres=gpu:1", "--wrap",
		"grep spank_pyxis $(dirname $SLURM_CONF)/plugstack.conf")
	s.awaitState(job, "COMPLETED")
	s.Logf("from helm upgrade until a job has run on a worker of the node, in its rack: %.1f s", time.Since(begin).Seconds())
}

// testRemovedPartition switches the partition of all workers off, which waits for a job in it.
func (s stackEnv) testRemovedPartition(values ...string) {
	s.Helper()
	job := s.submit("--no-requeue", "-p", "all", "--wrap", "sleep 30")
	s.awaitState(job, "RUNNING")
	s.runStack("upgrade", append(values, "--set", "slurm.partitions.all.enabled=false")...)
	s.awaitCondition(v1beta1.ConditionConfigApplied, "False PartitionInUse")
	s.awaitCondition(v1beta1.ConditionConfigApplied, "all (job "+job+")")
	s.await("State=DRAIN", "scontrol", "show", "partition", "all")
	s.awaitState(job, "COMPLETED")
	s.awaitCondition(v1beta1.ConditionConfigApplied, "True Applied")
	s.await("Restarts=0", "scontrol", "show", "job", job)
	if partitions := s.slurm("sinfo", "--noheader", "--format=%R"); strings.Contains(partitions, "all") {
		s.Errorf("the partitions are %s", partitions)
	}
}

// runHelm runs Helm in the namespace.
func (s stackEnv) runHelm(args ...string) {
	s.Helper()
	out, err := s.kube.Helm(s.Context(), append(args, "--namespace", s.namespace)...)
	if err != nil {
		s.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// nodeValues are values of the chart for the node.
var nodeValues = filepath.Join("..", "..", "..", "hack", "images", "stack.values.yaml")

// runStack runs Helm on the chart, with the values for the node and of the test.
func (s stackEnv) runStack(command string, more ...string) {
	s.Helper()
	s.runStackWith(nodeValues, command, more...)
}

// runStackWith runs Helm on the chart, with values of the Kubernetes nodes and of the test.
func (s stackEnv) runStackWith(nodeValues, command string, more ...string) {
	s.Helper()
	s.runHelm(append([]string{command, "slurm", filepath.Join(charts, "slurm-stack"), "--values", nodeValues,
		"--values", "testdata/stack.values.yaml"}, more...)...)
}

// awaitReady waits until all that the release consists of is Ready.
func (s stackEnv) awaitReady() {
	s.Helper()
	for _, kind := range []string{"controllers.slinky.slurm.net", "accountings", "restapis"} {
		s.kubectl("wait", kind+"/slurm", "--for=condition=Ready", "--timeout=300s")
	}
	s.awaitLogin()
}

// testJobFromZero submits a job in the login pod, which runs on a worker that the HPA creates, and returns its id.
func (s stackEnv) testJobFromZero() (job string) {
	s.Helper()
	process.Await(s.T, func() (err error) { // Slurm knows the nodes some seconds later
		job, err = s.ssh(s.Context(), "sbatch", "--parsable", "-o", "/dev/null", "-D", "/", "--wrap", "hostname")
		return err
	})
	s.awaitState(job, "COMPLETED")
	process.Await(s.T, func() error {
		out, err := s.ssh(s.Context(), "sacct", "-X", "-n", "-P", "-j", job, "-o", "User,State,NodeList,Restarts")
		if err == nil && out != "alice|COMPLETED|cpu-0|0" {
			err = fmt.Errorf("sacct says %q", out)
		}
		return err
	})
	s.kubectl("wait", "nodeset/slurm-worker-cpu", "--for=jsonpath={.status.replicas}=0", "--timeout=180s")
	return job
}

// startJob starts a job of some seconds and waits until it runs.
func (s stackEnv) startJob(seconds int) string {
	s.Helper()
	job := s.submit("--no-requeue", "--wrap", fmt.Sprint("sleep ", seconds))
	s.awaitState(job, "RUNNING")
	return job
}

// testUpgrade changes a value of the release, and reverts it, while a job runs.
func (s stackEnv) testUpgrade() {
	s.Helper()
	job := s.startJob(600)
	s.runHelm("upgrade", "slurm", filepath.Join(charts, "slurm-stack"), "--reuse-values", "--set",
		"slurm.controller.extraConfMap.MailDomain=example.com")
	s.await("example.com", "scontrol", "show", "config")
	s.runHelm("rollback", "slurm")
	process.Await(s.T, func() error {
		if strings.Contains(s.slurm("scontrol", "show", "config"), "example.com") {
			return errors.New("MailDomain is still that of the upgrade")
		}
		return nil
	})
	s.await("JobState=RUNNING Reason=None", "scontrol", "show", "job", job)
	s.await("Restarts=0", "scontrol", "show", "job", job)
	s.testEntering()
	s.slurm("scancel", job)
}

// testUninstall removes the release while a job runs. The removal waits for the job, also after Helm has timed out once. Only the
// definitions and keys remain, on purpose.
func (s stackEnv) testUninstall() {
	s.Helper()
	job := s.startJob(45)
	if _, err := s.kube.Helm(s.Context(), "uninstall", "slurm", "--namespace", s.namespace, "--timeout", "10s"); err == nil {
		s.Error("helm uninstall did not wait for a job")
	}
	s.await("JobState=RUNNING", "scontrol", "show", "job", job)
	begin, done := time.Now(), make(chan error, 1)
	go func() {
		_, err := s.kube.Helm(s.Context(), "uninstall", "slurm", "--namespace", s.namespace, "--wait", "--timeout", "5m")
		done <- err
	}()
	s.awaitState(job, "COMPLETED")
	must(s.T, <-done)
	s.Logf("helm uninstall again, with a job of 45 s: %.1f s", time.Since(begin).Seconds())
	kinds := "nodesets,controllers.slinky.slurm.net,accountings,restapis,loginsets,pods,services,statefulsets,deployments," +
		"jobs,hpa,roles,rolebindings"
	ofTheTest := []string{"pod/ldap", "pod/client", "service/ldap"}
	process.Await(s.T, func() error { // pods end a little later
		left := slices.DeleteFunc(strings.Fields(s.kubectl("get", kinds, "-o", "name")), func(name string) bool {
			return slices.Contains(ofTheTest, name)
		})
		if len(left) > 0 {
			return fmt.Errorf("left after helm uninstall: %s", left)
		}
		return nil
	})
	global, err := s.kube.Kubectl(s.Context(), "get", "clusterroles,clusterrolebindings,validatingwebhookconfigurations,"+
		"apiservices", "-l", "app.kubernetes.io/instance=slurm", "-o", "name")
	must(s.T, err)
	if global != "" {
		s.Errorf("left after helm uninstall: %s", global)
	}
}

//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// env is a Kubernetes cluster with the operator and, in a namespace, a Slurm cluster.
type env struct {
	*testing.T
	kube      *realkube.Cluster
	namespace string
	// ctld is the pod in which commands of Slurm run. login is the LoginSet to which clients connect.
	ctld, login string
	// extraConf is the extraConf of testdata.
	extraConf string
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// systemNamespace is the namespace of our own programs.
const systemNamespace = "slurm-system"

// charts is the folder of the charts.
var charts = filepath.Join("..", "..", "..", "charts")

// startKube starts Kubernetes with a node, the images and, in pods, the programs of our charts, with the rights that
// the charts give them in the namespaces of the test.
func startKube(t *testing.T, namespaces []string) *realkube.Cluster {
	t.Helper()
	kube := startBareKube(t)
	for _, namespace := range append([]string{systemNamespace}, namespaces...) {
		_, err := kube.Kubectl(t.Context(), "create", "namespace", namespace)
		must(t, err)
	}
	in := "namespaces={" + strings.Join(namespaces, ",") + "}"
	runHelm(t, kube, "install", "crds", filepath.Join(charts, "slurm-operator-crds"))
	installOperator(t, kube, namespaces)
	runHelm(t, kube, "install", "slurm-metrics", filepath.Join(charts, "slurm-metrics"), "--set", in+",replicaCount=1,"+
		"slurm.pollInterval=2s,image.repository=localhost/slurm-metrics-adapter,image.tag=dev,image.pullPolicy=Never")
	return kube
}

// startLong starts Kubernetes with the namespaces of a manifest on each release, for a test that runs only with -long.
func startLong(t *testing.T, manifest string) *realkube.Cluster {
	t.Helper()
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	if !*long {
		t.Skip("it runs only with -long")
	}
	var namespaces []string
	for _, version := range versions {
		namespaces = append(namespaces, namespaceOf(manifest, version))
	}
	return startKube(t, namespaces)
}

// runHelm runs Helm in the namespace of our own programs.
func runHelm(t *testing.T, kube *realkube.Cluster, args ...string) {
	t.Helper()
	_, err := kube.Helm(t.Context(), append([]string{"--namespace", systemNamespace}, args...)...)
	must(t, err)
}

// installOperator installs the chart of the operator, with the rights that it gives in the namespaces.
func installOperator(t *testing.T, kube *realkube.Cluster, namespaces []string) {
	t.Helper()
	runHelm(t, kube, "install", "slurm-operator", filepath.Join(charts, "slurm-operator"), "--wait", "--timeout", "120s",
		"--set", "namespaces={"+strings.Join(namespaces, ",")+"}"+
			",rbac.execNamespaces={"+strings.Join(execNamespaces(namespaces), ",")+"}"+
			",replicaCount=1,slurm.pollInterval=1s,image.repository=localhost/slurm-operator,image.tag=dev,"+
			"image.pullPolicy=Never,controlPlane.agentImage.repository=localhost/slurm-agent,controlPlane.agentImage.tag=dev")
}

// execNamespaces returns the namespaces in which the operator needs to run scontrol in slurmctld's pod, because slurmrestd of 24.11 cannot
// create nodes. In the other namespaces slurmrestd creates them.
func execNamespaces(namespaces []string) []string {
	return slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool {
		return namespace != namespaceOf("cluster.yaml", "24.11") && namespace != namespaceOf("jobs.yaml", "24.11")
	})
}

// startBareKube starts Kubernetes with a node and the images.
func startBareKube(t *testing.T) *realkube.Cluster {
	t.Helper()
	return startKubeWith(t, realkube.Config{})
}

// startKubeWith starts Kubernetes with a node, the images and the given configuration.
func startKubeWith(t *testing.T, config realkube.Config) *realkube.Cluster {
	t.Helper()
	config.Kubelet, config.Name = true, "cluster"
	kube, err := realkube.Start(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { must(t, kube.Close()) })
	images := []string{"slurm-operator", "slurm-metrics-adapter", "slurm-agent", "services:dev", "slurmctld:26.05",
		"slurmrestd:26.05"}
	for _, version := range versions {
		images = append(images, "slurmd:"+version, "slurmdbd:"+version, "login:"+version)
	}
	must(t, kube.LoadImages(t.Context(), images...))
	return kube
}

// checkRights checks that the operator had all rights that it needed.
func checkRights(t *testing.T, kube *realkube.Cluster) {
	t.Helper()
	log, err := kube.Kubectl(t.Context(), "logs", "--namespace", systemNamespace, "deployment/slurm-operator", "--tail=-1")
	must(t, err)
	for line := range strings.Lines(log) {
		if strings.Contains(line, "orbidden") {
			t.Error(line)
		}
	}
	if !strings.Contains(log, "SuccessfulDelete") {
		t.Error("the log of the operator does not tell that a worker was deleted")
	}
	if t.Failed() {
		t.Logf("the end of the operator's log:\n%s", log[max(0, len(log)-20000):])
	}
}

// stopOperator ends the operator's pod.
func stopOperator(t *testing.T, kube *realkube.Cluster) {
	t.Helper()
	for _, args := range [][]string{{"scale", "deployment/slurm-operator", "--replicas=0"},
		{"wait", "pods", "-l", "app.kubernetes.io/name=slurm-operator", "--for=delete", "--timeout=60s"}} {
		_, err := kube.Kubectl(t.Context(), append([]string{"--namespace", systemNamespace}, args...)...)
		must(t, err)
	}
}

// namespaceOf returns the namespace of the Slurm cluster of a release in a file of testdata.
func namespaceOf(file, version string) string {
	return strings.TrimSuffix(file, ".yaml") + "-" + strings.ReplaceAll(version, ".", "-")
}

// startSlurm applies a Slurm cluster, files of testdata, with a release, and returns when it is Ready.
func startSlurm(t *testing.T, kube *realkube.Cluster, version string, files ...string) *env {
	t.Helper()
	e := &env{T: t, kube: kube, namespace: namespaceOf(files[0], version), ctld: "slurm-controller-0", login: "login"}
	begin := time.Now()
	e.applyFiles(version, files...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs())
		}
	})
	e.extraConf = e.kubectl("get", "controller", "slurm", "-o", "jsonpath={.spec.extraConf}") + "\n"
	for _, object := range strings.Fields(e.kubectl("get", "controllers,accountings,restapis", "-o", "name")) {
		e.kubectl("wait", object, "--for=condition=Ready", "--timeout=180s")
	}
	e.kubectl("wait", "controller/slurm", "--for=condition=ConfigApplied", "--timeout=60s")
	t.Logf("%s: from kubectl apply to Ready and ConfigApplied: %.1f s", version, time.Since(begin).Seconds())
	e.await("idle", "sinfo", "-h", "-n", "w-0", "-o", "%t")
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	t.Logf("%s: from kubectl apply until a job has run: %.1f s", version, time.Since(begin).Seconds())
	return e
}

// applyFiles applies files of testdata with a release.
func (e *env) applyFiles(version string, files ...string) {
	e.Helper()
	begin := time.Now().Add(-time.Hour)
	ca := testcert.NewCA(e.T, "ldap", begin)
	ldap := ca.Issue(e.T, begin, begin.AddDate(0, 0, 2), "ldap", "ldap."+e.namespace)
	values := struct{ Namespace, Version, SlurmKey, JWTKey, Password, CA, Certificate, Key string }{e.namespace, version, newKey(e.T),
		newKey(e.T), "secret-of-the-test", encode(ca.PEM), encode(ldap.Cert), encode(ldap.Key)}
	text := &bytes.Buffer{}
	for _, file := range files {
		must(e.T, template.Must(template.ParseFiles(filepath.Join("testdata", file))).Execute(text, values))
		text.WriteString("\n---\n")
	}
	must(e.T, e.kube.Apply(e.Context(), text.String()))
}

func newKey(t *testing.T) string {
	key := make([]byte, 64)
	_, err := rand.Read(key)
	must(t, err)
	return encode(key)
}

// encode returns a value of a Secret.
func encode(value []byte) string { return base64.StdEncoding.EncodeToString(value) }

// kubectl runs kubectl in the namespace.
func (e *env) kubectl(args ...string) string {
	e.Helper()
	out, err := e.kube.Kubectl(e.Context(), append([]string{"--namespace", e.namespace}, args...)...)
	if err != nil {
		e.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out)
}

// slurm runs a command in slurmctld's container.
func (e *env) slurm(args ...string) string {
	e.Helper()
	return e.kubectl(append([]string{"exec", e.ctld, "-c", "slurmctld", "--"}, args...)...)
}

// await runs a command in slurmctld's container until its output contains want.
func (e *env) await(want string, args ...string) {
	e.Helper()
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), append([]string{"--namespace", e.namespace, "exec", e.ctld,
			"-c", "slurmctld", "--"}, args...)...)
		if err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("%s says %q, not %q", strings.Join(args, " "), out, want)
		}
		return err
	})
}

// condition returns status, reason and message of a condition of the Controller.
func (e *env) condition(kind string) string {
	e.Helper()
	path := fmt.Sprintf(`{.status.conditions[?(@.type=="%s")]['status','reason','message']}`, kind)
	return e.kubectl("get", "controller", "slurm", "-o", "jsonpath="+path)
}

// awaitCondition waits until a condition of the Controller contains want.
func (e *env) awaitCondition(kind, want string) {
	e.Helper()
	process.Await(e.T, func() error {
		if got := e.condition(kind); !strings.Contains(got, want) {
			return fmt.Errorf("%s is %q, not %q", kind, got, want)
		}
		return nil
	})
}

// logs returns what helps to understand a failed test.
func (e *env) logs() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	for _, args := range [][]string{{"get", "pods,controllers,configmaps", "-o", "wide"}, {"describe", "controller"},
		{"describe", "nodesets,hpa,pods"}, {"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", e.ctld, "-c", "reconfigure", "--tail=50"},
		{"logs", e.ctld, "-c", "slurmctld", "--tail=50"}, {"logs", e.ctld, "-c", "slurmctld", "--tail=50", "--previous"},
		{"logs", "w-0", "--tail=50"},
		{"describe", "accounting"}, {"logs", "slurm-accounting-0", "-c", "reconfigure", "--tail=50"},
		{"logs", "slurm-accounting-0", "-c", "slurmdbd", "--tail=50"}, {"logs", "mariadb", "--tail=50"},
		{"logs", "deployment/" + names.RestAPIDeployment("slurm"), "--all-containers", "--tail=50"}} {
		text, err := e.kube.Kubectl(ctx, append([]string{"--namespace", e.namespace}, args...)...)
		fmt.Fprintf(&out, "==> kubectl %s <==\n%s\n", strings.Join(args, " "), text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}

//go:build e2e

package hybrid

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/outside"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

//go:embed testdata/objects.yaml
var objectsTemplate string

//go:embed testdata/slinky.values.yaml
var slinkyValues string

//go:embed testdata/mariadb.sh
var mariadbScript string

// lastNumber is the number of the last host outside.
var lastNumber atomic.Int32

// env is a cell: a namespace of Kubernetes and hosts outside, which form one Slurm cluster.
type env struct {
	*testing.T
	kube      *realkube.Cluster
	namespace string
	values    values
	slurmKey  []byte
	jwtKey    []byte
	// plugin is the path of kubectl-slurm.
	plugin string
	// unpeered is of the hosts that start.
	unpeered bool
	// confServer and names let hosts outside find a slurmctld behind a NodePort.
	confServer string
	names      map[string]string
	// ctld runs a command where slurmctld runs, and ctldHost is its host if that is outside.
	ctld     runner
	ctldHost *outside.Host
}

// runner runs a command somewhere and returns its output.
type runner func(ctx context.Context, args ...string) (string, error)

// values are the values of testdata/objects.yaml.
type values struct {
	Version, SlurmKey, JWTKey, MariaDB string
	// Slurmctld, Slurmdbd and Slurmrestd are addresses of daemons.
	Slurmctld, Slurmdbd, Slurmrestd string
	// SlurmctldService is spec.service of the Controller.
	SlurmctldService string
	Token            string
	// HostNames has the names that hosts outside may get.
	HostNames []string
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startKube starts Kubernetes with a node, the images, and the operator, which manages some namespaces.
func startKube(t *testing.T, versions, namespaces []string) *realkube.Cluster {
	t.Helper()
	begin := time.Now()
	kube, err := realkube.Start(t.Context(), realkube.Config{Kubelet: true, Name: "hybrid"})
	must(t, err)
	t.Cleanup(func() { must(t, kube.Close()) })
	images := []string{"slurm-agent", "slurm-operator", "services:dev"}
	for _, version := range versions {
		images = append(images, "slurmd:"+version, "slurmdbd:"+version, "login:"+version)
	}
	must(t, kube.LoadImages(t.Context(), images...))
	for _, namespace := range append([]string{"slurm-system"}, namespaces...) {
		_, err := kube.Kubectl(t.Context(), "create", "namespace", namespace)
		must(t, err)
	}
	_, err = kube.Helm(t.Context(), "install", "crds", "../../../charts/slurm-operator-crds")
	must(t, err)
	must(t, kube.AwaitEstablished(t.Context(), "controllers.slinky.slurm.net", "nodesets.slinky.slurm.net",
		"accountings.slinky.slurm.net", "restapis.slinky.slurm.net", "loginsets.slinky.slurm.net",
		"clusters.slinky.slurm.net"))
	_, err = kube.Helm(t.Context(), "install", "slurm-operator", "../../../charts/slurm-operator", "--namespace",
		"slurm-system", "--wait", "--timeout", "3m", "--set", "image.repository=localhost/slurm-operator,image.tag=dev,"+
			"image.pullPolicy=Never,controlPlane.enabled=true,controlPlane.agentImage.repository=localhost/slurm-agent,"+
			"controlPlane.agentImage.tag=dev,slurm.pollInterval=1s,slurm.user=root,namespaces={"+
			strings.Join(namespaces, ",")+"}")
	must(t, err)
	t.Logf("Kubernetes with images and operator: %.1f s", time.Since(begin).Seconds())
	return kube
}

// newEnv returns a cell without any daemon. Its objects are deleted at its end, which frees their ports.
func newEnv(t *testing.T, kube *realkube.Cluster, namespace, version string) *env {
	t.Helper()
	e := &env{T: t, kube: kube, namespace: namespace, slurmKey: make([]byte, 64), jwtKey: make([]byte, 32)}
	for _, key := range [][]byte{e.slurmKey, e.jwtKey} {
		_, err := rand.Read(key)
		must(t, err)
	}
	script := fmt.Sprintf("%q", mariadbScript)
	e.values = values{Version: version, SlurmKey: base64.StdEncoding.EncodeToString(e.slurmKey),
		JWTKey: base64.StdEncoding.EncodeToString(e.jwtKey), MariaDB: script, HostNames: allHostNames()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs())
		}
	})
	e.apply("keys")
	return e
}

// apply applies parts of testdata/objects.yaml.
func (e *env) apply(parts ...string) {
	e.Helper()
	parsed := template.Must(template.New("objects").Parse(objectsTemplate))
	for _, part := range parts {
		text := &bytes.Buffer{}
		must(e.T, parsed.ExecuteTemplate(text, part, e.values))
		// The context sets the namespace, so the objects do not name it.
		must(e.T, e.kube.Apply(e.Context(), inNamespace(text.String(), e.namespace)))
	}
}

// installChart installs the chart slurm as the release slurm, with testdata/slinky.values.yaml.
func (e *env) installChart() {
	e.Helper()
	text := &bytes.Buffer{}
	must(e.T, template.Must(template.New("values").Parse(slinkyValues)).Execute(text, e.values))
	file := filepath.Join(e.TempDir(), "values.yaml")
	must(e.T, os.WriteFile(file, text.Bytes(), 0o600))
	_, err := e.kube.Helm(e.Context(), "install", "slurm", "../../../charts/slurm", "--namespace", e.namespace,
		"--values", file)
	must(e.T, err)
}

// inNamespace adds a namespace to the objects of a text.
func inNamespace(text, namespace string) string {
	return strings.ReplaceAll(text, "\nmetadata: {", "\nmetadata: {namespace: "+namespace+", ")
}

// kubectl runs kubectl in the namespace.
func (e *env) kubectl(args ...string) string {
	e.Helper()
	out, err := e.kube.Kubectl(e.Context(), append([]string{"--namespace", e.namespace}, args...)...)
	if err != nil {
		e.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out)
}

// inPod returns a runner of commands in a container.
func (e *env) inPod(pod, container string) runner {
	return func(ctx context.Context, args ...string) (string, error) {
		out, err := e.kube.Kubectl(ctx, append([]string{"--namespace", e.namespace, "exec", pod, "-c", container, "--"},
			args...)...)
		return strings.TrimSpace(out), err
	}
}

// await runs a command until its output contains want.
func (e *env) await(run runner, want string, args ...string) {
	e.Helper()
	process.Await(e.T, func() error {
		out, err := run(e.Context(), args...)
		if err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("%s says %q, not %q", strings.Join(args, " "), out, want)
		}
		return err
	})
}

// awaitReady waits for the condition Ready of an object.
func (e *env) awaitReady(objects ...string) {
	e.Helper()
	for _, object := range objects {
		e.kubectl("wait", object, "--for=condition=Ready", "--timeout=180s")
	}
}

// assignAddress assigns an address to a Service of type LoadBalancer, as a cloud does.
func (e *env) assignAddress(service, address string) {
	e.Helper()
	process.Await(e.T, func() error {
		_, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "patch", "service", service,
			"--subresource=status", "--type=merge", "-p",
			fmt.Sprintf(`{"status":{"loadBalancer":{"ingress":[{"ip":%q}]}}}`, address))
		return err
	})
}

// allHostNames returns the names of hosts outside with a slurmd or a login: more than the cells start.
func allHostNames() []string {
	var out []string
	for number := firstHost; number < firstHost+60; number++ {
		out = append(out, hostName("node", number), hostName("login", number))
	}
	return out
}

// firstHost is the number of the first host outside.
const firstHost = 11

func hostName(role string, number int) string { return fmt.Sprintf("%s%d", role, number) }

// newHost starts a host outside. Hosts of all cells have different names.
func (e *env) newHost(role, image string, names map[string]string) *outside.Host {
	e.Helper()
	number := int(lastNumber.Add(1)) - 1 + firstHost
	h := outside.Start(e.T, e.kube, outside.Config{Name: hostName(role, number), Number: number, Image: image,
		Unpeered: e.unpeered, Names: names})
	if e.ctldHost != nil { // 24.11 looks up the names of hosts on which srun runs (docs/hybrid.md)
		e.ctldHost.AddName(h.Name, h.Address)
	}
	return h
}

// remove deletes the cluster's objects. In this order none waits for an object that is already gone.
func (e *env) remove() {
	e.kubectl("delete", "nodesets,loginsets", "--all", "--timeout=60s")
	e.kubectl("delete", "restapis,controllers,accountings", "--all", "--timeout=60s")
	process.Await(e.T, func() error {
		if pods := e.kubectl("get", "pods", "-o", "name", "-l", "slinky.slurm.net/cluster"); pods != "" {
			return errors.New("there are still " + pods)
		}
		return nil
	})
}

// logs returns what helps to understand a failed cell.
func (e *env) logs() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	for _, args := range [][]string{{"get", "pods,services", "-o", "wide"},
		{"get", "controllers,accountings,restapis,nodesets,loginsets,clusters", "-o",
			`jsonpath={range .items[*]}{.kind}{" "}{.status.conditions}{"\n"}{end}`},
		{"get", "events", "--sort-by=.lastTimestamp"}, {"logs", "slurm-controller-0", "-c", "slurmctld", "--tail=40"},
		{"logs", "slurm-accounting-0", "-c", "slurmdbd", "--tail=40"}, {"logs", "w-0", "--tail=40"},
		{"logs", "deployment/slurm-restapi", "--tail=40"}, {"logs", "deployment/login", "--all-containers", "--tail=20"},
		{"-n", "slurm-system", "logs", "deployment/slurm-operator", "--tail=30"}} {
		text, err := e.kube.Kubectl(ctx, slices.Concat([]string{"--namespace", e.namespace}, args)...)
		fmt.Fprintf(&out, "==> kubectl %s <==\n%s\n", strings.Join(args, " "), text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}

//go:build e2e

package realkube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

func TestNode(t *testing.T) {
	if missing := MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	c, err := Start(t.Context(), Config{Kubelet: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) // for a test that ends early; a second Close does nothing
	if len(nodeTraces(t, c)) < 2 {
		t.Error("nodeTraces finds nothing while the node runs, so it looks in the wrong place")
	}
	t.Run("pods become ready", func(t *testing.T) {
		applyManifest(t, c, pagesManifest)
		process.AwaitValue(t, "the output", "2", c.kubectlFunc("get", "statefulset", "pages", "-o", "jsonpath={.status.readyReplicas}"))
	})
	t.Run("pods reach each other through a Service", func(t *testing.T) { checkService(t, c) })
	t.Run("pods resolve Services and each other", func(t *testing.T) { testDNS(t, c) })
	t.Run("Services keep working while kube-proxy rewrites all rules", func(t *testing.T) { testServiceRewrite(t, c) })
	t.Run("pods reach the API server", func(t *testing.T) {
		got := runKubectl(t, c, "exec", "pages-0", "--", "wget", "-q", "-O", "-", "-T", "5", "--no-check-certificate",
			"https://10.96.0.1/livez")
		if got != "ok" {
			t.Errorf("/livez from a pod = %q", got)
		}
	})
	t.Run("pod logs can be read", func(t *testing.T) {
		if got := runKubectl(t, c, "logs", "pages-1"); got != "I am pages-1" {
			t.Errorf("log = %q", got)
		}
	})
	t.Run("images are loaded", func(t *testing.T) { testLoadImage(t, c) })
	t.Run("images of the cache are read in place", func(t *testing.T) { testLinkedImage(t, c) })
	t.Run("a server of this machine is aggregated", func(t *testing.T) { testAggregation(t, c) })
	if t.Failed() {
		t.Log(c.Logs())
	}
	namespace, err := c.PIDNamespace(t.Context(), "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), namespace.Programs(t)); diff != "" {
		t.Errorf("processes left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), nodeTraces(t, c)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

const pagesManifest = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: pages}
spec:
  replicas: 2
  serviceName: pages
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: pages}}
  template:
    metadata: {labels: {app: pages}}
    spec:
      containers:
      - name: httpd
        image: localhost/busybox:1
        imagePullPolicy: Never
        command: [sh, -c, "echo I am $(hostname); mkdir /www; echo page >/www/index.html; exec httpd -f -h /www"]
        readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}
        resources: {limits: {memory: 32Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: pages}
spec: {clusterIP: 10.96.50.1, selector: {app: pages}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: names}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: named}}
---
apiVersion: v1
kind: Pod
metadata: {name: named, labels: {app: named}}
spec:
  hostname: alpha
  subdomain: names
  terminationGracePeriodSeconds: 1
  containers: [{name: sleep, image: "localhost/busybox:1", imagePullPolicy: Never, command: [sleep, "600"]}]
`

func checkService(t *testing.T, c *Cluster) {
	for _, pod := range []string{"pages-0", "pages-1"} {
		if got := runKubectl(t, c, "exec", pod, "--", "wget", "-q", "-O", "-", "-T", "5",
			"http://10.96.50.1"); got != "page" {
			t.Errorf("%s reads %q from the Service, want its page", pod, got)
		}
	}
}

// testServiceRewrite makes kube-proxy rewrite every rule, as it does every hour, by changing the
// node's zone.
func testServiceRewrite(t *testing.T, c *Cluster) {
	for _, zone := range []string{"a", "b"} {
		runKubectl(t, c, "label", "node", "--all", "--overwrite", "topology.kubernetes.io/zone="+zone)
		for range 6 {
			time.Sleep(500 * time.Millisecond)
			checkService(t, c)
		}
	}
}

// testDNS resolves names in a pod. An unknown name must be answered too, since a program without an
// answer retries for seconds.
func testDNS(t *testing.T, c *Cluster) {
	process.AwaitValue(t, "the output", "Running", c.kubectlFunc("get", "pod", "named", "-o", "jsonpath={.status.phase}"))
	address := runKubectl(t, c, "get", "pod", "named", "-o", "jsonpath={.status.podIP}")
	for _, tc := range []struct{ name, want string }{
		{"pages.default.svc.cluster.local", "Address: 10.96.50.1"},
		{"alpha.names.default.svc.cluster.local", "Address: " + address},
		{"nobody.example.com", "server can't find nobody.example.com: NXDOMAIN"},
	} {
		ask := "nslookup " + tc.name + " 2>&1 | sed '1,3d; s/^[* ]*//' | grep -m1 -e ^Address: -e ^server || true"
		process.AwaitValue(t, "the output", tc.want, c.kubectlFunc("exec", "pages-0", "--", "sh", "-c", ask))
	}
	if got := runKubectl(t, c, "exec", "pages-0", "--", "wget", "-q", "-O", "-", "-T", "5",
		"http://pages"); got != "page" {
		t.Errorf("http://pages is %q", got)
	}
}

// testLoadImage loads an image that consists of one program and runs it.
func testLoadImage(t *testing.T, c *Cluster) {
	content, err := os.ReadFile(filepath.Join(c.nodeRoot(t), "usr", "bin", "busybox"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := process.WriteProgram(filepath.Join(folder, "echo"), content); err != nil {
		t.Fatal(err)
	}
	if err := c.LoadImage(t.Context(), "localhost/made:1", folder, "/echo", "made"); err != nil {
		t.Fatal(err)
	}
	applyManifest(t, c, `
apiVersion: v1
kind: Pod
metadata: {name: made}
spec: {restartPolicy: Never, containers: [{name: made, image: "localhost/made:1", imagePullPolicy: Never}]}
`)
	process.AwaitValue(t, "the output", "made", c.kubectlFunc("logs", "made"))
}

// testLinkedImage loads one of our programs, and runs it before and after a restart of containerd. It checks that its files cannot be
// removed while the cluster runs.
func testLinkedImage(t *testing.T, c *Cluster) {
	if err := c.LoadImages(t.Context(), "slurm-agent"); err != nil {
		t.Fatal(err)
	}
	runAgent(t, c, "before")
	if _, err := c.RunScript(t.Context(), "daemon", "--dir", c.Dir, "restart", "containerd"); err != nil {
		t.Fatal(err)
	}
	runAgent(t, c, "after")
	checkHeld(t, c, "slurm-agent")
}

// runAgent runs slurm-agent in a pod, which prints its version.
func runAgent(t *testing.T, c *Cluster, pod string) {
	t.Helper()
	applyManifest(t, c, strings.ReplaceAll(`
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  containers: [{name: agent, image: "localhost/slurm-agent:dev", imagePullPolicy: Never, args: [--version]}]
`, "NAME", pod))
	process.Await(t, func() error {
		log, err := c.Kubectl(t.Context(), "logs", pod)
		if err == nil && !strings.Contains(log, "slurm-agent") {
			err = fmt.Errorf("the log is %q", log)
		}
		return err
	})
}

// checkHeld checks that the cluster holds a lock on the root of an image.
func checkHeld(t *testing.T, c *Cluster, image string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	roots, err := os.ReadDir(filepath.Join(c.Dir, "held"))
	if err != nil || len(roots) != 1 {
		t.Fatalf("the cluster holds %v: %v", roots, err)
	}
	lock, err := os.Open(filepath.Join(cache, "slurmtide", "images", image, roots[0].Name()+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("locking the root of %s: %v, want that the cluster holds it", image, err)
	}
}

// nodeRoot is the folder that the node runs in.
func (c *Cluster) nodeRoot(t *testing.T) string {
	t.Helper()
	out, err := c.RunScript(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// nodeTraces lists what the node of a cluster leaves outside its namespaces: its link, its cgroups
// and its mounts.
func nodeTraces(t *testing.T, c *Cluster) []string {
	t.Helper()
	slot := strings.Split(c.HostAddress, ".")[2]
	var found []string
	for _, pattern := range []string{
		"/sys/class/net/tide" + slot, "/sys/fs/cgroup/slurmtide-" + slot, "/sys/fs/cgroup/*/slurmtide-" + slot,
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, c.Dir) {
			found = append(found, line)
		}
	}
	return found
}

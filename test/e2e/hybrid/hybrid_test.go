//go:build e2e

package hybrid

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/outside"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

var long = flag.Bool("long", false, "run every cell, not only the first ones")

// cell is a row of the table in docs/hybrid.md.
type cell struct {
	name string
	run  func(*env)
	// exclusive cells use ports of the Kubernetes node, and long ones run only with -long.
	exclusive, long bool
}

// cells are in the order of the table.
var cells = []cell{
	{name: "all-outside-but-workers", run: (*env).testAllOutside},
	{name: "host-network", run: (*env).testHostNetwork, exclusive: true, long: true},
	{name: "load-balancers", run: (*env).testLoadBalancers},
	{name: "node-port", run: (*env).testNodePort, long: true},
	{name: "slurmdbd-inside", run: (*env).testSlurmdbdInside, long: true},
}

// versions are the releases of Slurm.
var versions = []string{"26.05", "24.11"}

// TestHybrid runs each cell on each release.
func TestHybrid(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	var namespaces []string
	name := func(c cell, version string) string { return c.name + "-" + strings.ReplaceAll(version, ".", "-") }
	for _, c := range cells {
		for _, version := range versions {
			namespaces = append(namespaces, name(c, version))
		}
	}
	plugin, kube := buildPlugin(t), startKube(t, versions, namespaces)
	for _, c := range cells {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !*long {
				t.Skip("it runs with -long")
			}
			for _, version := range versions {
				t.Run(version, func(t *testing.T) {
					if !c.exclusive {
						t.Parallel()
					}
					begin := time.Now()
					e := newEnv(t, kube, name(c, version), version)
					e.plugin = plugin
					c.run(e)
					e.checkDoctor()
					t.Logf("%s on %s: %.1f s", c.name, version, time.Since(begin).Seconds())
					e.remove()
				})
			}
		})
	}
}

// testAllOutside: slurmdbd, slurmctld, a slurmd and a login host run outside. Workers, a login pod and slurmrestd run in pods.
func (e *env) testAllOutside() {
	e.startSlurmdbd()
	ctl := e.startSlurmctld(e.values.Slurmdbd)
	e.apply("slurmdbd-outside", "slurmctld-outside", "slurmrestd", "workers", "login")
	login, node := e.startLogin(ctl.Address, nil), e.startSlurmd(ctl.Address, nil)
	e.awaitReady("nodeset/w", "restapi/slurm", "loginset/login")
	nodes := []string{"w-0", "w-1", node.Name}
	e.awaitIdle(nodes)
	pod := e.inPod("deployment/login", "login")
	e.checkSrun(nodes, from{"slurmctld outside", ctl.Run}, from{"the login host outside", login.Run},
		from{"the slurmd outside", node.Run}, from{"the login pod", pod}, from{"a worker", e.inPod("w-0", "slurmd")})
	e.checkRecord(e.checkBatch(from{"the login host outside", login.Run}, node.Name), login.Run, pod)
	e.checkRecord(e.checkBatch(from{"the login pod", pod}, "w-1"), login.Run, pod)
	e.checkRestAPI()
}

// testHostNetwork: the hosts outside reach the Kubernetes node, and not the network of pods. The worker and
// slurmrestd have the network of the node. The chart makes the objects, from Slinky's values.
func (e *env) testHostNetwork() {
	e.unpeered = true
	ctl := e.startSlurmctld("")
	e.installChart()
	login, node := e.startLogin(ctl.Address, nil), e.startSlurmd(ctl.Address, nil)
	e.awaitReady("nodeset/slurm-worker-w", "restapi/slurm")
	nodes := []string{"node", node.Name} // a worker has the name of its Kubernetes node
	e.awaitIdle(nodes)
	worker := e.inPod("slurm-worker-w-0", "slurmd")
	e.checkSrun(nodes, from{"slurmctld outside", ctl.Run}, from{"the login host outside", login.Run},
		from{"the slurmd outside", node.Run}, from{"a worker", worker})
	e.checkBatch(from{"the login host outside", login.Run}, "node")
	e.checkBatch(from{"a worker", worker}, node.Name)
}

// testLoadBalancers: slurmctld and slurmdbd run in pods, behind load balancers whose addresses are in slurm.conf. A slurmd, a login host
// and a slurmrestd run outside, and others in pods.
func (e *env) testLoadBalancers() {
	subnet := 100 + slices.Index(versions, e.values.Version)
	e.values.Slurmctld, e.values.Slurmdbd = fmt.Sprintf("198.51.%d.1", subnet), fmt.Sprintf("198.51.%d.2", subnet)
	e.values.SlurmctldService = "{spec: {type: LoadBalancer}}"
	e.apply("slurmdbd-inside", "slurmctld-inside", "slurmrestd", "workers", "login")
	e.assignAddress("slurm-controller", e.values.Slurmctld)
	e.assignAddress("slurm-accounting", e.values.Slurmdbd)
	e.ctld = e.inPod("slurm-controller-0", "slurmctld")
	e.awaitReady("accounting/slurm", "controller/slurm")
	login, node := e.startLogin(e.values.Slurmctld, nil), e.startSlurmd(e.values.Slurmctld, nil)
	rest := e.startSlurmrestd(e.values.Slurmctld, e.values.Slurmdbd)
	e.awaitReady("nodeset/w", "restapi/slurm", "loginset/login")
	nodes := []string{"w-0", "w-1", node.Name}
	e.awaitIdle(nodes)
	pod := e.inPod("deployment/login", "login")
	e.checkSrun(nodes, from{"slurmctld", e.ctld}, from{"the login host outside", login.Run},
		from{"the slurmd outside", node.Run}, from{"the login pod", pod}, from{"a worker", e.inPod("w-0", "slurmd")})
	e.checkRecord(e.checkBatch(from{"the login host outside", login.Run}, "w-0"), login.Run, pod)
	e.checkRecord(e.checkBatch(from{"the login pod", pod}, node.Name), login.Run, pod)
	e.checkRotationWaits(login, node)
	token, err := e.ctld(e.Context(), "scontrol", "token", "lifespan=3600")
	must(e.T, err)
	e.values.Token, e.values.Slurmrestd = strings.TrimPrefix(token, "SLURM_JWT="), rest.Address
	e.apply("slurmrestd-outside")
	e.awaitReady("cluster/outside")
	e.kubectl("delete", "cluster", "outside")
	e.checkConfirmedRotation(login, node)
}

// checkRotationWaits checks that a rotation of slurm.key names the Slurm node outside, and waits while a job runs there. It also waits
// after its annotation is removed.
func (e *env) checkRotationWaits(login, node *outside.Host) {
	e.Helper()
	job, err := login.Run(e.Context(), "sbatch", "--parsable", "-t1", "-w", node.Name, "-o", "/dev/null", "--wrap", "sleep 15")
	must(e.T, err)
	e.kubectl("annotate", "controller", "slurm", v1beta1.AnnotationRotateKeys+"=second")
	e.await(e.keysRotated, "WaitingForHostsOutside hosts outside of Kubernetes may have the key, since there is slurm node "+node.Name)
	e.await(login.Run, "COMPLETED", "scontrol", "show", "job", job)
	e.awaitIdle([]string{"w-0", "w-1", node.Name})
	e.kubectl("annotate", "controller", "slurm", v1beta1.AnnotationRotateKeys+"-")
}

// keysRotated returns the reason and the message of the condition KeysRotated.
func (e *env) keysRotated(context.Context, ...string) (string, error) {
	return e.kubectl("get", "controller", "slurm", "-o",
		`jsonpath={range .status.conditions[?(@.type=="KeysRotated")]}{.reason} {.message}{end}`), nil
}

// checkConfirmedRotation continues the rotation of checkRotationWaits as the condition asks an administrator to. It copies each key set to
// the hosts outside and restarts their daemons before it confirms the set. A job on the node outside continues, and the hosts work with the
// new key.
func (e *env) checkConfirmedRotation(login, node *outside.Host) {
	e.Helper()
	job, err := login.Run(e.Context(), "sbatch", "--parsable", "--no-requeue", "-w", node.Name, "-o", "/dev/null", "--wrap",
		"while [ ! -e /tmp/over ]; do sleep 0.2; done")
	must(e.T, err)
	for _, step := range []string{"/added", "/default"} {
		e.await(e.keysRotated, step+" --overwrite")
		message, _ := e.keysRotated(e.Context())
		_, secret, _ := strings.Cut(message, "kubectl get secret ")
		secret, _, _ = strings.Cut(secret, " -o ")
		_, confirm, _ := strings.Cut(message, "kubectl annotate ")
		text, err := base64.StdEncoding.DecodeString(e.kubectl(append(append([]string{"get", "secret"}, strings.Fields(secret)...),
			"-o", `jsonpath={.data.slurm\.jwks}`)...))
		must(e.T, err)
		for _, h := range []*outside.Host{login, node} {
			h.WriteFile("/etc/slurm/slurm.jwks", "slurm", "0600", text)
		}
		node.MustRun("sh", "-c", "pid=$(cat /run/slurmd.pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.1; done")
		launchSlurmd(node, e.values.Slurmctld)
		login.MustRun("pkill", "-f", "^/usr/sbin/sackd ")
		launchSackd(login, e.values.Slurmctld)
		e.kubectl(append([]string{"annotate"}, strings.Fields(confirm)...)...)
	}
	e.await(e.keysRotated, "Rotated ")
	e.await(login.Run, "JobState=RUNNING", "scontrol", "show", "job", job)
	node.MustRun("touch", "/tmp/over")
	e.await(login.Run, "JobState=COMPLETED", "scontrol", "show", "job", job)
	e.await(login.Run, "Restarts=0", "scontrol", "show", "job", job)
	e.checkBatch(from{"the login host outside", login.Run}, node.Name)
}

// testNodePort: slurmctld runs in a pod. The hosts outside reach it at a port of the Kubernetes node, and resolve the name of its Service
// themselves. slurmdbd is outside.
func (e *env) testNodePort() {
	e.startSlurmdbd()
	port := 30817 + slices.Index(versions, e.values.Version)
	e.values.Slurmctld = ""
	e.values.SlurmctldService = fmt.Sprintf(
		"{port: %[1]d, nodePort: %[1]d, spec: {type: NodePort, externalTrafficPolicy: Local}}", port)
	e.apply("slurmdbd-outside", "slurmctld-inside", "slurmrestd", "workers")
	e.ctld = e.inPod("slurm-controller-0", "slurmctld")
	e.awaitReady("controller/slurm")
	address := e.kubectl("get", "node", "node", "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
	service := "slurm-controller." + e.namespace
	e.confServer, e.names = fmt.Sprintf("%s:%d", service, port), map[string]string{service: address}
	login, node := e.startLogin(e.confServer, e.names), e.startSlurmd(e.confServer, e.names)
	e.awaitReady("nodeset/w", "restapi/slurm")
	nodes := []string{"w-0", "w-1", node.Name}
	e.awaitIdle(nodes)
	worker := e.inPod("w-0", "slurmd")
	e.checkSrun(nodes, from{"slurmctld", e.ctld}, from{"the login host outside", login.Run},
		from{"the slurmd outside", node.Run}, from{"a worker", worker})
	e.checkRecord(e.checkBatch(from{"the login host outside", login.Run}, "w-1"), login.Run, worker)
	e.checkRecord(e.checkBatch(from{"a worker", worker}, node.Name), login.Run, worker)
	e.testLostSourceAddress(node)
}

// testLostSourceAddress makes the Kubernetes node replace slurmd's address by its own, which the doctor finds. slurmctld then calls the
// node idle, and no job starts on it.
func (e *env) testLostSourceAddress(node *outside.Host) {
	setPolicy := func(policy string) {
		e.Helper()
		e.kubectl("patch", "controller", "slurm", "--type=merge", "-p",
			`{"spec":{"service":{"spec":{"externalTrafficPolicy":"`+policy+`"}}}}`)
		e.await(func(context.Context, ...string) (string, error) {
			return e.kubectl("get", "service", "slurm-controller", "-o", "jsonpath={.spec.externalTrafficPolicy}"), nil
		}, policy)
	}
	setPolicy("Cluster")
	e.checkDoctor("SourceAddressLost")
	lost := e.startSlurmd(e.confServer, e.names)
	e.await(e.ctld, "IDLE", "scontrol", "show", "node", lost.Name)
	if out, err := e.ctld(e.Context(), "srun", "-t1", "-w", lost.Name, "hostname"); err == nil {
		e.Errorf("a job runs on a node with the address of another host: %s", out)
	}
	setPolicy("Local")
	if out, err := e.ctld(e.Context(), "srun", "-t1", "-w", node.Name, "hostname"); err != nil || out != node.Name {
		e.Errorf("on the node with its own address: %q, %v", out, err)
	}
}

// testSlurmdbdInside: slurmdbd runs in a pod behind a load balancer, and serves a slurmctld outside.
func (e *env) testSlurmdbdInside() {
	e.values.Slurmdbd = fmt.Sprintf("198.51.%d.3", 100+slices.Index(versions, e.values.Version))
	e.apply("slurmdbd-inside")
	e.assignAddress("slurm-accounting", e.values.Slurmdbd)
	e.awaitReady("accounting/slurm")
	ctl := e.startSlurmctld(e.values.Slurmdbd)
	e.apply("slurmctld-outside", "slurmrestd", "workers")
	e.awaitReady("nodeset/w", "restapi/slurm")
	nodes := []string{"w-0", "w-1"}
	e.awaitIdle(nodes)
	worker := e.inPod("w-0", "slurmd")
	e.checkSrun(nodes, from{"slurmctld outside", ctl.Run}, from{"a worker", worker})
	e.checkRecord(e.checkBatch(from{"slurmctld outside", ctl.Run}, "w-1"), ctl.Run, worker)
	e.checkRestAPI()
	// slurmdbd notifies slurmctld of changes at the address from which slurmctld connected.
	_, err := ctl.Run(e.Context(), "sacctmgr", "-i", "add", "account", "chemistry")
	must(e.T, err)
	e.await(ctl.Run, "chemistry", "scontrol", "show", "assoc_mgr", "flags=assoc")
	if control := ctl.MustRun("sacctmgr", "-nP", "show", "clusters", "format=controlhost"); control != ctl.Address {
		e.Errorf("slurmdbd knows slurmctld at %s, not %s", control, ctl.Address)
	}
}

// awaitIdle waits until the nodes, and no others, take jobs.
func (e *env) awaitIdle(nodes []string) {
	e.Helper()
	want := slices.Sorted(slices.Values(nodes))
	process.Await(e.T, func() error {
		out, err := e.ctld(e.Context(), "sinfo", "-hN", "-o", "%N %t")
		var idle []string
		for line := range strings.Lines(out) {
			if name, state, _ := strings.Cut(strings.TrimSpace(line), " "); state == "idle" {
				idle = append(idle, name)
			}
		}
		if slices.Sort(idle); err == nil && !slices.Equal(idle, want) {
			err = fmt.Errorf("the nodes are %q, idle must be %v", out, want)
		}
		return err
	})
}

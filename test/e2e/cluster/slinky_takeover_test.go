//go:build e2e

package cluster

import (
	"context"
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

// TestTakeOverFromSlinky takes over clusters of a stand-in for Slinky's operator while jobs run, gives them back, and takes them over
// again, as docs/migrate-from-slinky.md says. Only a scale-in and an update replace workers, each after its jobs. No job is lost or started
// again. It runs with -long.
func TestTakeOverFromSlinky(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	if !*long {
		t.Skip("it runs only with -long")
	}
	kube := startBareKube(t)
	_, err := kube.Kubectl(t.Context(), "create", "namespace", systemNamespace)
	must(t, err)
	runHelm(t, kube, "install", "crds", filepath.Join(charts, "slurm-operator-crds"))
	var namespaces []string
	var clusters []*slinkyCluster
	for _, version := range versions {
		clusters = append(clusters, startSlinkyCluster(t, kube, version))
		namespaces = append(namespaces, namespaceOf("cluster.yaml", version))
	}
	for _, c := range clusters {
		c.startJobs()
	}

	installOperator(t, kube, namespaces)
	for _, c := range clusters {
		c.testHeld()
	}
	for _, c := range clusters {
		c.operator.stop()
		c.testTakeOver()
		c.checkUntouched("statefulsets,deployments,configmaps,secrets")
		c.testDaemons()
		c.testScaleIn()
	}
	checkRights(t, kube)
	runHelm(t, kube, "uninstall", "slurm-operator", "--wait")
	for _, c := range clusters {
		c.testWayBack()
	}

	installOperator(t, kube, namespaces)
	for _, c := range clusters {
		c.operator.stop()
		c.testTakeOver()
		c.testUpdate()
		c.testJobs()
	}
}

// kindsOfDaemons are the kinds whose daemons the test replaces, in the order in which it does so.
var kindsOfDaemons = []string{"accounting", "restapi", "controller"}

// readyOf returns the condition Ready of an object, such as "nodeset/pool".
func (c *slinkyCluster) readyOf(object string) string {
	c.Helper()
	return c.kubectl("get", object, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")]['status','reason','message']}`)
}

// awaitReady waits until the condition Ready of objects contains want.
func (c *slinkyCluster) awaitReady(want string, objects ...string) {
	c.Helper()
	for _, object := range objects {
		process.Await(c.T, func() error {
			if got := c.readyOf(object); !strings.Contains(got, want) {
				return fmt.Errorf("Ready of %s is %q, not %q", object, got, want)
			}
			return nil
		})
	}
}

// testHeld runs both operators. Ours reports the other one, and writes nothing else.
func (c *slinkyCluster) testHeld() {
	c.Helper()
	const reason = v1beta1.ReasonHeldByAnotherOperator
	objects := []string{"controller/slurm", "accounting/slurm", "restapi/slurm", "nodeset/burst", "nodeset/pool", "nodeset/w"}
	c.awaitReady(reason, objects...)
	c.Logf("both operators: %s", c.readyOf("nodeset/pool"))
	c.operator.awaitRounds(10)
	c.awaitReady(reason, objects...)
	c.checkUntouched("statefulsets,deployments,pods,services,configmaps,secrets,poddisruptionbudgets," +
		"persistentvolumeclaims,controllerrevisions")
	if got := c.kubectl("get", "controllers,accountings,restapis,nodesets", "-o",
		"jsonpath={.items[*].metadata.finalizers}"); got != "" {
		c.Errorf("there are the finalizers %s", got)
	}
	c.checkIntact("both operators")
}

// checkUntouched checks that only the stand-in has written objects of the kinds, and our operator has not.
func (c *slinkyCluster) checkUntouched(kinds string) {
	c.Helper()
	touched, theirs := []string{}, 0
	for line := range strings.Lines(c.kubectl("get", kinds, "--show-managed-fields", "-o", "jsonpath="+
		`{range .items[*]}{.kind}/{.metadata.name} {.metadata.managedFields[*].manager}{"\n"}{end}`)) {
		managers := strings.Fields(line)[1:]
		if slices.ContainsFunc(managers, func(m string) bool { return strings.HasPrefix(m, string(slinkyManager)+"-") }) {
			touched = append(touched, line)
		}
		if slices.Contains(managers, string(slinkyManager)) {
			theirs++
		}
	}
	if len(touched) > 0 || theirs == 0 {
		c.Errorf("the stand-in has written %d objects, and our operator %q", theirs, touched)
	}
}

// deletionCommand is the command in the condition of an object whose daemon another operator has made.
var deletionCommand = regexp.MustCompile(`kubectl (--namespace \S+ delete \S+ \S+ --cascade=orphan)`)

// testTakeOver lets our operator take over all objects. It adopts the workers, and the daemons stay.
func (c *slinkyCluster) testTakeOver() {
	c.Helper()
	begin := time.Now()
	c.kubectl("annotate", "nodesets,controllers,restapis,accountings", "--all", "--overwrite",
		v1beta1.AnnotationTakeOver+"="+time.Now().UTC().Format(time.RFC3339))
	for _, kind := range kindsOfDaemons {
		c.awaitReady(v1beta1.ReasonObjectTaken, kind+"/slurm")
	}
	c.awaitReady("True", "nodeset/pool", "nodeset/w")
	for _, worker := range c.workers {
		pod, _, _ := strings.Cut(worker, " ")
		process.AwaitValue(c.T, "the owners of "+pod, "NodeSet Namespace", func(context.Context) (string, error) {
			return c.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.ownerReferences[*].kind}"), nil
		})
	}
	c.kubectl("wait", "nodesets", "pool", "w", "--for=condition=Updated", "--timeout=60s")
	c.Logf("the NodeSets are taken over after %.1f s", time.Since(begin).Seconds())
	c.checkIntact("the take-over")
}

// testDaemons replaces the stand-in's daemons by ours, as the conditions ask. slurmctld continues with its state.
func (c *slinkyCluster) testDaemons() {
	c.Helper()
	claims := c.claims()
	for _, kind := range kindsOfDaemons {
		ready := c.readyOf(kind + "/slurm")
		command := deletionCommand.FindStringSubmatch(ready)
		if command == nil {
			c.Fatalf("Ready of the %s names no command: %s", kind, ready)
		}
		begin := time.Now()
		c.kubectl(strings.Fields(command[1])[2:]...)
		c.awaitDaemon(kind, "install-agent")
		c.awaitReady("True", kind+"/slurm")
		c.Logf("the daemon of the %s is ours after %.1f s", kind, time.Since(begin).Seconds())
		c.await(c.jobs[0], "squeue", "-h", "-o", "%i")
		c.checkIntact("the take-over of the " + kind)
	}
	if now := c.claims(); now != claims {
		c.Errorf("the claims are %s, and were %s", now, claims)
	}
	c.kubectl("wait", "controller/slurm", "--for=condition=ConfigApplied", "--timeout=60s")
	c.awaitReady("True", "nodeset/pool", "nodeset/w")
	job := c.submit("-n", "1", "-w", "pool-0", "--wrap", "hostname")
	c.awaitState(job, "COMPLETED")
	c.awaitRecord(job)
	c.checkIntact("the take-over of all daemons")
}

// awaitDaemon waits until the daemon of an object of a kind runs in pods of the operator whose first container has a name. For slurmrestd
// it waits until all pods have the newest template.
func (c *slinkyCluster) awaitDaemon(kind, firstContainer string) {
	c.Helper()
	if kind == "restapi" {
		process.Await(c.T, func() error {
			_, err := c.kube.Kubectl(c.Context(), "--namespace", c.namespace, "rollout", "status", "deployment/slurm-restapi",
				"--timeout=60s")
			return err
		})
		return
	}
	c.awaitPod("slurm-"+kind+"-0", firstContainer+" True",
		`{.spec.initContainers[0].name} {.status.conditions[?(@.type=="Ready")].status}`)
}

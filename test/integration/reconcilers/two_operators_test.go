//go:build e2e

package reconcilers

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// slinkyWorker is a worker of NodeSet gpu as Slinky's operator makes them.
const slinkyWorker = `
apiVersion: v1
kind: Pod
metadata:
  namespace: team
  name: gpu-ORDINAL
  labels:
    app.kubernetes.io/name: slurmd
    app.kubernetes.io/instance: gpu
    app.kubernetes.io/component: worker
    slinky.slurm.net/cluster: red
    nodeset.slinky.slurm.net/pod-name: gpu-ORDINAL
    nodeset.slinky.slurm.net/pod-index: "ORDINAL"
    nodeset.slinky.slurm.net/pod-hostname: gpu-ORDINAL
    nodeset.slinky.slurm.net/pod-protect: "true"
    nodeset.slinky.slurm.net/scaling-mode: StatefulSet
    controller-revision-hash: 5d9c7
  ownerReferences:
  - {apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, name: gpu, uid: UID, controller: true, blockOwnerDeletion: true}
spec:
  hostname: gpu-ORDINAL
  subdomain: slurm-workers-red
  containers: [{name: slurmd, image: "localhost/slinky-slurmd:1"}]
---`

// slinkyObjects are the other objects that Slinky's operator creates for the NodeSet.
const slinkyObjects = `
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  namespace: team
  name: gpu-5d9c7
  labels: {controller.kubernetes.io/hash: 5d9c7}
  ownerReferences:
  - {apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, name: gpu, uid: UID, controller: true, blockOwnerDeletion: true}
revision: 4
data: {spec: {template: {$patch: replace}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {namespace: team, name: slurm-workers-pdb-red}
spec: {maxUnavailable: 0, selector: {matchLabels: {nodeset.slinky.slurm.net/pod-protect: "true"}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: team, name: slurm-workers-red}
spec: {clusterIP: None, selector: {slinky.slurm.net/cluster: red}, ports: [{name: slurmd, port: 6818}]}
`

// TestNeverBoth: while another operator writes the status of a NodeSet, ours writes nothing else and reports the other
// one. It takes over the NodeSet, with its workers, when an administrator declares that the other one is gone.
func TestNeverBoth(t *testing.T) {
	if missing := realkube.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	simulated := slurmtest.New(slurmtest.Config{Key: []byte(signingKey),
		Nodes: []slurmtest.NodeConf{{Names: "gpu-[0-1]", CPUs: 1, Dynamic: true}}})
	server := httptest.NewServer(simulated.Handler())
	defer server.Close()
	c := startKube(t, realkube.Config{})
	applyDefinitions(t, c)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sun": "slurm",
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString([]byte(signingKey))
	must(t, err)
	fill := strings.NewReplacer("SERVER", server.URL, "TOKEN", token, "replicas: 0", "replicas: 2")
	must(t, c.Apply(t.Context(), fill.Replace(sharedObjectsManifests)))
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.Kubectl(t.Context(), append([]string{"-n", "team"}, args...)...)
		must(t, err)
		return strings.TrimSpace(out)
	}
	writeAsSlinky := func(idle int) {
		t.Helper()
		kubectl("patch", "nodeset", "gpu", "--subresource=status", "--field-manager=manager", "--type=merge", "-p",
			fmt.Sprintf(`{"status":{"nodeSetHash":"5d9c7","selector":"a=b","replicas":2,"slurmIdle":%d}}`, idle))
	}
	writeAsSlinky(0)
	uid := kubectl("get", "nodeset", "gpu", "-o", "jsonpath={.metadata.uid}")
	for ordinal := range 2 {
		must(t, c.Apply(t.Context(), strings.NewReplacer("ORDINAL", fmt.Sprint(ordinal), "UID", uid).Replace(slinkyWorker)))
	}
	must(t, c.Apply(t.Context(), strings.ReplaceAll(slinkyObjects, "UID", uid)))

	// versions changes with every write of an object that the operator would touch.
	versions := func() string {
		t.Helper()
		return kubectl("get", "controllerrevisions,poddisruptionbudgets,services,pods", "-o",
			`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.spec.selector} {.metadata.ownerReferences}`+
				`{"\n"}{end}`) + kubectl("get", "nodeset", "gpu", "-o", "jsonpath={.metadata.finalizers}{.spec}")
	}
	before := versions()
	startNodeSetReconciler(t, c)
	ready := []string{"-n", "team", "get", "nodeset", "gpu", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].reason}`}
	awaitOutput(t, c, "HeldByAnotherOperator", ready...)
	t.Log(kubectl("get", "nodeset", "gpu", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`))
	for idle := range 20 {
		writeAsSlinky(idle + 1)
	}
	if after := versions(); after != before {
		t.Errorf("while the other operator writes, objects change from\n%s\nto\n%s", before, after)
	}
	awaitOutput(t, c, "HeldByAnotherOperator", ready...)
	pods := []string{"get", "-n", "team", "pods", "-o", "jsonpath={.items[*].metadata.uid}"}
	workers, err := c.Kubectl(t.Context(), pods...)
	must(t, err)

	kubectl("annotate", "nodeset", "gpu", "slinky.slurm.net/take-over="+time.Now().UTC().Format(time.RFC3339))
	for _, pod := range []string{"gpu-0", "gpu-1"} {
		awaitOutput(t, c, "NodeSet Namespace", "get", "-n", "team", "pod", pod, "-o",
			"jsonpath={.metadata.ownerReferences[*].kind}")
	}
	awaitOutput(t, c, "True", "get", "-n", "team", "nodeset", "gpu", "-o",
		`jsonpath={.status.conditions[?(@.type=="Updated")].status}`)
	awaitOutput(t, c, "5d9c7", "get", "-n", "team", "controllerrevision", "-l", "app.kubernetes.io/name=slurmd", "-o",
		`jsonpath={.items[*].metadata.annotations.nodeset\.slinky\.slurm\.net/adopted-revisions}`)
	awaitOutput(t, c, strings.TrimSpace(workers), pods...)
	// The other operator is not gone after all: it writes after the time of the annotation.
	idle := 30
	process.Await(t, func() error {
		idle++
		writeAsSlinky(idle)
		if reason := kubectl(ready[2:]...); reason != "HeldByAnotherOperator" {
			return fmt.Errorf("the condition Ready has the reason %s", reason)
		}
		return nil
	})
}

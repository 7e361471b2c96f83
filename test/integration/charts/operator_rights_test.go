//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// operatorObjects are a Slurm cluster with workers, and one object of each kind that stands for a daemon.
const operatorObjects = `
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: team-a}
stringData: {slurm.key: a key of Slurm, jwt: 0123456789abcdef0123456789abcdef}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Token
metadata: {name: t, namespace: team-a, annotations: {slinky.slurm.net/slurm-token: %[1]q}}
spec: {username: slurm, lifetime: 1h, jwtKeyRef: {name: keys, key: jwt}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: hpc, namespace: team-a}
spec: {server: %[1]q, token: {secretRef: {name: t-jwt-slurm, key: SLURM_JWT}}, slurmctld: {host: ctld}, slurmKeyRef: {name: keys, key: slurm.key}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: cpu, namespace: team-a}
spec:
  clusterRef: {name: hpc}
  replicas: 1
  slurmd: {image: slurmd, resources: {limits: {cpu: "1", memory: 1Gi}}}
  template: {}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  volumeClaimTemplates: [{metadata: {name: tmp}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: blue, namespace: team-a}
spec: {external: true, externalConfig: {host: ctld, port: 6817}, slurmKeyRef: {name: keys, key: slurm.key}, jwtKeyRef: {name: keys, key: jwt}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: blue, namespace: team-a}
spec: {controllerRef: {name: blue}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Accounting
metadata: {name: blue, namespace: team-a}
spec: {external: true, externalConfig: {host: dbd, port: 6819}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: LoginSet
metadata: {name: blue, namespace: team-a}
spec: {controllerRef: {name: blue}, sssdConfRef: {name: sssd, key: sssd.conf}}
`

// monitored is a slurmctld that Prometheus is to scrape.
const monitored = `
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: green, namespace: team-a}
spec:
  slurmKeyRef: {name: keys, key: slurm.key}
  jwtKeyRef: {name: keys, key: jwt}
  persistence: {enabled: false}
  slurmctld: {image: slurmctld}
  metrics: {enabled: true, serviceMonitor: {enabled: %t, interval: 30s}}
`

// serviceMonitors defines the kind that the Prometheus operator brings.
const serviceMonitors = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// TestTheOperatorWithTheRightsOfItsChart runs the operator with the rights of its chart. None of
// its requests may be forbidden, and the API server's audit log must show that it uses the rights.
// There is no kubelet.
func TestTheOperatorWithTheRightsOfItsChart(t *testing.T) {
	dir := t.TempDir()
	policy, audit := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	writeFile(t, policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived, Panic]\nrules:\n"+
		"- {level: Metadata, users: [\"system:serviceaccount:slurm:test-slurm-operator\"]}\n- {level: None}\n")
	k := startKube(t, "--audit-policy-file="+policy, "--audit-log-path="+audit)
	slurm := httptest.NewServer(slurmtest.New(slurmtest.Config{
		Key: []byte("0123456789abcdef0123456789abcdef"), Nodes: []slurmtest.NodeConf{{Names: "other", CPUs: 1}},
	}).Handler())
	t.Cleanup(slurm.Close)
	mustRun(t)(k.Helm(t.Context(), "install", "crds", chartDir("slurm-operator-crds"), "--namespace", "slurm"))
	mustRun(t)(k.Helm(t.Context(), "install", "test", chartDir("slurm-operator"), "--namespace", "slurm", "--set",
		fmt.Sprintf("rbac.secretNamespaces={team-a},slurm.pollInterval=1s,metrics.port=%d,webhook.enabled=false",
			process.FreePort(t))))
	if err := k.AwaitEstablished(t.Context(), "clusters.slinky.slurm.net", "nodesets.slinky.slurm.net",
		"loginsets.slinky.slurm.net"); err != nil {
		t.Fatal(err)
	}
	log := runProgram(t, k, "slurm-operator", "slurm-operator", "--leader-election.namespace=slurm")
	if err := k.Apply(t.Context(), fmt.Sprintf(operatorObjects, slurm.URL)); err != nil {
		t.Fatal(err)
	}
	prints := func(want string, args ...string) {
		t.Helper()
		awaitSuccess(t, log, strings.Join(args, " ")+" to print "+want, func() error {
			got, err := k.Kubectl(t.Context(), append([]string{"get", "--namespace", "team-a"}, args...)...)
			if err == nil && strings.TrimSpace(got) != want {
				err = fmt.Errorf("it prints %q", got)
			}
			return err
		})
	}
	ready := `--output=jsonpath={.status.conditions[?(@.type=="Ready")].reason}`
	prints("Available", "cluster", "hpc", ready)
	for kind, reason := range map[string]string{"controller": "External", "accounting": "External",
		"restapi": "InvalidSpec", "loginset": "ReferenceNotFound"} { // no image, no Secret
		prints(reason, kind, "blue", ready)
	}
	prints("cpu-0", "pods", "--output=jsonpath={.items[*].metadata.name}")
	prints("tmp-cpu-0", "persistentvolumeclaims", "--output=jsonpath={.items[*].metadata.name}")
	mustRun(t)(k.Kubectl(t.Context(), "scale", "nodeset", "cpu", "--replicas=0", "--namespace", "team-a"))
	prints("", "pods", "--output=jsonpath={.items[*].metadata.name}")
	mustRun(t)(k.Kubectl(t.Context(), "delete", "nodeset", "cpu", "--namespace", "team-a", "--timeout=60s"))
	// A ServiceMonitor is created where Kubernetes has the kind, and deleted when it is no longer wanted.
	ignored := `--output=jsonpath={.status.conditions[?(@.type=="FieldsIgnored")].reason}`
	mustApply := func(text string) {
		t.Helper()
		if err := k.Apply(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	mustApply(fmt.Sprintf(monitored, true))
	prints("NotFollowed", "controller", "green", ignored)
	mustApply(serviceMonitors)
	if err := k.AwaitEstablished(t.Context(), "servicemonitors.monitoring.coreos.com"); err != nil {
		t.Fatal(err)
	}
	mustRun(t)(k.Kubectl(t.Context(), "patch", "controller", "green", "--namespace", "team-a", "--type=merge",
		"--patch", `{"spec":{"metrics":{"serviceMonitor":{"interval":"20s"}}}}`)) // the operator looks again
	prints("20s", "servicemonitors", "green-controller", "--output=jsonpath={.spec.endpoints[0].interval}")
	prints("", "controller", "green", ignored)
	mustApply(fmt.Sprintf(monitored, false))
	prints("", "servicemonitors", "--output=name")
	if text := string(readFile(t, log)); strings.Contains(text, "forbidden") {
		t.Errorf("the operator lacks a right:\n%s", text)
	}
	used := usedRights(t, audit)
	for _, r := range programRights() {
		for verb := range strings.SplitSeq(r.verbs, ",") {
			if verb == "list" {
				continue // a watch begins with a list if the server cannot stream it
			}
			if key := r.resource + " " + verb; r.chart == "slurm-operator" && !used[key] && !isUsedElsewhere(r) {
				t.Errorf("the operator did not use %q", key)
			}
		}
	}
}

// isUsedElsewhere reports whether a right needs what this test lacks: a kubelet, a slurmctld,
// webhooks, scrapes, HPAs, updates, or values that are not set.
func isUsedElsewhere(r right) bool {
	return slices.Contains([]string{
		"pods/exec", "nodes", "configmaps", "tokenreviews.authentication.k8s.io",
		"subjectaccessreviews.authorization.k8s.io",
		"validatingwebhookconfigurations.admissionregistration.k8s.io",
		"customresourcedefinitions.apiextensions.k8s.io",
		"nodesets/scale.slinky.slurm.net",
		"nodesets.slinky.slurm.net/slurm_nodeset_required_nodes.custom.metrics.k8s.io",
		"statefulsets.apps", "deployments.apps", "controllers/finalizers.slinky.slurm.net",
		"restapis/finalizers.slinky.slurm.net", "accountings/finalizers.slinky.slurm.net",
		"loginsets/finalizers.slinky.slurm.net",
		"nodesets/finalizers.slinky.slurm.net", "tokens/finalizers.slinky.slurm.net", "pods/status",
	}, r.resource) || slices.Contains([]string{
		"controllers.slinky.slurm.net patch", "services get", "services delete",
		"nodesets.slinky.slurm.net get", "pods get", "secrets update", "secrets create,patch,delete",
		"controllerrevisions.apps patch", "controllerrevisions.apps delete",
		"persistentvolumeclaims patch", "persistentvolumeclaims delete", "poddisruptionbudgets.policy patch",
		"events create,patch", "events.events.k8s.io create,patch", "pods patch",
		"leases.coordination.k8s.io get,create,update",
		"servicemonitors.monitoring.coreos.com create,patch", // an apply that creates is a patch
	}, r.resource+" "+r.verbs)
}

// usedRights returns the requests that the API server allowed, as "resource verb".
func usedRights(t *testing.T, audit string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for line := range strings.Lines(string(readFile(t, audit))) {
		var event struct {
			Verb           string
			ObjectRef      struct{ APIGroup, Resource, Subresource string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			continue // the last line may be incomplete
		}
		resource := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		if event.ResponseStatus.Code == http.StatusForbidden {
			continue
		}
		out[strings.Trim(resource+"."+event.ObjectRef.APIGroup, ".")+" "+event.Verb] = true
	}
	return out
}

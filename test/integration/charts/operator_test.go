//go:build e2e

package charts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/slurmtide/slurmtide/operator/admission"
)

func operatorRefusals() []refusal {
	return []refusal{
		{"a misspelt value", setValues("webhooks.enabled=true"), "additional properties 'webhooks' not allowed"},
		{"an invalid namespace", setValues("namespaces={Team_A}"), "/namespaces/0': 'Team_A' does not match pattern"},
		{"two pods without a leader", setValues("leaderElection=false,replicaCount=2"),
			"replicaCount must be at most 1"},
		{"a share of more than all", []string{"--set-json", "nodeSet.brakeShare=1.5"},
			"/nodeSet/brakeShare': maximum: got 1.5, want 1"},
		{"an age without a unit", setValues("nodeSet.staleAfter=90"), "/nodeSet/staleAfter': got number, want string"},
		{"an unknown reader", setValues("slurm.jobsReader=fast"),
			"/slurm/jobsReader': value must be one of 'auto', 'list', 'delta'"},
		{"a privileged port", setValues("webhook.port=443"), "/webhook/port': minimum: got 443, want 1,024"},
		{"an unknown failure policy", setValues("webhook.failurePolicy=Maybe"),
			"/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"},
		{"an existing certificate without its CA",
			setValues("certificates.from=existingSecret,certificates.existingSecret=a"),
			"requires certificates.existingSecret and certificates.caBundle"},
		{"an existing certificate beside a self-signed one", setValues("certificates.existingSecret=a"),
			"require certificates.from=existingSecret, which is selfMade"},
		{"cert-manager without an issuer", setValues("certificates.from=certManager"),
			"requires certificates.certManager.issuerRef"},
		{"a budget that blocks drains", setValues("replicaCount=2,podDisruptionBudget.minAvailable=2"),
			"podDisruptionBudget.minAvailable must be less than replicaCount"},
		{"the tag latest", setValues("image.tag=latest"), "/image/tag': 'not' failed"},
		{"a flag that other values set", setValues("extraArgs={--kube.qps=1}"), "extraArgs repeats --kube.qps"},
		{"no requests to Kubernetes", setValues("kube.qps=0"), "/kube/qps': exclusiveMinimum: got 0, want 0"},
	}
}

// TestWebhooksAreThoseOfTheOperator compares the webhooks of the chart with those that the operator
// serves.
func TestWebhooksAreThoseOfTheOperator(t *testing.T) {
	text, err := renderChart(t, "slurm-operator")
	if err != nil {
		t.Fatal(err)
	}
	want := admission.ValidatingWebhooks(admission.WebhookEndpoint{Namespace: "slurm", Service: "test-slurm-operator"},
		nil)
	for _, object := range decodeObjects(t, text) {
		if c, ok := object.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
			if diff := cmp.Diff(want, c.Webhooks); diff != "" {
				t.Errorf("(-operator +chart):\n%s", diff)
			}
			return
		}
	}
	t.Error("there is no webhook configuration")
}

// TestWhatTheOperatorMayDo asks the API server about the rights of an operator of one namespace.
func TestWhatTheOperatorMayDo(t *testing.T) {
	k := startKube(t)
	mustRun(t)(k.Helm(t.Context(), "install", "crds", chartDir("slurm-operator-crds"), "--namespace", "slurm"))
	mustRun(t)(k.Helm(t.Context(), "install", "test", chartDir("slurm-operator"), "--namespace", "slurm", "--set",
		"namespaces={team-a}"))
	for _, tc := range []struct{ action, want string }{
		{"patch nodesets.slinky.slurm.net --subresource=status --namespace team-a", "yes"},
		{"update nodesets.slinky.slurm.net --subresource=scale --namespace team-a", "yes"},
		{"create nodesets.slinky.slurm.net --namespace team-a", "no"},
		{"delete nodesets.slinky.slurm.net --namespace team-a", "no"},
		{"patch controllers.slinky.slurm.net --namespace team-a", "yes"},
		{"delete controllers.slinky.slurm.net --namespace team-a", "no"},
		{"patch controllers.slinky.slurm.net --namespace team-b", "no"},
		{"create statefulsets.apps --namespace team-b", "no"},
		{"list nodesets.slinky.slurm.net --namespace team-b", "no"},
		{"delete pods --namespace team-a", "yes"},
		{"create pods --subresource=exec --namespace team-a", "no"},
		{"create pods --namespace team-b", "no"},
		{"create pods --namespace slurm", "no"},
		{"get secrets/token --namespace team-a", "yes"},
		{"patch secrets/token --namespace team-a", "yes"},
		{"patch secrets/token --namespace team-b", "no"},
		{"list secrets --namespace team-a", "no"},
		{"get secrets/token --namespace team-b", "no"},
		{"update secrets/test-slurm-operator-certificate --namespace slurm", "yes"},
		{"get secrets/another --namespace slurm", "no"},
		{"watch nodes", "yes"},
		{"patch nodes", "no"},
		{"update customresourcedefinitions.apiextensions.k8s.io/nodesets.slinky.slurm.net", "yes"},
		{"update customresourcedefinitions.apiextensions.k8s.io/clusters.example.com", "no"},
		{"update validatingwebhookconfigurations.admissionregistration.k8s.io/test-slurm-operator.slurm", "yes"},
		{"create validatingwebhookconfigurations.admissionregistration.k8s.io", "no"},
		{"create clusterroles.rbac.authorization.k8s.io", "no"},
	} {
		// kubectl fails if the answer is no.
		out, _ := k.Kubectl(t.Context(),
			append([]string{"auth", "can-i", "--as", "system:serviceaccount:slurm:test-slurm-operator"},
				strings.Fields(tc.action)...)...)
		if got := strings.TrimSpace(out); got != tc.want {
			t.Errorf("can-i %s: %q, want %q", tc.action, got, tc.want)
		}
	}
}

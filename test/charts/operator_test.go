//go:build e2e

package charts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/slurmtide/slurmtide/operator/admission"
)

func ofOperator() []refusal {
	return []refusal{
		{"a misspelt value", set("webhooks.enabled=true"), "additional properties 'webhooks' not allowed"},
		{"a namespace that can not be", set("namespaces={Team_A}"), "/namespaces/0': 'Team_A' does not match pattern"},
		{"two pods without a leader", set("leaderElection=false,replicaCount=2"), "replicaCount must be at most 1"},
		{"a share of more than all", []string{"--set-json", "nodeSet.brakeShare=1.5"}, "/nodeSet/brakeShare': maximum: got 1.5, want 1"},
		{"an age without a unit", set("nodeSet.staleAfter=90"), "/nodeSet/staleAfter': got number, want string"},
		{"an unknown reader", set("slurm.jobsReader=fast"), "/slurm/jobsReader': value must be one of 'auto', 'list', 'delta'"},
		{"a privileged port", set("webhook.port=443"), "/webhook/port': minimum: got 443, want 1,024"},
		{"webhooks that are neither best effort nor strict", set("webhook.failurePolicy=Maybe"), "/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"},
		{"a given certificate that nobody trusts", set("certificates.from=existingSecret,certificates.existingSecret=a"), "set certificates.existingSecret and certificates.caBundle"},
		{"a given certificate beside a self-made one", set("certificates.existingSecret=a"), "are for certificates.from=existingSecret, which is selfMade"},
		{"cert-manager without an issuer", set("certificates.from=certManager"), "set certificates.certManager.issuerRef"},
		{"a budget that blocks drains", set("replicaCount=2,podDisruptionBudget.minAvailable=2"), "podDisruptionBudget.minAvailable must be less than replicaCount"},
		{"the tag latest", set("image.tag=latest"), "/image/tag': 'not' failed"},
		{"a flag that other values set", set("extraArgs={--kube.qps=1}"), "extraArgs repeats --kube.qps"},
		{"no requests to Kubernetes", set("kube.qps=0"), "/kube/qps': exclusiveMinimum: got 0, want 0"},
	}
}

// The webhooks of the chart are those that the operator answers.
func TestWebhooksAreThoseOfTheOperator(t *testing.T) {
	text, err := render(t, "slurm-operator")
	if err != nil {
		t.Fatal(err)
	}
	want := admission.ValidatingWebhooks(admission.Target{Namespace: "slurm", Service: "test-slurm-operator"}, nil)
	for _, object := range objects(t, text) {
		if c, ok := object.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
			if diff := cmp.Diff(want, c.Webhooks); diff != "" {
				t.Errorf("(-operator +chart):\n%s", diff)
			}
			return
		}
	}
	t.Error("there is no webhook configuration")
}

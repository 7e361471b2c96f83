//go:build e2e

package charts

import (
	"strings"
	"testing"
)

// refusal is a wrong value and a part of the error message.
type refusal struct {
	name string
	args []string
	want string
}

func TestBadValuesAreRefused(t *testing.T) {
	for chart, refusals := range map[string][]refusal{
		"slurm-exporter": ofExporter(), "slurm-metrics": ofMetrics(), "slurm-operator": ofOperator(),
	} {
		for _, tc := range refusals {
			t.Run(chart+"/"+tc.name, func(t *testing.T) {
				_, err := render(t, chart, append([]string{"--values", cases(t, chart)["minimal"]}, tc.args...)...)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("the error does not contain %q: %v", tc.want, err)
				}
			})
		}
	}
}

func ofExporter() []refusal {
	return []refusal{
		{"no slurmrestd", set("slurm.url="), "slurm.url is missing: set it to the address of slurmrestd"},
		{"a URL without a scheme", set("slurm.url=slurm:6820"), "/slurm/url': 'slurm:6820' does not match pattern"},
		{"no token", set("slurm.token.existingSecret="), "no token: set slurm.token.existingSecret"},
		{"two tokens", set("slurm.jwtKey.existingSecret=key"), "slurm.jwtKey.existingSecret are mutually exclusive"},
		{"a simulated and a real cluster", set("slurm.simulate=true"), "slurm.url and slurm.simulate are mutually exclusive"},
		{"a token for a simulated cluster", set("slurm.simulate=true,slurm.url="), "slurm.simulate needs no token"},
		{"a misspelt value", set("slurm.pollIntervall=5s"), "additional properties 'pollIntervall' not allowed"},
		{"an unknown collector", set("collectors.gpus=true"), "additional properties 'gpus' not allowed"},
		{"a collector that is neither on nor off", set("collectors.nodes=maybe"), "/collectors/nodes': got string, want boolean"},
		{"an unknown set of names", set("compat={nagios}"), "/compat/0': value must be one of 'slinky', 'openmetrics', 'vpenso'"},
		{"an interval without a unit", set("slurm.pollInterval=10"), "/slurm/pollInterval': got number, want string"},
		{"an interval that is not a duration", []string{"--set-string", "slurm.pollInterval=10 s"}, "/slurm/pollInterval': '10 s' does not match pattern"},
		{"an unknown reader", set("slurm.jobsReader=fast"), "/slurm/jobsReader': value must be one of 'auto', 'list', 'delta'"},
		{"the tag latest", set("image.tag=latest"), "/image/tag': 'not' failed"},
		{"half a digest", set("image.digest=sha256:1234"), "/image/digest': 'sha256:1234' does not match pattern"},
		{"a negative number of pods", set("replicaCount=-1"), "/replicaCount': minimum: got -1, want 0"},
		{"a privileged port", set("web.port=80"), "/web/port': minimum: got 80, want 1,024"},
		{"a budget that blocks drains", set("podDisruptionBudget.enabled=true,podDisruptionBudget.maxUnavailable=0"), "podDisruptionBudget.maxUnavailable must be at least 1"},
		{"a flag that other values set", set("extraArgs={--log.level=warn}"), "extraArgs repeats --log.level"},
		{"an argument that is not a flag", set("extraArgs={warn}"), "/extraArgs/0': 'warn' does not match pattern"},
	}
}

func ofMetrics() []refusal {
	const url = "slurm.url=http://slurm:6820,"
	return []refusal{
		{"a URL without a scheme", set("slurm.url=slurm:6820"), "/slurm/url': 'slurm:6820' does not match pattern"},
		{"one Slurm without a token", set("slurm.url=http://slurm:6820"), "no token: set slurm.token.existingSecret"},
		{"two tokens", set(url + "slurm.token.existingSecret=a,slurm.jwtKey.existingSecret=b"), "slurm.jwtKey.existingSecret are mutually exclusive"},
		{"a token without a Slurm", set("slurm.token.existingSecret=a"), "require slurm.url, which is empty"},
		{"a cluster without a namespace", set(url + "slurm.token.existingSecret=a,slurm.cluster=hpc"), "/slurm/cluster': 'hpc' does not match pattern"},
		{"a misspelt value", set("certificate.from=selfMade"), "additional properties 'certificate' not allowed"},
		{"an invalid namespace", set("namespaces={Team_A}"), "/namespaces/0': 'Team_A' does not match pattern"},
		{"a namespace twice", set("namespaces={a,a}"), "/namespaces': items at 0 and 1 are equal"},
		{"certificates from nowhere", set("certificates.from=vault"), "/certificates/from': value must be one of 'selfMade', 'certManager', 'existingSecret'"},
		{"an existing certificate without its CA", set("certificates.from=existingSecret,certificates.existingSecret=a"), "requires certificates.existingSecret and certificates.caBundle"},
		{"a CA that is not in base64", set("certificates.caBundle=-----BEGIN"), "/certificates/caBundle': '-----BEGIN' does not match pattern"},
		{"an existing certificate beside a self-signed one", set("certificates.existingSecret=a"), "require certificates.from=existingSecret, which is selfMade"},
		{"cert-manager without an issuer", set("certificates.from=certManager"), "requires certificates.certManager.issuerRef"},
		{"an age without a unit", set("maxAge=90"), "/maxAge': got number, want string"},
		{"external metrics, neither on nor off", set("externalMetrics.enabled=keda"), "/externalMetrics/enabled': got string, want boolean"},
		{"a grace period shorter than the shutdown delay", set("shutdownDelay=1m30s,terminationGracePeriodSeconds=90"), "terminationGracePeriodSeconds must be more than shutdownDelay"},
		{"a budget that blocks drains", set("podDisruptionBudget.minAvailable=2"), "podDisruptionBudget.minAvailable must be less than replicaCount"},
		{"no port of the API server", []string{"--set-json", "networkPolicy.apiServer.ports=[]"}, "/networkPolicy/apiServer/ports': minItems: got 0, want 1"},
		{"the tag latest", set("image.tag=latest"), "/image/tag': 'not' failed"},
		{"an unknown collector", set("exporter.collectors.gpus=true"), "additional properties 'gpus' not allowed"},
		{"a flag that other values set", set("extraArgs={--metrics-max-age=1s}"), "extraArgs repeats --metrics-max-age"},
		{"no requests to Kubernetes", set("kube.qps=0"), "/kube/qps': exclusiveMinimum: got 0, want 0"},
	}
}

func set(values string) []string { return []string{"--set", values} }

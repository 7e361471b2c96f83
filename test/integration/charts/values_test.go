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
		"slurm": slurmRefusals(), "slurm-flux": fluxRefusals(),
		"slurm-exporter": exporterRefusals(), "slurm-metrics": metricsRefusals(), "slurm-operator": operatorRefusals(),
	} {
		for _, tc := range refusals {
			t.Run(chart+"/"+tc.name, func(t *testing.T) {
				_, err := renderChart(t, chart, append([]string{"--values", valuesFiles(t, chart)["minimal"]},
					tc.args...)...)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("the error does not contain %q: %v", tc.want, err)
				}
			})
		}
	}
}

func exporterRefusals() []refusal {
	return []refusal{
		{"no slurmrestd", setValues("slurm.url="), "slurm.url is missing: set it to the address of slurmrestd"},
		{"a URL without a scheme", setValues("slurm.url=slurm:6820"),
			"/slurm/url': 'slurm:6820' does not match pattern"},
		{"no token", setValues("slurm.token.existingSecret="), "no token: set slurm.token.existingSecret"},
		{"two tokens", setValues("slurm.jwtKey.existingSecret=key"),
			"slurm.jwtKey.existingSecret are mutually exclusive"},
		{"a simulated and a real cluster", setValues("slurm.simulate=true"),
			"slurm.url and slurm.simulate are mutually exclusive"},
		{"a token for a simulated cluster", setValues("slurm.simulate=true,slurm.url="),
			"slurm.simulate needs no token"},
		{"a misspelt value", setValues("slurm.pollIntervall=5s"), "additional properties 'pollIntervall' not allowed"},
		{"an unknown collector", setValues("collectors.gpus=true"), "additional properties 'gpus' not allowed"},
		{"a collector that is neither on nor off", setValues("collectors.nodes=maybe"),
			"/collectors/nodes': got string, want boolean"},
		{"an unknown set of names", setValues("compat={nagios}"),
			"/compat/0': value must be one of 'slinky', 'openmetrics', 'vpenso'"},
		{"an interval without a unit", setValues("slurm.pollInterval=10"),
			"/slurm/pollInterval': got number, want string"},
		{"an interval that is not a duration", []string{"--set-string", "slurm.pollInterval=10 s"},
			"/slurm/pollInterval': '10 s' does not match pattern"},
		{"an unknown reader", setValues("slurm.jobsReader=fast"),
			"/slurm/jobsReader': value must be one of 'auto', 'list', 'delta'"},
		{"the tag latest", setValues("image.tag=latest"), "/image/tag': 'not' failed"},
		{"half a digest", setValues("image.digest=sha256:1234"),
			"/image/digest': 'sha256:1234' does not match pattern"},
		{"a negative number of pods", setValues("replicaCount=-1"), "/replicaCount': minimum: got -1, want 0"},
		{"a privileged port", setValues("web.port=80"), "/web/port': minimum: got 80, want 1,024"},
		{"a budget that blocks drains",
			setValues("podDisruptionBudget.enabled=true,podDisruptionBudget.maxUnavailable=0"),
			"podDisruptionBudget.maxUnavailable must be at least 1"},
		{"a flag that other values set", setValues("extraArgs={--log.level=warn}"), "extraArgs repeats --log.level"},
		{"an argument that is not a flag", setValues("extraArgs={warn}"),
			"/extraArgs/0': 'warn' does not match pattern"},
	}
}

func metricsRefusals() []refusal {
	const url = "slurm.url=http://slurm:6820,"
	return []refusal{
		{"a URL without a scheme", setValues("slurm.url=slurm:6820"),
			"/slurm/url': 'slurm:6820' does not match pattern"},
		{"one Slurm without a token", setValues("slurm.url=http://slurm:6820"),
			"no token: set slurm.token.existingSecret"},
		{"two tokens", setValues(url + "slurm.token.existingSecret=a,slurm.jwtKey.existingSecret=b"),
			"slurm.jwtKey.existingSecret are mutually exclusive"},
		{"a token without a Slurm", setValues("slurm.token.existingSecret=a"), "require slurm.url, which is empty"},
		{"a cluster without a namespace", setValues(url + "slurm.token.existingSecret=a,slurm.cluster=hpc"),
			"/slurm/cluster': 'hpc' does not match pattern"},
		{"a misspelt value", setValues("certificate.from=selfMade"), "additional properties 'certificate' not allowed"},
		{"an invalid namespace", setValues("namespaces={Team_A}"), "/namespaces/0': 'Team_A' does not match pattern"},
		{"a namespace twice", setValues("namespaces={a,a}"), "/namespaces': items at 0 and 1 are equal"},
		{"certificates from nowhere", setValues("certificates.from=vault"),
			"/certificates/from': value must be one of 'selfMade', 'certManager', 'existingSecret'"},
		{"an existing certificate without its CA",
			setValues("certificates.from=existingSecret,certificates.existingSecret=a"),
			"requires certificates.existingSecret and certificates.caBundle"},
		{"a CA that is not in base64", setValues("certificates.caBundle=-----BEGIN"),
			"/certificates/caBundle': '-----BEGIN' does not match pattern"},
		{"an existing certificate beside a self-signed one", setValues("certificates.existingSecret=a"),
			"require certificates.from=existingSecret, which is selfMade"},
		{"cert-manager without an issuer", setValues("certificates.from=certManager"),
			"requires certificates.certManager.issuerRef"},
		{"an age without a unit", setValues("maxAge=90"), "/maxAge': got number, want string"},
		{"external metrics, neither on nor off", setValues("externalMetrics.enabled=keda"),
			"/externalMetrics/enabled': got string, want boolean"},
		{"a grace period shorter than the shutdown delay",
			setValues("shutdownDelay=1m30s,terminationGracePeriodSeconds=90"),
			"terminationGracePeriodSeconds must be more than shutdownDelay"},
		{"a budget that blocks drains", setValues("podDisruptionBudget.minAvailable=2"),
			"podDisruptionBudget.minAvailable must be less than replicaCount"},
		{"no port of the API server", []string{"--set-json", "networkPolicy.apiServer.ports=[]"},
			"/networkPolicy/apiServer/ports': minItems: got 0, want 1"},
		{"the tag latest", setValues("image.tag=latest"), "/image/tag': 'not' failed"},
		{"an unknown collector", setValues("exporter.collectors.gpus=true"),
			"additional properties 'gpus' not allowed"},
		{"a flag that other values set", setValues("extraArgs={--metrics-max-age=1s}"),
			"extraArgs repeats --metrics-max-age"},
		{"no requests to Kubernetes", setValues("kube.qps=0"), "/kube/qps': exclusiveMinimum: got 0, want 0"},
	}
}

func setValues(values string) []string { return []string{"--set", values} }

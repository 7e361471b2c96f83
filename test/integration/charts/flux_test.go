//go:build e2e

package charts

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func fluxRefusals() []refusal {
	return []refusal{
		{"a misspelt value", setValues("cluster.hpc.enabled=true"), "additional properties 'cluster' not allowed"},
		{"a misspelt value of a cluster", setValues("clusters.hpc.value.a=1"), "additional properties 'value' not allowed"},
		{"an unknown field of a HelmRelease", setValues("operator.spec.suspended=true"), "'suspended'"},
		{"a field of a HelmRelease that a value is for", setValues("operator.spec.targetNamespace=a"), "'targetNamespace'"},
		{"an unknown field of a source", setValues("source.spec.secret=a"), "'secret'"},
		{"a source of another kind", setValues("source.kind=GitRepository"), "/source/kind': value must be one of"},
		{"an OCIRepository without a registry", setValues("source.url=https://a"), "source.url must begin with oci://"},
		{"a name of a cluster with a capital", setValues("clusters.HPC.enabled=true"), "'HPC' does not match pattern"},
		{"a long name of a cluster", setValues("clusters." + strings.Repeat("a", 54) + ".enabled=true"), "maxLength"},
		{"a long name of a HelmRelease",
			setValues("fullnameOverride=" + strings.Repeat("b", 40) + ",clusters." + strings.Repeat("a", 20) + ".enabled=true"),
			"the name of the HelmRelease would be too long"},
		{"two releases of one name", setValues("clusters.slurm-operator.namespace=slurm-system"),
			"operator and clusters.slurm-operator are both the Helm release slurm-system/slurm-operator"},
		{"two clusters in one namespace", setValues("clusters.a.namespace=c,clusters.b.namespace=c"),
			"clusters.a and clusters.b are both in the namespace c"},
		{"two ways to another cluster", setValues("kubeConfig.secretRef.name=a,kubeConfig.configMapRef.name=b"),
			"are mutually exclusive"},
		{"a key of no Secret", setValues("kubeConfig.secretRef.key=a"), "requires kubeConfig.secretRef.name"},
		{"a time without a unit", setValues("removal.timeout=60"), "/removal/timeout': got number, want string"},
		{"the tag latest", setValues("removal.image=a:latest"), "/removal/image': 'not' failed"},
		{"an unknown policy", setValues("upgrade.crds=Replace"), "/upgrade/crds': value must be one of"},
	}
}

// runInGitopsModule runs Go in tools/gitops, the module with Flux's own types, and returns the output.
func runInGitopsModule(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join("..", "..", "..", "tools", "gitops")
	cmd.Stdin = strings.NewReader(stdin)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &problems)
	}
	return string(out)
}

// TestFluxKnowsEveryField decodes the objects strictly, with the types of Flux's controllers.
func TestFluxKnowsEveryField(t *testing.T) {
	for title, values := range valuesFiles(t, "slurm-flux") {
		t.Run(title, func(t *testing.T) {
			objects := documentsOfFlux(t, values)
			decoded := runInGitopsModule(t, strings.Join(objects, "\n---\n"), "run", ".", "decode")
			if got := strings.Count(decoded, "\n"); got != len(objects) || !strings.Contains(decoded, "HelmRelease") {
				t.Errorf("%d of %d objects were decoded:\n%s", got, len(objects), decoded)
			}
		})
	}
}

// documentsOfFlux returns the output of the chart slurm-flux, without the objects of Kubernetes' own kinds.
func documentsOfFlux(t *testing.T, values string) []string {
	t.Helper()
	text := mustRun(t)(renderChart(t, "slurm-flux", "--values", values))
	return slices.DeleteFunc(strings.Split(text, "\n---\n"), func(document string) bool { return !isForeign(document) })
}

// TestTheSchemaKnowsTheFieldsOfFlux: spec of a release and of the source accept every field of Flux, except the fields that the chart sets
// from its own values.
func TestTheSchemaKnowsTheFieldsOfFlux(t *testing.T) {
	var flux map[string][]string
	if err := json.Unmarshal([]byte(runInGitopsModule(t, "", "run", ".", "fields")), &flux); err != nil {
		t.Fatal(err)
	}
	type spec struct {
		AllOf []struct{ Properties map[string]any }
	}
	var schema struct {
		Defs struct {
			Release struct{ Properties struct{ Spec spec } }
		} `json:"$defs"`
		Properties struct {
			Source struct{ Properties struct{ Spec spec } }
		}
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(chartDir("slurm-flux"), "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name         string
		got          spec
		fields, ours []string
	}{
		{"release", schema.Defs.Release.Properties.Spec, flux["HelmRelease"],
			[]string{"chart", "chartRef", "dependsOn", "kubeConfig", "releaseName", "storageNamespace", "targetNamespace",
				"values", "valuesFrom"}},
		{"source", schema.Properties.Source.Properties.Spec,
			append(flux["OCIRepository"], flux["HelmRepository"]...), []string{"interval", "layerSelector", "ref", "type", "url"}},
	} {
		want := slices.DeleteFunc(tc.fields, func(name string) bool { return slices.Contains(tc.ours, name) })
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(tc.got.AllOf[0].Properties))
		if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
			t.Errorf("%s (-Flux +schema):\n%s", tc.name, diff)
		}
	}
}

// TestSecretsAreReadInTheNamespacesOfClusters: the operator and the adapter may read the Secrets of the clusters that the chart installs,
// unless the user restricts this.
func TestSecretsAreReadInTheNamespacesOfClusters(t *testing.T) {
	for _, tc := range []struct {
		name, set string
		want      []string
	}{
		{"of each cluster once", "clusters.a.namespace=c,clusters.b.namespace=b", []string{"b", "c"}},
		{"also of a cluster that is being removed", "clusters.a.enabled=true,clusters.b.enabled=false", []string{"a", "b"}},
		{"as the user says", "clusters.a.enabled=true,operator.values.rbac.secretNamespaces={*}", []string{"*"}},
		{"as the namespaces of the operator say", "clusters.a.enabled=true,operator.values.namespaces={d}", nil},
		{"as the chart's default", "operator.enabled=true", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := mustRun(t)(renderChart(t, "slurm-flux", setValues(tc.set)...))
			operator := helmReleasesIn(t, text)["test-operator"]
			var values struct {
				Rbac struct{ SecretNamespaces []string }
			}
			if err := yaml.Unmarshal(operator.Spec.Values, &values); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, values.Rbac.SecretNamespaces); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

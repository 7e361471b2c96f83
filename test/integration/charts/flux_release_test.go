//go:build e2e

package charts

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// helmRelease contains the fields of a HelmRelease that the tests read. tools/gitops uses Flux's own type.
type helmRelease struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		ChartRef                                       struct{ Kind, Name string }
		Chart                                          struct{ Spec struct{ Chart string } }
		ReleaseName, TargetNamespace, StorageNamespace string
		DependsOn                                      []struct{ Name, Namespace string }
		KubeConfig                                     struct{ SecretRef struct{ Name, Key string } }
		Install                                        struct{ CreateNamespace, DisableTakeOwnership bool }
		Test                                           struct{ Enable bool }
		HealthCheckExprs                               []healthCheck
		Values                                         json.RawMessage
	}
}

// healthCheck has expressions about the objects of a kind.
type healthCheck struct{ APIVersion, Kind, Failed, Current string }

// helmReleasesIn returns the HelmReleases in a YAML text by name.
func helmReleasesIn(t *testing.T, text string) map[string]helmRelease {
	t.Helper()
	out := map[string]helmRelease{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var release helmRelease
		if !strings.Contains(document, "\nkind: HelmRelease\n") {
			continue
		}
		if err := yaml.Unmarshal([]byte(document), &release); err != nil {
			t.Fatal(err)
		}
		out[release.Metadata.Name] = release
	}
	return out
}

// orderByDependencies returns the releases as Flux installs them: each after those that it depends on.
func orderByDependencies(t *testing.T, releases map[string]helmRelease) []helmRelease {
	t.Helper()
	var out []helmRelease
	installed := map[string]bool{}
	for len(out) < len(releases) {
		before := len(out)
		for _, name := range sortedKeys(releases) {
			if !installed[name] && isReady(releases[name], installed) {
				installed[name] = true
				out = append(out, releases[name])
			}
		}
		if len(out) == before {
			t.Fatalf("of %v only %v could be installed", sortedKeys(releases), sortedKeys(installed))
		}
	}
	return out
}

func isReady(release helmRelease, installed map[string]bool) bool {
	for _, needed := range release.Spec.DependsOn {
		if !installed[needed.Name] {
			return false
		}
	}
	return true
}

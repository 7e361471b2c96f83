//go:build e2e

package charts

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const (
	examplesOfArgo = "../../../docs/examples/argocd"
	waveOfArgo     = "argocd.argoproj.io/sync-wave"
)

// application has the fields of Argo CD's Application that the examples use, named as in its documentation. Argo CD's own module needs
// hundreds of others.
type application struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
		Finalizers  []string          `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		Project string `json:"project"`
		Source  struct {
			RepoURL        string `json:"repoURL"`
			TargetRevision string `json:"targetRevision"`
			Path           string `json:"path"`
			Helm           struct {
				ReleaseName  string         `json:"releaseName"`
				ValuesObject map[string]any `json:"valuesObject"`
			} `json:"helm"`
		} `json:"source"`
		Destination struct {
			Server    string `json:"server"`
			Namespace string `json:"namespace"`
		} `json:"destination"`
		SyncPolicy struct {
			Automated struct {
				Prune    bool `json:"prune"`
				SelfHeal bool `json:"selfHeal"`
			} `json:"automated"`
			SyncOptions []string `json:"syncOptions"`
		} `json:"syncPolicy"`
		IgnoreDifferences []struct {
			Group        string   `json:"group"`
			Kind         string   `json:"kind"`
			JSONPointers []string `json:"jsonPointers"`
		} `json:"ignoreDifferences"`
	} `json:"spec"`
}

// readApplications returns the Applications of the files that match a pattern, by name.
func readApplications(t *testing.T, pattern string) map[string]application {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(examplesOfArgo, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	out := map[string]application{}
	for _, file := range files {
		var app application
		if err := yaml.UnmarshalStrict(readFile(t, file), &app); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if app.APIVersion != "argoproj.io/v1alpha1" || app.Kind != "Application" || app.Metadata.Namespace != "argocd" ||
			!slices.Contains(app.Metadata.Finalizers, "resources-finalizer.argocd.argoproj.io") {
			t.Errorf("%s is no Application that is removed with its objects: %+v", file, app.Metadata)
		}
		out[app.Metadata.Name] = app
	}
	return out
}

// TestTheApplicationsOfArgoCD: they are in the right order, and their charts render with their values. A Slurm cluster's workers are
// deleted before slurmrestd, because the operator needs slurmrestd to drain them.
func TestTheApplicationsOfArgoCD(t *testing.T) {
	readApplications(t, "root.yaml")
	apps := readApplications(t, "apps/*.yaml")
	wave := func(annotations map[string]string) int {
		number, err := strconv.Atoi(valueOr(annotations[waveOfArgo], "0"))
		if err != nil {
			t.Error(err)
		}
		return number
	}
	of := func(name string) int { return wave(apps[name].Metadata.Annotations) }
	if of("slurm-operator-crds") >= of("slurm-operator") || of("slurm-operator") >= of("slurm-hpc") ||
		of("slurm-operator-crds") >= of("slurm-metrics") || of("slurm-metrics") >= of("slurm-hpc") {
		t.Error("the waves are not in the order of what needs what")
	}
	for name, app := range apps {
		for _, option := range []string{"CreateNamespace=true", "ServerSideApply=true"} {
			if !slices.Contains(app.Spec.SyncPolicy.SyncOptions, option) {
				t.Errorf("%s has no %s", name, option)
			}
		}
		if text := renderApplication(t, app); name == "slurm-hpc" {
			checkWavesOfCluster(t, decodeObjects(t, text), wave)
		}
	}
	cluster := apps["slurm-hpc"].Spec
	if rules := cluster.IgnoreDifferences; len(rules) != 1 || rules[0].Group != v1beta1.GroupName ||
		rules[0].Kind != "NodeSet" || !slices.Equal(rules[0].JSONPointers, []string{"/spec/replicas"}) ||
		!slices.Contains(cluster.SyncPolicy.SyncOptions, "RespectIgnoreDifferences=true") {
		t.Errorf("Argo CD would undo what an HPA does: %+v", rules)
	}
}

// renderApplication renders the chart of an Application as Argo CD does. The chart refuses unknown values.
func renderApplication(t *testing.T, app application) string {
	t.Helper()
	source := app.Spec.Source
	chart, ok := strings.CutPrefix(source.Path, "charts/")
	if !ok {
		t.Fatalf("%s has no chart: %s", app.Metadata.Name, source.Path)
	}
	content, err := yaml.Marshal(source.Helm.ValuesObject)
	if err != nil {
		t.Fatal(err)
	}
	values := filepath.Join(t.TempDir(), "values.yaml")
	writeFile(t, values, string(content))
	return mustRun(t)(renderRelease(t, source.Helm.ReleaseName, app.Spec.Destination.Namespace, chart, "--values", values))
}

// checkWavesOfCluster checks that a NodeSet and its HPA come after the daemons. An HPA without its NodeSet is Degraded, which
// would end the sync.
func checkWavesOfCluster(t *testing.T, objects []runtime.Object, wave func(map[string]string) int) {
	t.Helper()
	waves := map[string]int{}
	for _, object := range objects {
		switch o := object.(type) {
		case *v1beta1.NodeSet:
			waves["NodeSet"] = wave(o.Annotations)
		case *autoscalingv2.HorizontalPodAutoscaler:
			waves["HPA"] = wave(o.Annotations)
		case *v1beta1.Controller:
			waves["Controller"] = wave(o.Annotations)
		case *v1beta1.RestApi:
			waves["RestApi"] = wave(o.Annotations)
		}
	}
	if len(waves) != 4 || waves["NodeSet"] != waves["HPA"] || waves["Controller"] >= waves["NodeSet"] ||
		waves["RestApi"] >= waves["NodeSet"] {
		t.Errorf("the waves are %v", waves)
	}
}

// TestTheHealthChecksOfArgoCD runs the scripts for each object of TestHealthChecks.
func TestTheHealthChecksOfArgoCD(t *testing.T) {
	object := decodeObjects(t, string(readFile(t, filepath.Join(examplesOfArgo, "argocd-cm.yaml"))))[0]
	scripts := object.(*corev1.ConfigMap).Data
	type check struct {
		Script string         `json:"script"`
		Object map[string]any `json:"object"`
	}
	var checks []check
	var want []string
	add := func(kind string, object map[string]any, status string) {
		script, ok := scripts["resource.customizations.health."+kind]
		if !ok {
			t.Errorf("%s has no health check", kind)
		}
		checks, want = append(checks, check{script, object}), append(want, status)
	}
	add("argoproj.io_Application", map[string]any{"status": map[string]any{"health": map[string]any{"status": "Degraded"}}},
		"Degraded")
	add("argoproj.io_Application", map[string]any{}, "Progressing")
	statuses := map[string]string{"current": "Healthy", "failed": "Degraded", "": "Progressing"}
	for _, tc := range healthCases() {
		for _, object := range objectsWith(tc.conditions) {
			if slices.Contains(tc.kinds, object.kind) && object.kind != "NodeSet" {
				add("slinky.slurm.net_"+object.kind, object.content, statuses[tc.want])
			}
		}
	}
	input, err := json.Marshal(checks)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(runInGitopsModule(t, string(input), "run", ".", "health"))
	if !slices.Equal(got, want) {
		t.Errorf("the statuses are %v, want %v", got, want)
	}
}

//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func TestChartsRenderTheGoldenFiles(t *testing.T) {
	forEachCase(t, func(t *testing.T, c renderedChart) {
		compareGolden(t, filepath.Join("testdata", c.chart, c.name+".golden.yaml"), c.text)
	})
}

func TestChartsPassHelmLint(t *testing.T) {
	program, err := helmProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range chartNames() {
		for title, values := range valuesFiles(t, name) {
			cmd := exec.Command(program, "lint", chartDir(name), "--strict", "--quiet", "--namespace", "slurm",
				"--kube-version", "1.37.0", "--values", values)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s with %s: %v\n%s", name, title, err, out)
			}
		}
	}
}

func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	forEachCase(t, func(t *testing.T, c renderedChart) {
		for name, pod := range podTemplatesIn(c.objects) {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
			if !result.Allowed {
				t.Errorf("the pods of %s are not restricted: %s", name, result.ForbiddenDetail())
			}
			for _, container := range pod.Spec.Containers {
				security := container.SecurityContext
				if security == nil || security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
					t.Errorf("the root filesystem of %s is writable", name)
				}
				if strings.HasSuffix(container.Image, ":latest") ||
					!strings.ContainsAny(filepath.Base(container.Image), ":@") {
					t.Errorf("the image %q has no fixed version", container.Image)
				}
			}
		}
	})
}

func TestEveryFlagIsOneOfTheProgram(t *testing.T) {
	programs := map[string]map[string]bool{
		"exporter": flagsOf(t, "slurm-exporter"),
		"adapter":  flagsOf(t, "slurm-metrics-adapter"),
		"operator": flagsOf(t, "slurm-operator"),
	}
	forEachCase(t, func(t *testing.T, c renderedChart) {
		for _, d := range deploymentsIn(c.objects) {
			container := d.Spec.Template.Spec.Containers[0]
			flags := programs[container.Name]
			if len(flags) == 0 {
				t.Fatalf("no program belongs to the container %q", container.Name)
			}
			seen := map[string]bool{}
			for _, arg := range container.Args {
				name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				if !flags[name] {
					t.Errorf("the program does not know %s", arg)
				}
				if seen[name] {
					t.Errorf("%s appears twice", name)
				}
				seen[name] = true
			}
		}
	})
}

func TestTheSchemaListsEveryCollector(t *testing.T) {
	var schema struct {
		Properties struct {
			Collectors struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(chartDir("slurm-exporter"), "values.schema.json")),
		&schema); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for name := range schema.Properties.Collectors.Properties {
		got = append(got, name)
	}
	for name := range flagsOf(t, "slurm-exporter") {
		if collector, ok := strings.CutPrefix(name, "collector."); ok {
			want = append(want, collector)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-program +schema):\n%s", diff)
	}
}

// TestRights writes every right as one line, so that review sees new ones.
func TestRights(t *testing.T) {
	forEachCase(t, func(t *testing.T, c renderedChart) {
		var lines []string
		for _, object := range c.objects {
			switch o := object.(type) {
			case *rbacv1.ClusterRole:
				lines = append(lines, rightLines("ClusterRole "+o.Name, o.Rules)...)
			case *rbacv1.Role:
				lines = append(lines, rightLines("Role "+o.Namespace+"/"+o.Name, o.Rules)...)
			case *rbacv1.ClusterRoleBinding:
				lines = append(lines, bindingLines("everywhere", o.RoleRef, o.Subjects)...)
			case *rbacv1.RoleBinding:
				lines = append(lines, bindingLines("in "+o.Namespace, o.RoleRef, o.Subjects)...)
			}
		}
		path := filepath.Join("testdata", c.chart, c.name+".rights.txt")
		if _, err := os.Stat(path); len(lines) > 0 || err == nil {
			compareGolden(t, path, strings.Join(append(lines, ""), "\n"))
		}
	})
}

func rightLines(role string, rules []rbacv1.PolicyRule) []string {
	var lines []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				line := fmt.Sprintf("%s: %s %s", role, strings.Join(rule.Verbs, ","),
					strings.Trim(resource+"."+group, "."))
				if len(rule.ResourceNames) > 0 {
					line += " named " + strings.Join(rule.ResourceNames, ",")
				}
				lines = append(lines, line)
			}
		}
		for _, url := range rule.NonResourceURLs {
			lines = append(lines, fmt.Sprintf("%s: %s %s", role, strings.Join(rule.Verbs, ","), url))
		}
	}
	return lines
}

func bindingLines(where string, role rbacv1.RoleRef, subjects []rbacv1.Subject) []string {
	var lines []string
	for _, s := range subjects {
		lines = append(lines, fmt.Sprintf("%s %s/%s has %s %s %s", s.Kind, s.Namespace, s.Name, role.Kind, role.Name,
			where))
	}
	return lines
}

// renderedChart is the output of a chart for the values of a case.
type renderedChart struct {
	chart, name, text string
	objects           []runtime.Object
}

// forEachCase calls test with what each chart renders for each of its values files.
func forEachCase(t *testing.T, test func(*testing.T, renderedChart)) {
	t.Helper()
	for _, name := range chartNames() {
		for title, values := range valuesFiles(t, name) {
			t.Run(name+"/"+title, func(t *testing.T) {
				text, err := renderChart(t, name, "--values", values)
				if err != nil {
					t.Fatal(err)
				}
				text = ownPart(name, text)
				test(t, renderedChart{name, title, text, decodeObjects(t, text)})
			})
		}
	}
}

// ownPart returns the output of a chart's own templates, without its subcharts and without a generated password.
func ownPart(chart, text string) string {
	var own []string
	for document := range strings.SplitAfterSeq(text, "\n---\n") {
		source := regexp.MustCompile(`(?m)^# Source: (.*)/templates/`).FindStringSubmatch(document)
		if source == nil || source[1] == chart {
			own = append(own, document)
		}
	}
	generated := regexp.MustCompile(`(?m)^( +password:) \S{40,}$`)
	return generated.ReplaceAllString(strings.TrimSuffix(strings.Join(own, ""), "---\n"), "$1 Z2VuZXJhdGVk")
}

// podTemplatesIn returns the pod templates by name, including the templates in Deployments, StatefulSets and Jobs.
func podTemplatesIn(all []runtime.Object) map[string]corev1.PodTemplateSpec {
	out := map[string]corev1.PodTemplateSpec{}
	for _, object := range all {
		switch o := object.(type) {
		case *corev1.Pod:
			out[o.Name] = corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
		case *appsv1.Deployment:
			out[o.Name] = o.Spec.Template
		case *appsv1.StatefulSet:
			out[o.Name] = o.Spec.Template
		case *batchv1.Job:
			out[o.Name] = o.Spec.Template
		}
	}
	return out
}

func deploymentsIn(all []runtime.Object) []*appsv1.Deployment {
	var out []*appsv1.Deployment
	for _, object := range all {
		if d, ok := object.(*appsv1.Deployment); ok {
			out = append(out, d)
		}
	}
	return out
}

// compareGolden compares got with a golden file, or rewrites the file.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		writeFile(t, path, got)
		return
	}
	if diff := cmp.Diff(string(readFile(t, path)), got); diff != "" {
		t.Errorf("%s differs (rewrite it with -update) (-want +got):\n%s", path, diff)
	}
}

// TestSharedTemplatesAreCurrent checks that each chart has the templates that charts share as hack/charts has them.
func TestSharedTemplatesAreCurrent(t *testing.T) {
	if out, err := exec.Command(filepath.Join("..", "..", "..", "hack", "charts", "generate"), "--check").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

//go:build e2e

package charts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// helmProgram returns the path of Helm, which it builds once from its Go module.
var helmProgram = sync.OnceValues(func() (string, error) {
	out, err := exec.Command(filepath.Join("..", "..", "..", "hack", "kube", "build"), "helm").Output()
	if err != nil {
		return "", fmt.Errorf("building helm: %w: %s", err, stderrOf(err))
	}
	return filepath.Join(strings.TrimSpace(string(out)), "helm"), nil
})

// stderrOf returns the standard error of a command that failed.
func stderrOf(err error) []byte {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.Stderr
	}
	return nil
}

// renderChart renders a chart as the release "test" in the namespace "slurm".
func renderChart(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	return renderRelease(t, "test", "slurm", name, args...)
}

func renderRelease(t *testing.T, release, namespace, chart string, args ...string) (string, error) {
	t.Helper()
	return renderFolder(t, release, namespace, chartDir(chart), args...)
}

// renderFolder renders the chart in a folder.
func renderFolder(t *testing.T, release, namespace, folder string, args ...string) (string, error) {
	t.Helper()
	program, err := helmProgram()
	if err != nil {
		t.Fatal(err)
	}
	args = slices.Concat([]string{"template", release, folder, "--namespace", namespace, "--kube-version",
		"1.37.0"}, args)
	cmd := exec.Command(program, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, &problems)
	}
	return string(out), nil
}

// valuesFiles returns the values files of a chart by name.
func valuesFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", name, "*.values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no values in testdata: %v", name, err)
	}
	out := map[string]string{}
	for _, file := range files {
		out[strings.TrimSuffix(filepath.Base(file), ".values.yaml")] = file
	}
	return out
}

// knownScheme returns the API groups that the tests decode.
func knownScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(apiregistration.AddToScheme(s))
	utilruntime.Must(v1beta1.AddToScheme(s))
	return s
}

// decodeObjects decodes the objects of known kinds strictly: an unknown or duplicate field is an
// error.
func decodeObjects(t *testing.T, text string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(knownScheme(), serializer.EnableStrict).UniversalDeserializer()
	var out []runtime.Object
	for document := range strings.SplitSeq(text, "\n---\n") {
		if isForeign(document) {
			continue
		}
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Errorf("decoding: %v\n%s", err, document)
			continue
		}
		out = append(out, object)
	}
	return out
}

// isForeign reports whether stock Kubernetes lacks the kind of the object. Objects of Flux have a test of their own.
func isForeign(document string) bool {
	return regexp.MustCompile(`(?m)^apiVersion: (monitoring.coreos.com|cert-manager.io|[a-z]+.toolkit.fluxcd.io)/`).MatchString(document)
}

// flagsOf returns the flags that a program's --help lists.
func flagsOf(t *testing.T, program string) map[string]bool {
	t.Helper()
	binary, err := process.Build(t.Context(), t.TempDir(), program)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "--help")
	cmd.Env = append(os.Environ(), "COLUMNS=200")
	help, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s --help: %v\n%s", program, err, help)
	}
	flags := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +(?:-., )?--(\[no-\])?([a-z0-9][-._a-z0-9]*)`).FindAllSubmatch(
		help, -1) {
		flags[string(match[2])] = true
		if len(match[1]) > 0 {
			flags["no-"+string(match[2])] = true
		}
	}
	return flags
}

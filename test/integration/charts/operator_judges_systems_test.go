//go:build e2e

package charts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// judgeAllTexts judges the goldens, the output of every chart for the values of its tests, and the values of Slinky's chart.
func judgeAllTexts(t *testing.T) []*judgement {
	t.Helper()
	texts := goldenTexts(t)
	maps.Copy(texts, chartTexts(t))
	for _, file := range slinkyReleaseFiles(t) {
		text, err := renderChart(t, "slurm", "--values", file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = text
	}
	for _, set := range slinkySets(t) {
		text, err := renderRelease(t, set.Release, set.Namespace, "slurm", "--values", valuesFile(t, set.Values))
		if set.isRefusedHere() != (err != nil) {
			t.Errorf("value set %d: the error is %v, is one expected: %t", set.ID, err, set.isRefusedHere())
		}
		if err == nil {
			texts[fmt.Sprint("value set ", set.ID)] = text
		}
	}
	var out []*judgement
	for _, title := range sortedKeys(texts) {
		out = append(out, judgeObjects(t, texts[title]))
	}
	return out
}

// TestRealSystemsAcceptWhatTheOperatorCreates checks every text. An API server accepts worker pods, StatefulSets, Deployments and all other
// objects. A slurmctld of each release reads each configuration and has each record.
func TestRealSystemsAcceptWhatTheOperatorCreates(t *testing.T) {
	all := judgeAllTexts(t)
	t.Run("the API server", func(t *testing.T) { createJudgedObjects(t, all) })
	for _, release := range realslurm.Versions() {
		t.Run("slurmctld "+release, func(t *testing.T) {
			cluster := startJudgingSlurm(t, release)
			checkConfigs(t, cluster, configsFor(release, all))
			createJudgedRecords(t, cluster, all)
		})
	}
}

// createJudgedObjects has an API server validate what the operator created.
func createJudgedObjects(t *testing.T, all []*judgement) {
	t.Helper()
	k := startKube(t)
	objects, needed := map[string]string{}, map[string]bool{}
	kinds := map[string]int{}
	for _, j := range all {
		for _, o := range j.created {
			text := manifestOf(t, o)
			if objects[text] == "" {
				kinds[kindOf(o)]++
			}
			objects[text] = o.GetName()
			if pod := podOf(o); pod != nil {
				needed[serviceAccount(pod.ServiceAccountName)] = true
				needed[priorityClass(pod.PriorityClassName)] = true
			}
		}
	}
	delete(needed, "")
	t.Logf("%d different objects: %v", len(objects), kinds)
	if kinds["Pod"] == 0 || kinds["StatefulSet"] == 0 || kinds["Deployment"] == 0 {
		t.Error("there are no pods, StatefulSets or Deployments")
	}
	if err := k.Apply(t.Context(), "{apiVersion: v1, kind: Namespace, metadata: {name: team}}"); err != nil {
		t.Fatal(err)
	}
	process.Await(t, func() error { // Kubernetes creates it
		_, err := k.Kubectl(t.Context(), "get", "serviceaccount", "default", "--namespace", "team")
		return err
	})
	if len(needed) > 0 {
		if err := k.Apply(t.Context(), strings.Join(slices.Sorted(maps.Keys(needed)), "\n---\n")); err != nil {
			t.Fatal(err)
		}
	}
	createDry(t, k, slices.Sorted(maps.Keys(objects)))
}

// invalidValues are the API server's errors for value sets of Slinky's chart that it cannot accept.
var invalidValues = []string{
	`Deployment.apps "test-release-slurm-restapi" is invalid: [spec.template.spec.resources.requests[memory]: Invalid value: "2"`,
	`Pod "test-release-slurm-worker-slinky-0" is invalid: spec.resources.requests[memory]: Invalid value: "2"`,
	`Service "test-release-slurm-controller" is invalid: spec.type: Unsupported value: "None"`,
	`Service "test-release-slurm-restapi" is invalid: spec.type: Unsupported value: "None"`,
}

// createDry has the API server validate objects without creating them.
func createDry(t *testing.T, k *realkube.Cluster, texts []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	writeFile(t, file, strings.Join(texts, "\n---\n"))
	out, err := k.Kubectl(t.Context(), "create", "--dry-run=server", "--validate=strict", "--filename", file)
	refused := regexp.MustCompile(`(?m)Error from server .*$`).FindAllString(fmt.Sprint(err), -1)
	for _, line := range refused {
		if !slices.ContainsFunc(invalidValues, func(known string) bool { return strings.Contains(line, known) }) {
			t.Error(line)
		}
	}
	accepted := strings.Count(out, "created (server dry run)")
	t.Logf("the API server accepts %d of %d objects", accepted, len(texts))
	if len(refused) != len(invalidValues) || accepted > 0 && accepted != len(texts)-len(refused) {
		t.Errorf("%d of %d objects are accepted and %d refused, want %d refused: %v", accepted, len(texts), len(refused), len(invalidValues), err)
	}
}

func serviceAccount(name string) string {
	if name == "" || name == "default" {
		return ""
	}
	return fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: team}}", name)
}

func priorityClass(name string) string {
	if name == "" || strings.HasPrefix(name, "system-") {
		return ""
	}
	return fmt.Sprintf("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: 1}", name)
}

// podOf returns the spec of a pod, nil for other objects. The API server admits the pods of StatefulSets and Deployments later.
func podOf(o client.Object) *corev1.PodSpec {
	if pod, isPod := o.(*corev1.Pod); isPod {
		return &pod.Spec
	}
	return nil
}

// manifestOf returns the manifest that would create an object.
func manifestOf(t *testing.T, o client.Object) string {
	t.Helper()
	o, _ = o.DeepCopyObject().(client.Object)
	o.SetResourceVersion("")
	o.SetManagedFields(nil)
	kinds, _, err := knownScheme().ObjectKinds(o)
	if err != nil {
		t.Fatal(err)
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	o.SetCreationTimestamp(metav1.Time{})
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// slinkyReleaseFiles returns the files with the values of Slinky's releases.
func slinkyReleaseFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "slinky", "[0-9]*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// checkScript makes slurm-agent try each configuration with its own slurmctld, and prints the names of the refused ones.
const checkScript = `cd /inst/scratch/judged; mkdir -p tmp
for conf in confs/*; do
  rm -rf etc; mkdir etc; cp -a /etc/slurm/*.key etc/; cp "$conf"/* etc/; chown -R slurm etc tmp
  out=$(setpriv --reuid slurm --regid slurm --init-groups ./slurm-agent --check=etc --temp-dir=/inst/scratch/judged/tmp 2>&1) ||
    echo "$conf: $out"
done`

// startJudgingSlurm starts a Slurm of a release.
func startJudgingSlurm(t *testing.T, release string) *realslurm.Cluster {
	t.Helper()
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Skip(missing)
	}
	cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, WithoutAccounting: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// configsFor returns the different configurations that a release can read.
func configsFor(release string, all []*judgement) []map[string]string {
	seen := map[string]map[string]string{}
	for _, j := range all {
		for _, files := range j.configs {
			if hasMetrics := strings.Contains(files["slurm.conf"], "MetricsType="); hasMetrics && release == "24.11" {
				continue // slurmctld has metrics from 25.11 on
			}
			seen[fmt.Sprint(files)] = files
		}
	}
	var out []map[string]string
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, seen[key])
	}
	return out
}

// checkConfigs has real slurmctlds start with configurations.
func checkConfigs(t *testing.T, cluster *realslurm.Cluster, configs []map[string]string) {
	t.Helper()
	dir := filepath.Join(cluster.Dir, "scratch", "judged")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Build(t.Context(), dir, "slurm-agent"); err != nil {
		t.Fatal(err)
	}
	for i, config := range configs {
		files := configagent.Files{}
		for name, text := range config {
			files[name] = configagent.File{Content: []byte(text), Mode: 0o755}
		}
		if err := configagent.WriteFiles(filepath.Join(dir, "confs", fmt.Sprint(i)), files); err != nil {
			t.Fatal(err)
		}
	}
	out, err := cluster.Run(t.Context(), "", "bash", "-c", checkScript)
	if err != nil {
		t.Error(err)
	}
	refused := 0
	for line := range strings.Lines(out) {
		if refused++; !strings.Contains(line, refusedValueSet) {
			t.Errorf("slurmctld refuses %s", line)
		}
	}
	t.Logf("slurmctld has tried %d configurations", len(configs))
	if len(configs) == 0 || refused != 1 {
		t.Errorf("of %d configurations %d are refused", len(configs), refused)
	}
}

// refusedValueSet is slurmctld's error for the slurm.conf lines of one of the value sets. The operator keeps the earlier configuration in
// force.
const refusedValueSet = "SlurmSchedLogLevel requires SlurmSchedLogFile value"

// createJudgedRecords creates a record with the options of each NodeSet and deletes it.
func createJudgedRecords(t *testing.T, cluster *realslurm.Cluster, all []*judgement) {
	t.Helper()
	seen := map[string]bool{}
	for _, j := range all {
		for _, records := range j.records {
			for _, options := range records {
				seen[options] = true
			}
		}
	}
	for options := range seen {
		argv := append([]string{"scontrol", "create", "NodeName=judged"}, strings.Fields(options)...)
		if out, err := cluster.Run(t.Context(), "", argv...); err != nil {
			t.Errorf("%s: %v: %s", options, err, out)
			continue
		}
		if out, err := cluster.Run(t.Context(), "", "scontrol", "delete", "NodeName=judged"); err != nil {
			t.Errorf("deleting: %v: %s", err, out)
		}
	}
	t.Logf("slurmctld has had %d different records", len(seen))
	if len(seen) == 0 {
		t.Error("there are no records")
	}
}

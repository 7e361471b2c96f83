package local

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var testSets = []NodeSet{{"cpu", 6}, {"gpu", 2}}

func TestUnmetConditions(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"no objects":           {`{"items": []}`, []string{"restapis"}},
		"an object without it": {`{"items": [{"metadata": {"name": "slurm"}}]}`, []string{"restapis/slurm"}},
		"one that has it": {`{"items": [{"metadata": {"name": "slurm"}, "status": {"conditions": [
			{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True", "reason": "Answers"}]}}]}`, nil},
		"one of two that has it": {`{"items": [
			{"metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
			{"metadata": {"name": "b"},
				"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Starting"}]}}]}`,
			[]string{"restapis/b Starting"}},
	} {
		var list objectList
		if err := json.Unmarshal([]byte(c.list), &list); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, list.unmet(awaited{"restapis", "Ready"})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestTheChartIsToldTheMaximum(t *testing.T) {
	got := strings.Join(New("/repo", "/dir", testSets...).stackArgs(), " ")
	for _, want := range []string{"/repo/charts/slurm-stack ", "--values /repo/hack/demo/values.yaml",
		"slurm.nodesets.cpu.autoscaling.maxReplicas=6", "slurm.nodesets.gpu.autoscaling.maxReplicas=2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestTheEnvFileSetsPluginAndNamespace(t *testing.T) {
	l := New(t.TempDir(), t.TempDir()+"/it's here")
	if err := os.MkdirAll(l.kubeDir()+"/pki", 0o700); err != nil {
		t.Fatal(err)
	}
	config := `{"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "current-context": "c"}`
	for file, text := range map[string]string{l.kubeDir() + "/pki/admin.kubeconfig": config,
		l.EnvFile(): "export KUBECONFIG=/other PATH=/tools:$PATH\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.writeKubeconfig(), l.extendEnvFile()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c",
		`source "$1" && grep namespace: "$KUBECONFIG" && echo "${PATH%%:/tools:*}"`, "bash", l.EnvFile()).CombinedOutput()
	if want := "    namespace: slurm\n" + l.binDir() + "\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q", err, out)
	}
}

// observeSets returns the NodeSets of readings with one pod of each.
func observeSets(t *testing.T, change func(*readings)) []timeline.Set {
	t.Helper()
	g := readings{
		required:      []timeline.Reading{timeline.Known(1), timeline.Known(1)},
		unsatisfiable: []timeline.Reading{timeline.Known(0), timeline.Known(1)},
		nodes: slurmclient.List[*slurm.Node]{Items: []*slurm.Node{{Name: "cpu-0",
			State: slurm.ParseNodeState("ALLOCATED")}}},
	}
	decode := func(text string, into any) {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	decode(`{"items": [
		{"metadata": {"name": "slurm-worker-cpu-0", "labels": {"app.kubernetes.io/instance": "slurm-worker-cpu",
			"nodeset.slinky.slurm.net/pod-hostname": "cpu-0"}},
			"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
		{"metadata": {"name": "slurm-worker-gpu-0", "labels": {"app.kubernetes.io/instance": "slurm-worker-gpu",
			"nodeset.slinky.slurm.net/pod-hostname": "gpu-0"}, "deletionTimestamp": "2026-01-02T12:00:00Z"}}]}`, &g.pods)
	decode(`{"items": [{"metadata": {"name": "slurm-worker-cpu"}, "spec": {"replicas": 1}},
		{"metadata": {"name": "slurm-worker-gpu"}, "spec": {"replicas": 0}}]}`, &g.nodeSets)
	change(&g)
	return g.observation(testSets).Sample.Sets
}

func TestObservationOfPodsNodeSetsAndSlurmNodes(t *testing.T) {
	want := []timeline.Set{
		{Name: "cpu", Max: 6, Required: timeline.Known(1), Desired: timeline.Known(1), Known: true,
			Workers: []timeline.Worker{{Name: "cpu-0", State: timeline.Busy}}},
		{Name: "gpu", Max: 2, Required: timeline.Known(1), Desired: timeline.Known(0), Known: true,
			Workers: []timeline.Worker{{Name: "gpu-0", State: timeline.Terminating}}},
	}
	if d := cmp.Diff(want, observeSets(t, func(*readings) {})); d != "" {
		t.Error(d)
	}
}

func TestWhatCannotBeReadIsNotKnown(t *testing.T) {
	trouble := errors.New("trouble")
	for name, c := range map[string]struct {
		change func(*readings)
		known  func(timeline.Set) bool
	}{
		"pods": {func(g *readings) { g.podsErr = trouble },
			func(s timeline.Set) bool { return s.Known || len(s.Workers) > 0 }},
		"Slurm nodes": {func(g *readings) { g.nodesErr = trouble },
			func(s timeline.Set) bool { return s.Known || len(s.Workers) > 0 }},
		"NodeSets": {func(g *readings) { g.nodeSetsErr = trouble },
			func(s timeline.Set) bool { return s.Desired.Known }},
		"metrics": {func(g *readings) { g.required[0] = timeline.Reading{} },
			func(s timeline.Set) bool { return s.Required.Known && s.Name == "cpu" }},
	} {
		for _, s := range observeSets(t, c.change) {
			if c.known(s) {
				t.Errorf("%s cannot be read, but those of %s are known", name, s.Name)
			}
		}
	}
}

func TestMetricsAreWholeNumbers(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "12": 12} {
		if got, err := parseWholeNumber(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "500m", "1k", "x", "1.5"} {
		if got, err := parseWholeNumber(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestAResponseOfKubernetesIsAnObjectOrAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write([]byte(`{"name": "x"}`))
		case "/garbage":
			_, _ = w.Write([]byte(`<html>`))
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message": "you may not"}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	a := &kubeAPI{server: server.URL, client: server.Client()}
	var object struct{ Name string }
	if err := a.get(t.Context(), "/good", &object); err != nil || object.Name != "x" {
		t.Errorf("%v, %v", object, err)
	}
	if err := a.get(t.Context(), "/none", &object); !errors.Is(err, errNotFound) {
		t.Errorf("a missing object returns %v", err)
	}
	for path, words := range map[string]string{"/garbage": "decoding", "/forbidden": "you may not"} {
		if err := a.get(t.Context(), path, &object); err == nil || errors.Is(err, errNotFound) ||
			!strings.Contains(err.Error(), words) {
			t.Errorf("%s is %v", path, err)
		}
	}
}

func TestACommandThatFailsShowsItsLastLines(t *testing.T) {
	l := New(t.TempDir(), t.TempDir())
	var heard []string
	out, err := l.runCommand(t.Context(),
		exec.CommandContext(t.Context(), "sh", "-c", "echo out; echo one >&2; echo two >&2; exit 3"),
		func(line string) { heard = append(heard, line) })
	if out != "out\n" || err == nil || !strings.Contains(err.Error(), "one\ntwo") {
		t.Errorf("%q, %v", out, err)
	}
	if d := cmp.Diff([]string{"one", "two"}, heard); d != "" {
		t.Error(d)
	}
	log, err := os.ReadFile(l.dir + "/log")
	if err != nil || !strings.Contains(string(log), "two") {
		t.Errorf("the log is %q, %v", log, err)
	}
}

func TestAnInterruptedCommandCleansUp(t *testing.T) {
	l := New(t.TempDir(), t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	begin := time.Now()
	marker := l.dir + "/cleared"
	// The child already runs when the command is interrupted, as in the scripts: bash would wait for
	// a child that it is about to start.
	_, err := l.runCommand(ctx, exec.CommandContext(ctx, "bash", "-c",
		`trap 'touch "$1"' EXIT; bash -c 'echo ready >&2; exec sleep 60'`, "bash", marker),
		func(string) { cancel(stopped) })
	if !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("it did not clean up: %v", err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

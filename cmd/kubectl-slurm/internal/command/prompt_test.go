package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// promptServer is an API server with two clusters in namespace slurm, a worker pod, and an adapter. It notes field selectors.
type promptServer struct {
	url    string
	fields []string
	// exec answers requests to run a command in the pod worker-0.
	exec http.Handler
	// act answers actions.
	act http.HandlerFunc
	// in is the standard input of commands.
	in string
}

func newPromptServer(t *testing.T) *promptServer {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "slurm", Name: name} }
	jobs, nodes, partitions := view.SlurmJobList{}, view.SlurmNodeList{}, view.SlurmPartitionList{}
	for _, cluster := range []string{"main", "test"} {
		ref := view.ClusterReference{Kind: "Controller", Name: cluster}
		j := &slurm.Job{ID: 7, Name: "train", Partition: "gpu", State: slurm.ParseJobState("RUNNING"), Nodes: "gpu-0",
			NodeCount: slurm.Num(1)}
		j.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID = "alice", 3001 })
		m := meta(cluster + ".7")
		m.UID = types.UID("uid-of-" + cluster)
		jobs.Items = append(jobs.Items, *convert.JobObject(m, ref, j))
		n := &slurm.Node{Name: "gpu-0", State: slurm.ParseNodeState("MIXED"), Partitions: []string{"gpu"}, Version: "26.05.5"}
		nodes.Items = append(nodes.Items, *convert.NodeObject(meta(cluster+".gpu-0"), ref, n))
		p := &slurm.Partition{Name: "gpu", State: slurm.PartitionUp, MaxTime: slurm.Infinite(), Position: 1}
		partitions.Items = append(partitions.Items, *convert.PartitionObject(meta(cluster+".gpu"), ref, p))
	}
	s := &promptServer{}
	const places = "/apis/view.slinky.slurm.net/v1alpha1/namespaces/slurm/"
	answers := map[string]any{
		places + "slurmjobs": jobs, places + "slurmnodes": nodes, places + "slurmpartitions": partitions,
		"/api/v1/namespaces/slurm":                                 map[string]any{"metadata": map[string]any{"name": "slurm"}},
		"/openapi/v3/apis/view.slinky.slurm.net/v1alpha1":          map[string]any{"info": map[string]any{"version": "0.9.1"}},
		"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/clusters": map[string]any{},
		"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/controllers": map[string]any{"items": []any{
			map[string]any{"metadata": map[string]any{"namespace": "slurm", "name": "main"}},
			map[string]any{"metadata": map[string]any{"namespace": "slurm", "name": "test"}}}},
		"/api/v1/namespaces/slurm/pods": map[string]any{"items": []any{map[string]any{"metadata": map[string]any{
			"namespace": "slurm", "name": "worker-0", "labels": map[string]any{"nodeset.slinky.slurm.net/pod-hostname": "gpu-0",
				"slinky.slurm.net/cluster": "main", "app.kubernetes.io/name": "slurmd"}},
			"status": map[string]any{"phase": "Running"}}}},
		"/apis/view.slinky.slurm.net/v1alpha1/namespaces/empty/slurmjobs": view.SlurmJobList{},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if f := r.URL.Query().Get("fieldSelector"); f != "" {
			s.fields = append(s.fields, f)
		}
		if r.Method == http.MethodPost && s.act != nil {
			s.act(w, r)
			return
		}
		if r.URL.Path == "/api/v1/namespaces/slurm/pods/worker-0/exec" && s.exec != nil {
			s.exec.ServeHTTP(w, r)
			return
		}
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// run runs a command in namespace slurm and returns its output.
func (s *promptServer) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if !slices.Contains(args, "--namespace=empty") {
		args = append(args, "--namespace=slurm")
	}
	return s.runWith(t, append(args, "--server="+s.url)...)
}

// runWith runs a command with only the given arguments.
func (s *promptServer) runWith(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	root := New(Streams{In: strings.NewReader(s.in), Out: &out, Err: &out},
		func() time.Time { return time.Date(2026, 11, 30, 21, 31, 22, 0, time.UTC) }, "1.2.3")
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestWrongNamesAreErrors(t *testing.T) {
	s := newPromptServer(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"queue", "--namespace=empty"}, "namespace empty does not exist"},
		{[]string{"queue", "--cluster=mian"}, "cluster mian does not exist in namespace slurm; it has main, test"},
		{[]string{"top", "jobs", "--cluster=mian"}, "cluster mian does not exist"},
		{[]string{"queue", "-l", "partion=gpu"}, `unknown label "partion"; the labels are cluster, partition`},
		{[]string{"top", "nodes", "-l", "queue=gpu"}, `unknown label "queue"`},
		{[]string{"info", "-l", "queue=gpu"}, `unknown label "queue"`},
		{[]string{"queue", "-p", "cpu"}, "partition cpu does not exist in namespace slurm; it has gpu"},
		{[]string{"info", "-p", "cpu"}, "partition cpu does not exist"},
		{[]string{"queue", "-w", "gpu-[0-1]"}, "node gpu-1 does not exist in namespace slurm; it has gpu-0"},
		{[]string{"queue", "--cluster=test", "-w", "worker-0"}, "node worker-0 does not exist"}, // it is a pod of main
		{[]string{"queue", "-w", "gpu-[0"}, "reading the node list"},
		{[]string{"queue", "-t", "waiting"}, "unknown job state waiting"},
		{[]string{"queue", "-j", "abc"}, `"abc" is not a job ID`},
		{[]string{"queue", "gpu"}, "takes no arguments"},
		{[]string{"top", "jobs", "--watch", "--interval=0s"}, "--interval must be at least 1s"},
		{[]string{"queue", "--sort-by=n"}, "unknown column"},
		{[]string{"explain", "node", "gpu-7"}, "node gpu-7 does not exist in namespace slurm; it has gpu-0"},
		{[]string{"explain", "node", "gpu-0"}, "several clusters have a node gpu-0"},
		{[]string{"explain", "partition", "cpu"}, "partition cpu does not exist"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			if out, err := s.run(t, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %q\n%s", err, tc.want, out)
			}
		})
	}
}

// TestAComponentIsFound: its ID is not the one before the plus.
func TestAComponentIsFound(t *testing.T) {
	s := newPromptServer(t)
	if _, err := s.run(t, "explain", "job", "8+1"); err == nil || !strings.Contains(err.Error(), "you can see no job 8+1") {
		t.Errorf("the error is %v", err)
	}
	for _, field := range s.fields {
		if strings.Contains(field, view.FieldJobID) {
			t.Errorf("only jobs with %s are requested", field)
		}
	}
}

func TestNearMissesAreAnsweredWithTheCommandThatIsMeant(t *testing.T) {
	s := newPromptServer(t)
	for args, want := range map[string]string{
		"jobs": "did you mean queue?", "squeue": "did you mean queue?", "sinfo": "did you mean info?", "nodes": "did you mean info?",
		"queu": "did you mean queue?", "explian": "did you mean explain?", "describe job": "did you mean explain?",
		"top jbos": "did you mean jobs?", "explain nodes": "did you mean node", "xyzzy": "the commands are",
	} {
		if _, err := s.run(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", args, err, want)
		}
	}
}

func TestSeveralClustersHaveATableEach(t *testing.T) {
	s := newPromptServer(t)
	const heading = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
	const row = "                 7       gpu    train    alice  R       0:00      1 gpu-0\n"
	for _, tc := range []struct{ name, args, want string }{
		{"both", "queue", "CLUSTER: slurm/main\n" + heading + row + "\nCLUSTER: slurm/test\n" + heading + row},
		{"one of them", "queue --cluster=test", heading + row},
		{"the node by its pod", "queue --cluster=main -w worker-0", heading + row},
		{"without headings", "queue --cluster=test --no-headers", row},
		{"no job of a user", "queue --cluster=test -u bob", heading + "note: no jobs were found in namespace slurm; -t all also shows finished jobs\n"},
		{"columns of one's own", "queue -o custom-columns=ID:.jobID,IN:.cluster", "ID    IN\n7     main\n7     test\n"},
		{"a partition", "info --cluster=main", "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n" +
			"gpu          up   infinite      1    mix gpu-0\n"},
		{"versions", "version", "kubectl-slurm           1.2.3\nslurm-metrics-adapter   0.9.1\n" +
			"Slurm slurm/main        slurmd 26.05.5\nSlurm slurm/test        slurmd 26.05.5\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := s.run(t, strings.Fields(tc.args)...)
			if err != nil || out != tc.want {
				t.Errorf("it prints\n%s\n%v, want\n%s", out, err, tc.want)
			}
		})
	}
}

func TestMeAsksTheServerForOnesOwnJobs(t *testing.T) {
	s := newPromptServer(t)
	if out, err := s.run(t, "queue", "--me"); err != nil || !slices.Contains(s.fields, "spec.user=@me") {
		t.Errorf("it asks for %v, %v\n%s", s.fields, err, out)
	}
}

func TestCompletion(t *testing.T) {
	s := newPromptServer(t)
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c",
		"cluster": {"server": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "slurm"}}]}`, s.url)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	for args, want := range map[string]string{
		"queue -j": "7\ttrain", "explain job": "7\ttrain", "explain node": "gpu-0", "queue -p": "gpu", "queue --sort-by": "-partition",
		"top nodes --sort-by": "cpu%", "info --cluster": "main", "queue -t": "running",
	} {
		var out strings.Builder
		root := New(Streams{In: strings.NewReader(s.in), Out: &out, Err: io.Discard}, time.Now, "1.2.3")
		root.SetArgs(append(append([]string{"__complete"}, strings.Fields(args)...), ""))
		if err := root.ExecuteContext(t.Context()); err != nil || !slices.Contains(strings.Split(out.String(), "\n"), want) {
			t.Errorf("%s is completed with %q, %v, want %q", args, out.String(), err, want)
		}
	}
}

// TestAPodIsTheNodeOfItsCluster: the other cluster has a node of the same name.
func TestAPodIsTheNodeOfItsCluster(t *testing.T) {
	s := newPromptServer(t)
	out, err := s.run(t, "top", "nodes", "worker-0", "-o", "name")
	if want := "slurmnode.view.slinky.slurm.net/main.gpu-0\n"; err != nil || out != want {
		t.Errorf("it prints %q, %v, want %q", out, err, want)
	}
}

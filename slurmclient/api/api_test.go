package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/api/v0040"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0045"
)

const recorded = "../testdata/recorded"

// TestRecordedAnswersRoundTrip decodes and encodes every recorded answer and expects the same document:
// no field is unknown, truncated or changed.
func TestRecordedAnswersRoundTrip(t *testing.T) {
	for _, rec := range recordedFolders() {
		files, err := filepath.Glob(filepath.Join(recorded, rec.folder, "*.json"))
		if err != nil || len(files) < 15 {
			t.Fatalf("%s has %d recorded answers (%v)", rec.folder, len(files), err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			t.Run(rec.folder+"/"+name, func(t *testing.T) {
				body := readAnswer(t, file)
				answer := rec.typeOf(t, name)()
				if err := json.Unmarshal(body, answer); err != nil {
					t.Fatal(err)
				}
				again, err := json.Marshal(answer)
				if err != nil {
					t.Fatal(err)
				}
				ours := parseDocument(t, again)
				if diff := cmp.Diff(parseDocument(t, body), ours); diff != "" {
					t.Errorf("decoded and encoded again (-recorded +ours):\n%s", diff)
				}
				if key, want := wholeLists[name].key, wholeLists[name].length; key != "" {
					if got, _ := ours.(map[string]any)[key].([]any); len(got) != want {
						t.Errorf("%d %s, want %d", len(got), key, want)
					}
				}
			})
		}
	}
}

// wholeLists contains the lengths of the lists of the recorded clusters.
var wholeLists = map[string]struct {
	key    string
	length int
}{
	"ping": {"pings", 1}, "nodes": {"nodes", 6}, "jobs": {"jobs", 21}, "jobs_state": {"jobs", 28},
	"partitions": {"partitions", 2}, "reservations": {"reservations", 3}, "licenses": {"licenses", 2},
	"slurmdb_associations": {"associations", 6}, "slurmdb_accounts": {"accounts", 3},
	"slurmdb_users": {"users", 3}, "slurmdb_qos": {"qos", 2},
}

// typeOf returns the type for the longest prefix of the name of a file that has one.
func (r recording) typeOf(t *testing.T, file string) func() any {
	t.Helper()
	for name := file; name != ""; name = name[:max(0, strings.LastIndexByte(name, '_'))] {
		if make, ok := r.types[name]; ok {
			return make
		}
	}
	t.Fatalf("no type for %s", file)
	return nil
}

func readAnswer(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Callers do the same before they decode shares; see the package comment.
	return bytes.ReplaceAll(body, []byte(": Infinity"), []byte(": 1e300"))
}

// parseDocument decodes JSON without types. It leaves out null and empty lists and objects, which the
// bindings do not distinguish from absent ones.
func parseDocument(t *testing.T, body []byte) any {
	t.Helper()
	var doc any
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	return pruneEmpty(doc)
}

func pruneEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, v := range value {
			if v = pruneEmpty(v); v != nil {
				out[key] = v
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		var out []any
		for _, v := range value {
			out = append(out, pruneEmpty(v))
		}
		if len(out) > 0 {
			return out
		}
		return nil
	default:
		return value
	}
}

func TestOldestAndNewestVersionGiveTheSameNode(t *testing.T) {
	var old v0040.OpenapiNodesResp
	var young v0045.OpenapiNodesResp
	decodeFile(t, "24.11/v0.0.40/node_n1.json", &old)
	decodeFile(t, "26.05/v0.0.45/node_n1.json", &young)
	if len(old.Nodes) != 1 || len(young.Nodes) != 1 {
		t.Fatalf("%d and %d nodes, want one", len(old.Nodes), len(young.Nodes))
	}
	type node struct {
		Name, GRES     string
		CPUs, Memory   int64
		State, Feature []string
	}
	a, b := old.Nodes[0], young.Nodes[0]
	want := node{"n1", "gpu:h100:4", 16, 64000, []string{"ALLOCATED", "RESERVED"}, []string{"x86", "h100"}}
	for version, got := range map[string]node{
		"v0.0.40": {*a.Name, *a.GRES, *a.Cpus, *a.RealMemory, a.State, a.Features},
		"v0.0.45": {*b.Name, *b.GRES, *b.Cpus, *b.RealMemory, b.State, b.Features},
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}

func decodeFile(t *testing.T, file string, into any) {
	t.Helper()
	if err := json.Unmarshal(readAnswer(t, filepath.Join(recorded, file)), into); err != nil {
		t.Fatal(err)
	}
}

func TestUnknownWordsAndFieldsAreNoError(t *testing.T) {
	var nodes v0045.OpenapiNodesResp
	body := `{"nodes":[{"name":"n1","state":["IDLE","HIBERNATED"],"quantum":{"bits":3}}]}`
	if err := json.Unmarshal([]byte(body), &nodes); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"IDLE", "HIBERNATED"}, nodes.Nodes[0].State); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatedQueryParametersAreRepeated(t *testing.T) {
	since := "uts1795219836"
	nodes, err := v0040.NewGetNodesRequest("http://ctl:6820", &v0040.GetNodesParams{
		UpdateTime: &since, Flags: []string{"DETAIL", "MIXED"},
	})
	if err != nil {
		t.Fatal(err)
	}
	states, err := v0045.NewGetJobsStateRequest("http://ctl:6820", &v0045.GetJobsStateParams{
		JobID: []string{"1", "7_3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	job, err := v0045.NewGetJobRequest("http://ctl:6820", "1/../2", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"http://ctl:6820/slurm/v0.0.40/nodes/?update_time=uts1795219836&flags=DETAIL&flags=MIXED",
		"http://ctl:6820/slurm/v0.0.45/jobs/state/?job_id=1&job_id=7_3",
		"http://ctl:6820/slurm/v0.0.45/job/1%2F..%2F2",
	}
	if diff := cmp.Diff(want, []string{nodes.URL.String(), states.URL.String(), job.URL.String()}); diff != "" {
		t.Error(diff)
	}
}

func TestAnUpdateContainsOnlyWhatIsSet(t *testing.T) {
	reason, weight := "", int64(0)
	set := true
	body, err := json.Marshal(v0045.UpdateNodeJSONRequestBody{
		State: []string{"DRAIN"}, Reason: &reason, Weight: &v0045.Uint32NoVal{Set: &set, Number: &weight},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"reason":"","state":["DRAIN"],"weight":{"number":0,"set":true}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
}

//go:build e2e

package menagerie

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

var (
	recordFlag = flag.Bool("record", false, "add new kinds of jobs and nodes to the recorded answers of slurmclient")
	recording  sync.Mutex
)

// recordedAPIVersion is the API version of the recorded answers, by Slurm release.
var recordedAPIVersion = map[string]string{"24.11": "v0.0.42", "26.05": "v0.0.45"}

// recordAnswers adds the jobs and nodes with a field value in a form that no recorded one has.
func recordAnswers(t *testing.T, cluster *realslurm.Cluster) {
	t.Helper()
	if !*recordFlag {
		return
	}
	recording.Lock()
	defer recording.Unlock()
	version := recordedAPIVersion[cluster.Version]
	folder := filepath.Join("../../../../slurmclient/testdata/recorded", cluster.Version, version)
	for _, kind := range []string{"jobs", "nodes"} {
		kept := readAnswer(t, filepath.Join(folder, kind+"_menagerie.json"))[kind]
		seen := map[string]bool{}
		for _, r := range append(readAnswer(t, filepath.Join(folder, kind+".json"))[kind], kept...) {
			addForms(seen, r)
		}
		for _, r := range getAnswer(t, cluster, "/slurm/"+version+"/"+kind+"/")[kind] {
			if addForms(seen, r) {
				kept = append(kept, r)
			}
		}
		text := &strings.Builder{}
		for i, r := range kept {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(text, "%s\n%s", map[bool]string{true: ",", false: ""}[i > 0], line)
		}
		answer := fmt.Sprintf(`{"%s": [%s], "last_update": {"set": true, "infinite": false, "number": 1}, "errors": [], "warnings": []}`, kind, text)
		if err := os.WriteFile(filepath.Join(folder, kind+"_menagerie.json"), []byte(answer+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// answer is the lists of records in a response, by key.
type answer map[string][]map[string]any

func readAnswer(t *testing.T, file string) answer {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return parseAnswer(t, text)
}

func parseAnswer(t *testing.T, text []byte) answer {
	t.Helper()
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	out := answer{}
	for _, kind := range []string{"jobs", "nodes"} {
		if len(whole[kind]) == 0 {
			continue
		}
		numbered := json.NewDecoder(strings.NewReader(string(whole[kind])))
		numbered.UseNumber()
		var list []map[string]any
		if err := numbered.Decode(&list); err != nil {
			t.Fatal(err)
		}
		out[kind] = list
	}
	return out
}

func getAnswer(t *testing.T, cluster *realslurm.Cluster, path string) answer {
	t.Helper()
	token, err := os.ReadFile(cluster.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-SLURM-USER-TOKEN", strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return parseAnswer(t, text)
}

// shapedFields are the fields whose texts have many forms that must be parsed.
var shapedFields = []string{
	"state", "job_state", "state_reason", "gres", "gres_used", "gres_detail", "tres", "tres_used", "tres_req_str",
	"tres_alloc_str", "tres_per_node",
	"tres_per_job", "tres_per_task", "features", "licenses", "shared", "flags", "array_task_string", "dependency",
	"partition", "name", "topology",
}

var digitRun = regexp.MustCompile(`\d+`)

// addForms adds the forms of a record's fields to seen, and reports whether one is new.
func addForms(seen map[string]bool, r map[string]any) bool {
	found := false
	for key, value := range r {
		form := key + "=" + valueForm(key, value)
		found = found || !seen[form]
		seen[form] = true
	}
	return found
}

func valueForm(key string, value any) string {
	switch v := value.(type) {
	case string:
		if slices.Contains(shapedFields, key) {
			return digitRun.ReplaceAllString(v, "0")
		}
		return fmt.Sprint(v != "")
	case []any:
		var words []string
		for _, e := range v {
			words = append(words, valueForm(key, e))
		}
		return strings.Join(words, ",")
	case map[string]any:
		return fmt.Sprint(v["set"], v["infinite"])
	}
	return fmt.Sprintf("%T", value)
}

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const recorded = "../../testdata/recorded"

// readRecordings reads the recorded answers that match the pattern.
func readRecordings(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(recorded, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded answers match %s: %v", pattern, err)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(recorded, path)
		out[filepath.ToSlash(name)] = raw
	}
	return out
}

func decodeJobs(r io.Reader) ([]slurm.Job, Envelope, error) {
	var jobs []slurm.Job
	env, err := DecodeJobs(r, NewInterner(), func(j *slurm.Job) error { jobs = append(jobs, *j); return nil })
	return jobs, env, err
}

func decodeNodes(r io.Reader) ([]slurm.Node, Envelope, error) {
	var nodes []slurm.Node
	env, err := DecodeNodes(r, NewInterner(), func(n *slurm.Node) error { nodes = append(nodes, *n); return nil })
	return nodes, env, err
}

// decodeAlone decodes each record of a list by itself, so that no record is decoded against another. Its
// result is the expectation for recordDecoder.
func decodeAlone[T any](t testing.TB, raw []byte, key string, decode func(io.Reader) ([]T, Envelope, error)) []T {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var records []json.RawMessage
	if err := json.Unmarshal(doc[key], &records); err != nil {
		t.Fatal(err)
	}
	var out []T
	for _, rec := range records {
		one, _, err := decode(strings.NewReader(fmt.Sprintf(`{%q: [%s]}`, key, rec)))
		if err != nil || len(one) != 1 {
			t.Fatalf("decoding one record: %d, %v", len(one), err)
		}
		out = append(out, one[0])
	}
	return out
}

func TestARecordDecodesTheSameAloneAndAfterOthers(t *testing.T) {
	for name, raw := range readRecordings(t, "*/*/jobs*.json") {
		if strings.Contains(name, "jobs_state.json") || strings.Contains(name, "no_tasks") ||
			strings.Contains(name, "nochange") {
			continue
		}
		got, env, err := decodeJobs(bytes.NewReader(raw))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got) < 10 || env.Count != len(got) {
			t.Errorf("%s: %d jobs, count %d", name, len(got), env.Count)
		}
		if diff := cmp.Diff(decodeAlone(t, raw, "jobs", decodeJobs), got); diff != "" {
			t.Errorf("%s (alone, after others):\n%s", name, diff)
		}
	}
	for name, raw := range readRecordings(t, "*/*/nodes*.json") {
		if strings.Contains(name, "ctld_down") {
			continue
		}
		got, _, err := decodeNodes(bytes.NewReader(raw))
		if err != nil || len(got) < 4 {
			t.Errorf("%s: %d nodes, %v", name, len(got), err)
			continue
		}
		if diff := cmp.Diff(decodeAlone(t, raw, "nodes", decodeNodes), got); diff != "" {
			t.Errorf("%s (alone, after others):\n%s", name, diff)
		}
	}
}

func TestTheSizeOfReadsDoesNotMatter(t *testing.T) {
	raw := readRecordings(t, "26.05/v0.0.45/jobs.json")["26.05/v0.0.45/jobs.json"]
	want, _, err := decodeJobs(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"one byte at a time":   iotest.OneByteReader(bytes.NewReader(raw)),
		"half of what fits":    iotest.HalfReader(bytes.NewReader(raw)),
		"data together at EOF": iotest.DataErrReader(bytes.NewReader(raw)),
	} {
		got, _, err := decodeJobs(r)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestDecodeARecordedJob(t *testing.T) {
	raw := readRecordings(t, "26.05/v0.0.45/jobs.json")["26.05/v0.0.45/jobs.json"]
	jobs, env, err := decodeJobs(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	byID := map[uint32]slurm.Job{}
	for _, j := range jobs {
		byID[j.ID] = j
	}
	if out := env.Outline(); out.LastUpdate != 1795220441 || out.Server.Release != "26.05.5" ||
		out.Server.Cluster != "c2605" {
		t.Errorf("the envelope says %+v", out)
	}
	gpu := byID[4]
	if gpu.Name != "gpu-full" || gpu.UserName() != "alice" || gpu.Account() != "ml" || gpu.QOS() != "high" ||
		gpu.State != (slurm.JobState{Base: slurm.JobRunning}) || gpu.MemoryPerNode != slurm.Num(32000) ||
		!gpu.MemoryPerCPU.IsUnset() || gpu.TimeLimit != slurm.Num(1440) || gpu.StartTime != 1795220408 ||
		gpu.TRESAllocated != "cpu=16,mem=32000M,node=1,billing=16,gres/gpu=4" || gpu.Nodes != "n1" {
		t.Errorf("job 4 is %+v", gpu)
	}
	base := byID[7]
	if !base.IsArrayBase() || base.ArrayTasks != "2-9%2" || base.ArrayMaxRunning() != 2 ||
		base.Reason != "JobArrayTaskLimit" {
		t.Errorf("the array's base is %+v", base)
	}
	if task := byID[20]; task.IsArrayBase() || task.ArrayJobID != 7 || task.ArrayTaskID != slurm.Num(0) {
		t.Errorf("the array's task is %+v", task)
	}
	if het := byID[9]; het.HetJobID != 8 || het.HetOffset != 1 || het.HetJobIDs() != "8-9" {
		t.Errorf("the het component is %+v", het)
	}
	if held := byID[12]; !held.Hold || held.Priority != slurm.Num(0) || held.EligibleTime != 0 {
		t.Errorf("the held job is %+v", held)
	}
	if no := byID[1]; !no.TimeLimit.IsInfinite() {
		t.Errorf("the time limit of job 1 is %v", no.TimeLimit)
	}
}

func TestDecodeARecordedNode(t *testing.T) {
	raw := readRecordings(t, "26.05/v0.0.45/nodes.json")["26.05/v0.0.45/nodes.json"]
	nodes, _, err := decodeNodes(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]slurm.Node{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	n3 := byName["n3"]
	if n3.State != slurm.ParseNodeState("MIXED", "DRAIN") || n3.Reason != "bad dimm ticket-1" || n3.AllocCPUs != 3 ||
		n3.Load != slurm.Flt(3.9) || n3.FreeMemoryMiB != slurm.Num(20519) || n3.MemoryMiB != 64000 ||
		n3.GRESUsed != "gpu:h100:0(IDX:N/A)" || !cmp.Equal(n3.Partitions, []string{"batch", "gpu"}) {
		t.Errorf("n3 is %+v", n3)
	}
	if ghost := byName["ghost1"]; !ghost.FreeMemoryMiB.IsUnset() || ghost.State.Base != slurm.NodeUnknown {
		t.Errorf("ghost1 is %+v", ghost)
	}
}

func TestAnAnswerCutAnywhereIsAnError(t *testing.T) {
	raw := readRecordings(t, "26.05/v0.0.45/node_n1.json")["26.05/v0.0.45/node_n1.json"]
	raw = bytes.TrimSpace(raw)
	for n := range raw {
		if _, _, err := decodeNodes(bytes.NewReader(raw[:n])); err == nil {
			t.Fatalf("an answer truncated after %d of %d bytes was read as complete", n, len(raw))
		} else if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("an answer truncated after %d bytes: %v", n, err)
		}
	}
}

func TestBadInputIsAnErrorOrAnAbsentValue(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		bad  bool
		want []slurm.Job
	}{
		"an empty body":                      {in: "", bad: true},
		"text":                               {in: "Internal Server Error", bad: true},
		"a list at the top":                  {in: `[{"jobs": []}]`, bad: true},
		"a key without quotes":               {in: `{jobs: []}`, bad: true},
		"brackets that do not match":         {in: `{"jobs": [{"job_id": 1, "x": {"a": [1}]}]}`, bad: true},
		"an object where the list should be": {in: `{"jobs": {"job_id": 1}}`, bad: true},
		"a number as a record":               {in: `{"jobs": [1]}`, bad: true},
		"a missing comma":                    {in: `{"jobs": [{"job_id": 1} {"job_id": 2}]}`, bad: true},
		"endless nesting": {in: `{"jobs": [{"x": ` + strings.Repeat("[", 100000) + `]}]}`,
			bad: true},
		"null instead of the list":     {in: `{"jobs": null}`},
		"no list at all":               {in: `{"errors": []}`},
		"a record without an id":       {in: `{"jobs": [{"name": "a"}]}`, bad: true},
		"an id that is not a number":   {in: `{"jobs": [{"job_id": "seven"}]}`, bad: true},
		"an id beyond 32 bits":         {in: `{"jobs": [{"job_id": 4294967296}]}`, bad: true},
		"a count that is not a number": {in: `{"jobs": [{"job_id": 7, "restart_cnt": "many"}]}`, bad: true},
		"a count that is not a number after one that is": {
			in: `{"jobs": [{"job_id": 7, "restart_cnt": 1}, {"job_id": 8, "restart_cnt": "many"}]}`, bad: true},
		"a hexadecimal count": {in: `{"jobs": [{"job_id": 7, "restart_cnt": 0x1p4}]}`, bad: true},
		"a list that is closed too early": {in: `{"jobs": [{"job_id": 1}]}, {"job_id": 2}], "errors": []}`,
			bad: true},
		"two answers":                          {in: `{"jobs": []}{"errors": [{"error_number": 1007}]}`, bad: true},
		"text after an empty answer":           {in: `{} x`, bad: true},
		"a list that appears twice":            {in: `{"jobs": [{"job_id": 1}], "jobs": [{"job_id": 2}]}`, bad: true},
		"errors that cannot be read":           {in: `{"jobs": [], "errors": [ @ {"error_number": 1007}]}`, bad: true},
		"white space after the answer":         {in: "{\"jobs\": [{\"job_id\": 1}]}\n\t ", want: []slurm.Job{{ID: 1}}},
		"a nice beyond 32 bits, in both signs": {in: `{"jobs": [{"job_id": 1, "nice": 4294967296}, {"job_id": 2, "nice": -4294967296}]}`, want: []slurm.Job{{ID: 1, Nice: math.MaxInt32}, {ID: 2, Nice: math.MinInt32}}},
		"an invalid boolean":                   {in: `{"jobs": [{"job_id": 7, "hold": "yes"}]}`, bad: true},
		"wrong types of optional members": {
			in:   `{"jobs": [{"job_id": 7, "name": 3, "priority": {"set": 1}, "job_state": 4, "node_count": [], "start_time": {"set": true, "number": "now"}}]}`,
			want: []slurm.Job{{ID: 7}}},
		"wrong types after right ones": {
			in: `{"jobs": [{"job_id": 1, "name": "a", "job_state": ["RUNNING"], "cpus": {"set": true, "number": 4}}, {"job_id": 2, "name": null, "job_state": null, "cpus": null}]}`,
			want: []slurm.Job{{ID: 1, Name: "a", State: slurm.JobState{Base: slurm.JobRunning}, CPUs: slurm.Num(4)},
				{ID: 2}}},
		"an unknown state and an unknown flag": {
			in: `{"jobs": [{"job_id": 1, "job_state": ["QUANTUM", "RUNNING"]}, {"job_id": 2, "job_state": ["NEW"]}]}`,
			want: []slurm.Job{{ID: 1, State: slurm.JobState{Base: slurm.JobRunning, Flags: slurm.JobOther}},
				{ID: 2, State: slurm.JobState{Flags: slurm.JobOther}}}},
		"a record that lacks members of the previous one": {
			in: `{"jobs": [{"job_id": 1, "name": "a", "qos": "high"}, {"job_id": 2, "name": "b"}, {"job_id": 3, "name": "b"}]}`,
			want: []slurm.Job{{ID: 1, Name: "a", SharedOwner: slurm.ShareOwner(slurm.JobOwner{QOS: "high"})}, {ID: 2, Name: "b"},
				{ID: 3, Name: "b"}}},
		"users whose names slurmrestd does not know": {
			in: `{"jobs": [{"job_id": 1, "user_name": "", "user_id": 3001, "association_id": 5}, {"job_id": 2, "user_name": "bob", "user_id": 3002, "association_id": 6},
				{"job_id": 3, "user_name": "", "user_id": 3003, "association_id": 7}, {"job_id": 4, "user_name": ""}]}`,
			want: []slurm.Job{{ID: 1, SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "3001", UserID: 3001, AssociationID: 5})},
				{ID: 2, SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "bob", UserID: 3002, AssociationID: 6})},
				{ID: 3, SharedOwner: slurm.ShareOwner(slurm.JobOwner{UserName: "3003", UserID: 3003, AssociationID: 7})}, {ID: 4}}},
		"escapes": {
			in:   `{"jobs": [{"job_id": 1, "name": "a\"b\\c\/d\u00e9\ud83d\ude00\n"}]}`,
			want: []slurm.Job{{ID: 1, Name: "a\"b\\c/dé😀\n"}}},
		"bytes that are not UTF-8": {
			in:   "{\"jobs\": [{\"job_id\": 1, \"name\": \"a\xffb\"}]}",
			want: []slurm.Job{{ID: 1, Name: "a\uFFFDb"}}},
		"numbers with fractions and signs": {
			in:   `{"jobs": [{"job_id": 1, "nice": -5, "cpus": {"set": true, "infinite": false, "number": 2.0}, "priority": {"set": true, "number": -1}}]}`,
			want: []slurm.Job{{ID: 1, Nice: -5, CPUs: slurm.Num(2)}}},
	} {
		got, _, err := decodeJobs(strings.NewReader(c.in))
		if (err != nil) != c.bad {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		var syntax *SyntaxError
		if c.bad && !errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: the error %v has an unexpected type", name, err)
		}
		if diff := cmp.Diff(c.want, got); !c.bad && diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAHugeValueIsRefused(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"jobs": [{"name": "`), &zeroReader{left: 4 * MaxRecord})
	_, _, err := decodeJobs(endless)
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("a name of %d bytes: %v", 4*MaxRecord, err)
	}
}

type zeroReader struct{ left int }

func (z *zeroReader) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	for i := range n {
		p[i] = '0'
	}
	z.left -= n
	return n, nil
}

// FuzzJobs compares the decoder, for any bytes, with a decoder that has no previous record, and the
// number of records with encoding/json.
func FuzzJobs(f *testing.F) {
	for _, raw := range readRecordings(f, "*/*/job_het_8.json") {
		f.Add(raw)
	}
	f.Add([]byte(`{"jobs": [{"job_id": 1, "job_state": ["RUNNING"]}, {"job_id": 1, "job_state": ["PENDING"]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, env, err := decodeJobs(bytes.NewReader(raw))
		var doc struct {
			Jobs []json.RawMessage `json:"jobs"`
		}
		if err != nil || !json.Valid(raw) || json.Unmarshal(raw, &doc) != nil || !env.Found {
			return
		}
		if strings.Count(string(raw), `"jobs"`) > 1 || bytes.Contains(raw, []byte(`\u`)) {
			return // the key may occur twice or escaped
		}
		if len(doc.Jobs) != len(got) {
			t.Fatalf("%d jobs, encoding/json has %d", len(got), len(doc.Jobs))
		}
		if diff := cmp.Diff(decodeAlone(t, raw, "jobs", decodeJobs), got); diff != "" {
			t.Fatalf("(alone, after others):\n%s", diff)
		}
	})
}

func TestErrorsOfAnyShapeAreFound(t *testing.T) {
	for in, want := range map[string]int{
		`{"errors": {"error_number": 1007}}`: 1, `{"errors": "no"}`: 1, `{"errors": [{"error_number": 1007}]}`: 1,
		`{"errors": []}`: 0, `{"errors": null}`: 0, `{}`: 0,
	} {
		out, ok := ReadOutline([]byte(in))
		if !ok || len(out.Errors) != want {
			t.Errorf("%s: %v errors, %v", in, out.Errors, ok)
		}
	}
}

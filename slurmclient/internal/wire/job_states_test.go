package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestParseJobStatusID(t *testing.T) {
	for id, want := range map[string]slurm.JobStatus{
		"7":         {ID: 7},
		"7_3":       {ID: 7, TaskID: slurm.Num(3)},
		"7_[2-9%2]": {ID: 7, Tasks: "2-9%2"},
		"7_*":       {ID: 7, Tasks: "*"},
		"8+1":       {ID: 8, HetOffset: slurm.Num(1)},
	} {
		got, err := parseJobStatusID(id)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", id, err, diff)
		}
	}
	for _, id := range []string{"", "x", "_", "7_", "7_x", "7+", "7_**", "-1", "4294967296", "7_-1"} {
		if got, err := parseJobStatusID(id); err == nil {
			t.Errorf("%q is %+v", id, got)
		}
	}
}

// TestArraysWithoutTasksAreRecorded reads the answer of every version about an array whose pending tasks
// were cancelled while one task ran.
func TestArraysWithoutTasksAreRecorded(t *testing.T) {
	found := readRecordings(t, "*/*/jobs_state_no_tasks.json")
	if len(found) != 7 {
		t.Errorf("%d recordings", len(found))
	}
	for _, raw := range found {
		rows, err := decodeJobStates(raw)
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		want := slurm.JobStatus{ID: 12, Tasks: "*", State: slurm.ParseJobState("CANCELLED")}
		if diff := cmp.Diff(want, rows[1]); diff != "" {
			t.Error(diff)
		}
	}
}

// FuzzJobStates passes any bytes to the decoder of jobs/state. It must return a row for each element of
// valid JSON.
func FuzzJobStates(f *testing.F) {
	for _, raw := range readRecordings(f, "*/*/jobs_state.json") {
		f.Add(raw)
	}
	f.Add([]byte(`{"jobs": [{"job_id": "7_*", "state": ["PENDING"]}]}`))
	f.Add([]byte(`{"jobs": [{"job_id": "8+1", "state": "PENDING"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rows, err := decodeJobStates(raw)
		var doc map[string]json.RawMessage
		var list []json.RawMessage
		if err != nil || json.Unmarshal(raw, &doc) != nil || len(doc) != 1 ||
			json.Unmarshal(doc["jobs"], &list) != nil {
			return
		}
		if len(rows) != len(list) {
			t.Fatalf("%d states, encoding/json has %d elements", len(rows), len(list))
		}
	})
}

// FuzzJobIDs passes any text to the parser of ids.
func FuzzJobIDs(f *testing.F) {
	for _, id := range []string{"7", "7_3", "7_[2-9%2]", "7_*", "8+1", "_", "+", "7_["} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		s, err := parseJobStatusID(id)
		if err == nil && id[0] != '0' && s.ID == 0 {
			t.Fatalf("%q has no id", id)
		}
	})
}

// FuzzNodes passes any bytes to the decoder of nodes.
func FuzzNodes(f *testing.F) {
	for _, raw := range readRecordings(f, "*/*/node_n1.json") {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, env, err := decodeNodes(bytes.NewReader(raw))
		var doc struct {
			Nodes []json.RawMessage `json:"nodes"`
		}
		var keys map[string]json.RawMessage
		if err != nil || json.Unmarshal(raw, &keys) != nil || len(keys) != 1 || json.Unmarshal(raw, &doc) != nil ||
			!env.Found || keys["nodes"] == nil {
			return
		}
		if len(doc.Nodes) != len(got) {
			t.Fatalf("%d nodes, encoding/json has %d", len(got), len(doc.Nodes))
		}
	})
}

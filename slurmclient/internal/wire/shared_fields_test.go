package wire

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// randomRecord returns a job record in which every decoded member has one of a few values.
func randomRecord(rnd *rand.Rand, id int) string {
	values := []string{`""`, `"alice"`, `"gres/gpu:2"`, `"a,b"`, `0`, `1`, `7`, `-3`, `true`, `false`, `null`, `["A"]`, `["A","B"]`, `[]`,
		`{"set":true,"infinite":false,"number":4}`, `{"set":false,"infinite":false,"number":0}`,
		`{"set":true,"infinite":true,"number":0}`, `["gpu:h100:2(IDX:0-1)"]`}
	fields := jobFields()
	members := []string{fmt.Sprintf(`"job_id":%d`, id)}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key == "job_id" {
			continue
		}
		v := values[rnd.IntN(len(values))]
		for fields[key].valid != nil && !fields[key].valid([]byte(v)) {
			v = values[rnd.IntN(len(values))]
		}
		members = append(members, fmt.Sprintf("%q:%s", key, v))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// randomRecords returns records; each changes some or none of the members of the record before.
func randomRecords(rnd *rand.Rand, count int) []string {
	kinds := []string{randomRecord(rnd, 1), randomRecord(rnd, 1), randomRecord(rnd, 1)}
	var out []string
	for id := 1; id <= count; id++ {
		r := kinds[rnd.IntN(len(kinds))]
		if rnd.IntN(4) == 0 {
			r = randomRecord(rnd, 1)
		}
		out = append(out, strings.Replace(r, `"job_id":1,`, fmt.Sprintf(`"job_id":%d,`, id), 1))
	}
	return out
}

func decodeRecords(t *testing.T, in *Interner, records ...string) (out []slurm.Job) {
	t.Helper()
	answer := []byte(`{"jobs":[` + strings.Join(records, ",") + `]}`)
	if _, err := DecodeJobs(bytes.NewReader(answer), in, func(j *slurm.Job) error { out = append(out, *j); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSharedJobsEqualThoseThatShareNothing decodes the same records with one Interner, twice, and each with its own.
func TestSharedJobsEqualThoseThatShareNothing(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		records := randomRecords(rnd, 60)
		in := NewInterner()
		first, second := decodeRecords(t, in, records...), decodeRecords(t, in, records...)
		var alone []slurm.Job
		for _, r := range records {
			alone = append(alone, decodeRecords(t, NewInterner(), r)...)
		}
		details := map[slurm.SharedDetails]bool{}
		for i := range alone {
			if !first[i].Same(&alone[i]) || first[i].Owner() != alone[i].Owner() || first[i].Details() != alone[i].Details() {
				t.Fatalf("seed %d: %s is decoded as\n%+v, alone as\n%+v", seed, records[i], first[i].Details(), alone[i].Details())
			}
			if first[i].SharedOwner != second[i].SharedOwner || first[i].SharedDetails != second[i].SharedDetails {
				t.Errorf("seed %d: the second answer does not share the fields of job %d with the first", seed, first[i].ID)
			}
			details[first[i].SharedDetails] = true
		}
		if len(details) >= len(first) {
			t.Errorf("seed %d: %d jobs of few kinds have %d details", seed, len(first), len(details))
		}
		changeOneByOne(t, first, alone)
	}
}

// changeOneByOne changes the shared fields of each job in turn, and compares all others with jobs that share nothing.
func changeOneByOne(t *testing.T, jobs, alone []slurm.Job) {
	t.Helper()
	for i := range jobs {
		jobs[i].EditOwner(func(o *slurm.JobOwner) { o.Account += "x" })
		jobs[i].EditDetails(func(d *slurm.JobDetails) { d.Features += "x" })
		for k := range jobs {
			if same := jobs[k].Same(&alone[k]); same != (k > i) {
				t.Fatalf("after the change of job %d, job %d is unchanged: %v", jobs[i].ID, jobs[k].ID, same)
			}
		}
	}
}

func TestSharedFieldsNeedBoundedMemory(t *testing.T) {
	in := NewInterner()
	common := slurm.JobDetails{Features: "common"}
	kept := in.shareDetails(&common)
	for i := range 5 * maxShared {
		d := slurm.JobDetails{Deadline: slurm.Time(i + 1)}
		if got := in.shareDetails(&d); got.Details() != d {
			t.Fatalf("deadline %d became %d", d.Deadline, got.Deadline())
		}
		if i%100 == 0 && in.shareDetails(&common) != kept {
			t.Fatalf("details that every hundredth job has were forgotten after %d others", i)
		}
	}
	if n := len(in.details.young) + len(in.details.old); n > 2*maxShared {
		t.Errorf("%d details are kept, want at most %d", n, 2*maxShared)
	}
}

// TestDetailsWithTheSameHashAreNotConfused shares values under one hash.
func TestDetailsWithTheSameHashAreNotConfused(t *testing.T) {
	var table shareTable[slurm.SharedDetails]
	for _, features := range []string{"a", "b", "a", "a"} {
		d := slurm.JobDetails{Features: features}
		got := table.share(1, func(s slurm.SharedDetails) bool { return s.HasDetails(&d) },
			func() slurm.SharedDetails { return slurm.ShareDetails(d) })
		if got.Features() != features {
			t.Errorf("features %s became %s", features, got.Features())
		}
	}
}

func TestLongSharedTextsAreNotKept(t *testing.T) {
	in := NewInterner()
	for list := range 50 {
		var records []string
		for id := range 50 {
			records = append(records, fmt.Sprintf(`{"job_id":%d,"state_description":"%d-%d%s"}`, id+1, list, id, strings.Repeat("x", 2000)))
		}
		answer := `{"jobs":[` + strings.Join(records, ",") + `]}`
		if _, err := DecodeJobs(strings.NewReader(answer), in, func(*slurm.Job) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if kept := len(in.details.young) + len(in.details.old); kept > 0 {
		t.Errorf("%d values with long texts are kept", kept)
	}
}

package wire

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// recordedAnswers returns recorded answers of all versions, and each of them truncated and damaged.
func recordedAnswers(t *testing.T) [][]byte {
	t.Helper()
	all := readRecordings(t, "*/*/jobs*.json")
	var out [][]byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "state.json") || strings.Contains(name, "nochange") {
			continue
		}
		raw := all[name]
		out = append(out, raw, raw[:len(raw)*2/3], raw, bytes.Replace(raw, []byte(`"job_id": `), []byte(`"job_id": -`),
			1), raw)
	}
	return out
}

func TestAnAnswerDecodesTheSameAfterAnyOther(t *testing.T) {
	in := NewInterner()
	for i, raw := range recordedAnswers(t) {
		want, wantEnv, wantErr := decodeJobs(bytes.NewReader(raw))
		var got []slurm.Job
		env, err := DecodeJobs(bytes.NewReader(raw), in, func(j *slurm.Job) error { got = append(got, *j); return nil })
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("answer %d: %v, alone %v", i, err, wantErr)
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(wantEnv, env); diff != "" {
			t.Errorf("answer %d (alone, after others):\n%s", i, diff)
		}
	}
}

func TestAnswersAreDecodedConcurrently(t *testing.T) {
	raw := readRecordings(t, "26.05/v0.0.45/jobs.json")["26.05/v0.0.45/jobs.json"]
	want, _, err := decodeJobs(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	in := NewInterner()
	var outer []slurm.Job
	_, err = DecodeJobs(bytes.NewReader(raw), in, func(j *slurm.Job) error {
		outer = append(outer, *j)
		var inner []slurm.Job
		if _, err := DecodeJobs(bytes.NewReader(raw), in,
			func(j *slurm.Job) error { inner = append(inner, *j); return nil }); err != nil {
			return err
		}
		if diff := cmp.Diff(want, inner); diff != "" {
			t.Errorf("the inner answer:\n%s", diff)
		}
		return nil
	})
	if diff := cmp.Diff(want, outer); err != nil || diff != "" {
		t.Errorf("the outer answer: %v\n%s", err, diff)
	}
}

func TestALargeDecoderIsNotCached(t *testing.T) {
	in := NewInterner()
	for _, tc := range []struct {
		name string
		text string
		kept bool
	}{
		{"a small record", `{"jobs": [{"job_id": 1, "comment": "x"}]}`, true},
		{"a large record", `{"jobs": [{"comment": "` + strings.Repeat("x", maxCachedBytes) + `", "job_id": 1}]}`,
			false},
		{"a truncated record", `{"jobs": [{"job_id": 1`, false},
	} {
		_, err := DecodeJobs(strings.NewReader(tc.text), in, func(*slurm.Job) error { return nil })
		if kept := len(in.jobs.cached) > 0; kept != tc.kept {
			t.Errorf("%s: cached is %v, %v", tc.name, kept, err)
		}
	}
}

func TestSingleRecordAnswersAllocateLittle(t *testing.T) {
	raw := []byte(`{"jobs": [{"job_id": 1, "name": "a", "comment": "` + strings.Repeat("x", 9000) + `"}]}`)
	in := NewInterner()
	read := func(times int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			if _, err := DecodeJobs(bytes.NewReader(raw), in, func(*slurm.Job) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(times)
	}
	read(1)
	if n := read(100); n > 2<<10 {
		t.Errorf("it allocates %d bytes", n)
	}
}

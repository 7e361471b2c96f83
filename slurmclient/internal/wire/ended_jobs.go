package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// requestEndedJobs requests slurmdbd's records of the jobs in one state that ended between from and to, inclusive. The types generated from
// the OpenAPI documents lack this request, because it would take a third of all types. All versions answer alike. slurmrestd 24.11 and
// 26.05 accept only one state, and need both bounds.
func requestEndedJobs(ctx context.Context, http requestDoer, server, version, state string, from, to *string) (Response, error) {
	if from == nil || to == nil {
		return nil, fmt.Errorf("the time of ended jobs has no bounds")
	}
	query := url.Values{"state": {state}, "start_time": {*from}, "end_time": {*to}, "show_duplicates": {"true"}}
	req, err := newGet(ctx, server+"slurmdb/"+version+"/jobs/?"+query.Encode())
	if err != nil {
		return nil, err
	}
	return http.Do(req)
}

func newGet(ctx context.Context, url string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
}

// endedJob is a record of slurmdb/jobs, as all versions send it.
type endedJob struct {
	ID      uint32 `json:"job_id"`
	Cluster string `json:"cluster"`
	User    string `json:"user"`
	Account string `json:"account"`
	QOS     string `json:"qos"`
	State   struct {
		Current []string `json:"current"`
	} `json:"state"`
	Time struct {
		Start, End, Elapsed int64
	} `json:"time"`
	TRES struct {
		Allocated []tresCount `json:"allocated"`
	} `json:"tres"`
	Steps []endedStep `json:"steps"`
}

type endedStep struct {
	Time struct {
		Elapsed int64 `json:"elapsed"`
		Total   struct {
			Seconds, Microseconds int64
		} `json:"total"`
	} `json:"time"`
	TRES struct {
		// Requested is the usage of the step (TRESUsageIn in sacct(1)), despite its name.
		Requested struct {
			Total []tresCount `json:"total"`
		} `json:"requested"`
		Allocated []tresCount `json:"allocated"`
	} `json:"tres"`
}

type tresCount struct {
	Type, Name string
	Count      float64 // Slurm's NO_VAL64 does not fit into an int64
}

// unknownCount is the least of the numbers that Slurm gives to a count that it does not know (NO_VAL64, INFINITE64).
const unknownCount = 1 << 63

// countOf returns the count of a trackable resource, and whether the list has it.
func countOf(list []tresCount, kind, name string) (uint64, bool) {
	for _, t := range list {
		if t.Type == kind && t.Name == name && t.Count >= 0 && t.Count < unknownCount {
			return uint64(t.Count), true
		}
	}
	return 0, false
}

// decodeEndedJobs decodes the answer to slurmdb/jobs.
func decodeEndedJobs(body []byte) ([]slurm.EndedJob, error) {
	v, err := decodeAnswer[struct {
		Jobs []json.RawMessage `json:"jobs"`
	}](withoutInfinity(body))
	if err != nil {
		return nil, err
	}
	out := make([]slurm.EndedJob, 0, len(v.Jobs))
	for _, text := range v.Jobs {
		var j endedJob
		if err := json.Unmarshal(text, &j); err != nil {
			return nil, fmt.Errorf("decoding a job that has ended: %w", err)
		}
		out = append(out, j.toJob())
	}
	return out, nil
}

func (j *endedJob) toJob() slurm.EndedJob {
	out := slurm.EndedJob{ID: j.ID, Cluster: j.Cluster, User: j.User, Account: j.Account, QOS: j.QOS,
		State: slurm.ParseJobState(j.State.Current...), Start: slurm.Time(j.Time.Start), End: slurm.Time(j.Time.End),
		Elapsed: time.Duration(j.Time.Elapsed) * time.Second, Usage: usageOf(j.Steps)}
	out.CPUs, _ = countOf(j.TRES.Allocated, "cpu", "")
	out.MemoryMiB, _ = countOf(j.TRES.Allocated, "mem", "")
	out.GPUs, _ = countOf(j.TRES.Allocated, "gres", "gpu")
	return out
}

// usageOf returns what the steps of a job have used, nil if one of them was not measured. Slurm gathers memory of each step that it
// measures.
func usageOf(steps []endedStep) *slurm.JobUsage {
	if len(steps) == 0 {
		return nil
	}
	out := &slurm.JobUsage{}
	for _, s := range steps {
		memory, isMeasured := countOf(s.TRES.Requested.Total, "mem", "")
		if !isMeasured {
			return nil
		}
		out.MemoryBytes = max(out.MemoryBytes, memory)
		out.CPUTime += time.Duration(s.Time.Total.Seconds)*time.Second + time.Duration(s.Time.Total.Microseconds)*time.Microsecond
		if percent, has := countOf(s.TRES.Requested.Total, "gres", "gpuutil"); has {
			gpus, _ := countOf(s.TRES.Allocated, "gres", "gpu")
			out.HasGPUTime = true
			out.GPUTime += time.Duration(s.Time.Elapsed) * time.Second * time.Duration(min(percent, 100*gpus)) / 100 //nolint:gosec // few GPUs
		}
	}
	return out
}

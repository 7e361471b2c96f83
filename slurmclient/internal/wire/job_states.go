package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobState is a record of jobs/state.
type jobState struct {
	id    string
	state slurm.JobState
}

// decodeJobStates decodes the answer to jobs/state of any version. The OpenAPI documents describe it
// like the answer to /jobs/, in which job_id is a number. In fact it is text such as "7_3", so the
// types generated from the documents do not fit.
func decodeJobStates(body []byte) ([]slurm.JobStatus, error) {
	var out []slurm.JobStatus
	records := newRecords(map[string]field[jobState]{
		"job_id": {valid: json.Valid, read: func(_ *Interner, v []byte, s *jobState) {
			if s.id = string(parseText(v)); s.id == "" {
				s.id = string(v)
			}
		}},
		"state": {valid: json.Valid, read: func(_ *Interner, v []byte, s *jobState) { s.state = parseJobState(v) }},
	}, nil, func(s *jobState) bool { return s.id != "" })
	_, err := decodeList(bytes.NewReader(body), "jobs", records, func(r *jobState) error {
		if r.state == (slurm.JobState{}) {
			return fmt.Errorf("decoding the answer: job %q has no state", r.id)
		}
		status, err := parseJobStatusID(r.id)
		status.State = r.state
		out = append(out, status)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

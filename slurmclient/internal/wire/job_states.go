package wire

import (
	"encoding/json"
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// decodeJobStates decodes the answer to jobs/state of any version. The OpenAPI documents describe it
// like the answer to /jobs/, in which job_id is a number. In fact it is text such as "7_3", so the
// types generated from the documents do not fit.
func decodeJobStates(body []byte) ([]slurm.JobStatus, error) {
	// eachMember stops silently at malformed JSON, and callers take a missing job for one that is
	// gone.
	if !json.Valid(body) {
		return nil, syntaxError("the job states cannot be read")
	}
	var out []slurm.JobStatus
	var bad error
	eachMember(body, func(key, value []byte) {
		if string(key) != "jobs" {
			return
		}
		if value[0] != '[' && string(value) != "null" {
			bad = syntaxError("jobs is %.40q", value)
			return
		}
		eachElement(value, func(v []byte) {
			s, err := readJobState(v)
			if err != nil {
				bad = err
				return
			}
			out = append(out, s)
		})
	})
	if bad != nil {
		return nil, bad
	}
	return out, nil
}

func readJobState(v []byte) (slurm.JobStatus, error) {
	var id string
	var state slurm.JobState
	eachMember(v, func(key, value []byte) {
		switch string(key) {
		case "job_id":
			if id = string(parseText(value)); id == "" {
				id = string(value)
			}
		case "state":
			state = parseJobState(value)
		}
	})
	if state == (slurm.JobState{}) {
		return slurm.JobStatus{}, fmt.Errorf("decoding the answer: job %q has no state", id)
	}
	s, err := parseJobStatusID(id)
	s.State = state
	return s, err
}

package main

import "maps"

// correct fixes errors that the documents of all versions make about an operation. Recorded answers are the reference.
//
// jobs/state answers with the ids and states of jobs, not with jobs. The ids are strings, such as "7_[2-9]" or "8+1",
// and the answer contains neither last_update nor last_backfill.
func (s *schemas) correct(name string, operation object) (object, error) {
	if name != "GetJobsState" {
		return operation, nil
	}
	keys := []string{"responses", "default", "content", "application/json"}
	_, answer, err := s.from.resolve(childObject(descendKeys(operation, keys), "schema"))
	if err != nil {
		return nil, err
	}
	text := object{"type": "string"}
	properties := maps.Clone(childObject(answer, "properties"))
	delete(properties, "last_update")
	delete(properties, "last_backfill")
	properties["jobs"] = object{"type": "array", "items": object{"type": "object", "properties": object{
		"job_id": text,
		"state":  object{"type": "array", "items": text},
	}}}
	corrected := maps.Clone(operation)
	corrected["responses"] = object{"default": object{"content": object{"application/json": object{
		"schema": object{"type": "object", "properties": properties},
	}}}}
	return corrected, nil
}

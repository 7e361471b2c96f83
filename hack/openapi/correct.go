package main

import "maps"

// correct puts right what the documents of every version say wrong about an
// operation, as recorded answers show.
//
// jobs/state does not answer with jobs but with their ids and states; the ids are
// strings, such as "7_[2-9]" or "8+1", and neither time is there.
func (s *schemas) correct(name string, operation object) (object, error) {
	if name != "GetJobsState" {
		return operation, nil
	}
	keys := []string{"responses", "default", "content", "application/json"}
	_, answer, err := s.from.resolve(child(descend(operation, keys), "schema"))
	if err != nil {
		return nil, err
	}
	text := object{"type": "string"}
	properties := maps.Clone(child(answer, "properties"))
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

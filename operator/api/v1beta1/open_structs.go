package v1beta1

import (
	stdjson "encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/util/json"
)

// marshalOpen marshals known, and adds the fields in extra.
func marshalOpen(known any, extra map[string]Raw) ([]byte, error) {
	text, err := stdjson.Marshal(known)
	if err != nil || len(extra) == 0 {
		return text, err
	}
	all := map[string]Raw{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, extra)
	return stdjson.Marshal(all)
}

// unmarshalOpen unmarshals text into known. It returns the fields that are not among names, or nil if
// there are none.
func unmarshalOpen(text []byte, known any, names ...string) (map[string]Raw, error) {
	if err := json.Unmarshal(text, known); err != nil {
		return nil, err
	}
	var extra map[string]Raw
	if err := json.Unmarshal(text, &extra); err != nil {
		return nil, err
	}
	for _, name := range names {
		delete(extra, name)
	}
	if len(extra) == 0 {
		return nil, nil
	}
	return extra, nil
}

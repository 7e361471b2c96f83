package podspec

import (
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Object is a JSON object.
type Object = map[string]any

// DecodeRaw decodes an open part of a spec; it returns nil if the part is absent.
func DecodeRaw(r v1beta1.Raw) (Object, error) {
	if r.IsZero() {
		return nil, nil
	}
	var out Object
	err := json.Unmarshal(r.Raw, &out)
	return out, err
}

// EncodeObject converts a value to a JSON object.
func EncodeObject(value any) (Object, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out Object
	return out, json.Unmarshal(text, &out)
}

func decodeObject(from Object, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

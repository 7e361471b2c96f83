package render

import "github.com/slurmtide/slurmtide/operator/podspec"

// Objects returns all objects of a Controller, those first that the others refer to. If one cannot be
// built, none is returned.
func Objects(in Input) ([]podspec.KubeObject, error) {
	config, err := ConfigMap(in)
	if err != nil {
		return nil, err
	}
	service, err := Service(in)
	if err != nil {
		return nil, err
	}
	set, err := StatefulSet(in)
	if err != nil {
		return nil, err
	}
	out := []podspec.KubeObject{config, InternalService(in), service}
	for _, service := range PodServices(in) {
		out = append(out, service)
	}
	return append(out, set), nil
}

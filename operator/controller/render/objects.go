package render

import (
	"fmt"

	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Objects returns all objects of a Controller, referenced ones first. If one cannot be rendered, none is
// returned.
func Objects(in Input) ([]podspec.KubeObject, error) {
	if in.Controller.Spec.Address != "" && refs.ControllerReplicas(in.Controller) > 1 {
		return nil, fmt.Errorf("spec.address must not be given with spec.ha: each slurmctld needs an address of its own")
	}
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

package observe

import (
	"context"
	"encoding/json"
	"fmt"

	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// Act carries out an action on an object of the view and returns its result. It changes Slurm.
func (a *API) Act(ctx context.Context, resource, namespace, name, verb string, spec view.SlurmActionSpec) (*view.SlurmAction, error) {
	request := view.SlurmAction{Spec: spec}
	request.APIVersion, request.Kind = view.SchemeGroupVersion.String(), view.KindAction
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	path := append(pathOf(view.SchemeGroupVersion.WithResource(resource), namespace, name), verb)
	body, err := rawBody(a.client.Post().AbsPath(path...).SetHeader("Content-Type", "application/json").Body(text).Do(ctx))
	if err != nil {
		return nil, err
	}
	var out view.SlurmAction
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return &out, nil
}

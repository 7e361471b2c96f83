package observe

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// Object is an object of the view. The UID keeps an action from another object that has the name meanwhile.
type Object struct {
	Resource, Namespace, Name string
	UID                       types.UID
}

// Act carries out an action on an object and returns its result. It changes Slurm.
func (a *API) Act(ctx context.Context, o Object, verb string, spec view.SlurmActionSpec) (*view.SlurmAction, error) {
	request := view.SlurmAction{Spec: spec}
	request.UID = o.UID
	request.APIVersion, request.Kind = view.SchemeGroupVersion.String(), view.KindAction
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	path := append(pathOf(view.SchemeGroupVersion.WithResource(o.Resource), o.Namespace, o.Name), verb)
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

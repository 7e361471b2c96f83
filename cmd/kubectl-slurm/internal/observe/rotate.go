package observe

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Controller reads one Controller.
func (a *API) Controller(ctx context.Context, namespace, name string) (*v1beta1.Controller, error) {
	return getObject[v1beta1.Controller](ctx, a, slinkyResource("controllers"), namespace, name)
}

// RotatedKey is a kind of keys that the operator replaces: Annotation of a Controller asks for that, and Condition says how
// far it is.
type RotatedKey struct{ Annotation, Condition string }

// RequestKeyRotation asks the operator to replace a key of a Controller, by a new value of an annotation. It
// returns the condition of that moment, nil if there is none.
func (a *API) RequestKeyRotation(ctx context.Context, key RotatedKey, namespace, name, value string) (
	*metav1.Condition, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		key.Annotation: value}}})
	if err != nil {
		return nil, err
	}
	body, err := rawBody(a.client.Patch(types.MergePatchType).
		AbsPath(pathOf(slinkyResource("controllers"), namespace, name)...).Body(patch).Do(ctx))
	if err != nil {
		return nil, err
	}
	var out v1beta1.Controller
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return meta.FindStatusCondition(out.Status.Conditions, key.Condition), nil
}

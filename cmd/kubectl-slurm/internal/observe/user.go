package observe

import (
	"context"
	"encoding/json"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User asks the API server who asks. Nothing is kept of the question.
func (a *API) User(ctx context.Context) (string, error) {
	review := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"}}
	text, err := json.Marshal(review)
	if err != nil {
		return "", fmt.Errorf("asking who asks: %w", err)
	}
	body, err := said(a.client.Post().AbsPath("apis", "authentication.k8s.io", "v1", "selfsubjectreviews").
		SetHeader("Content-Type", "application/json").Body(text).Do(ctx))
	if err != nil {
		return "", fmt.Errorf("asking who asks: %w", err)
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return "", fmt.Errorf("asking who asks: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// Served asks whether a group and version of the API is served. Everybody may ask.
func (a *API) Served(ctx context.Context, gv schema.GroupVersion) error {
	var list metav1.APIResourceList
	if err := a.get(ctx, []string{"apis", gv.Group, gv.Version}, nil, &list); err != nil {
		return fmt.Errorf("looking for %s: %w", gv, err)
	}
	return nil
}

// Glance lists one object of a resource at most, to see whether one may.
func (a *API) Glance(ctx context.Context, r schema.GroupVersionResource, namespace string) error {
	var p page[struct{}]
	return a.get(ctx, pathOf(r, namespace, ""), map[string]string{"limit": "1"}, &p)
}

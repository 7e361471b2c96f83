package observe

import (
	"context"
	"encoding/json"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User returns the name of the user according to the API server. It creates no object.
func (a *API) User(ctx context.Context) (string, error) {
	review := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1",
		Kind: "SelfSubjectReview"}}
	text, err := json.Marshal(review)
	if err != nil {
		return "", fmt.Errorf("reading the user name: %w", err)
	}
	body, err := rawBody(a.client.Post().AbsPath("apis", "authentication.k8s.io", "v1", "selfsubjectreviews").
		SetHeader("Content-Type", "application/json").Body(text).Do(ctx))
	if err != nil {
		return "", fmt.Errorf("reading the user name: %w", err)
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return "", fmt.Errorf("reading the user name: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// CheckServed returns an error unless a group and version of the API is served. Every user may
// request this.
func (a *API) CheckServed(ctx context.Context, gv schema.GroupVersion) error {
	var list metav1.APIResourceList
	if err := a.get(ctx, []string{"apis", gv.Group, gv.Version}, nil, &list); err != nil {
		return fmt.Errorf("looking for %s: %w", gv, err)
	}
	return nil
}

// CheckList returns an error unless the user may list the resource. It lists at most one object.
func (a *API) CheckList(ctx context.Context, r schema.GroupVersionResource, namespace string) error {
	var p page[struct{}]
	return a.get(ctx, pathOf(r, namespace, ""), map[string]string{"limit": "1"}, &p)
}

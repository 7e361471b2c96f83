package view

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func TestTheFieldSelectorForOneselfNamesTheSlurmUser(t *testing.T) {
	for _, tc := range []struct{ name, kube, selector, want, problem string }{
		{"the user after the prefix", "oidc:alice", "spec.user=@me", "spec.user=alice", ""},
		{"the jobs of others", "oidc:alice", "spec.user!=@me", "spec.user!=alice", ""},
		{"another field keeps its value", "oidc:alice", "spec.name=@me", "spec.name=@me", ""},
		{"another user", "oidc:alice", "spec.user=bob", "spec.user=bob", ""},
		{"a user without the prefix", "admin", "spec.user=@me", "", "admin is not a Slurm user"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: tc.kube})
			opts := &internalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(tc.selector)}
			got, err := Users{Prefix: "oidc:"}.resolveMe(ctx, opts)
			if tc.problem != "" {
				if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("the error is %v, want %q", err, tc.problem)
				}
				return
			}
			if err != nil || got.FieldSelector.String() != tc.want || opts.FieldSelector.String() != tc.selector {
				t.Errorf("the selector is %v, %v, want %q", got, err, tc.want)
			}
		})
	}
}

package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// viewer is the user of a request and which private records that user may see.
type viewer struct {
	// name is the user's name in Kubernetes; user is the name in Slurm, empty for none.
	name, user string
	// viewAll has, for each private cluster, whether the user may see all of its records.
	viewAll map[ClusterRef]bool
}

// maxNamedClusters is how many clusters a warning names.
const maxNamedClusters = 3

// warning names the clusters whose jobs the viewer may not all see; it is empty if there are none.
// Only jobs have an owner. The warning depends only on permissions, because whether there are
// hidden jobs is private too.
func (v viewer) warning() string {
	var kept []string
	for _, h := range slices.SortedFunc(maps.Keys(v.viewAll), ClusterRef.Compare) {
		if !v.viewAll[h] {
			kept = append(kept, h.String())
		}
	}
	if len(kept) == 0 {
		return ""
	}
	clusters := "the Slurm cluster " + kept[0]
	if n := len(kept); n > 1 {
		clusters = fmt.Sprintf("%d Slurm clusters (%s)", n, strings.Join(kept[:min(n, maxNamedClusters)], ", "))
		if n > maxNamedClusters {
			clusters = strings.TrimSuffix(clusters, ")") + ", …)"
		}
	}
	const cure = "the role slurm-view-all shows all"
	if v.user == "" {
		return fmt.Sprintf("PrivateData hides the jobs of %s: %s is not a Slurm user; %s", clusters, v.name, cure)
	}
	return fmt.Sprintf("PrivateData hides jobs of %s: only those of %s are shown; %s", clusters, v.user, cure)
}

// sees reports whether a record of the cluster is shown; owned reports whether the record belongs
// to a Slurm user.
func (v viewer) sees(h ClusterRef, private bool, owned func(user string) bool) bool {
	return !private || v.viewAll[h] || v.user != "" && owned(v.user)
}

// Users maps Kubernetes users to Slurm users of the same name.
type Users struct {
	// Prefix is the prefix of user names in Kubernetes that names in Slurm do not have, such as
	// "oidc:". Kubernetes users without the prefix are not Slurm users.
	Prefix string
}

// slurmUser returns the name in Slurm, or "" for none. Names with a colon belong to Kubernetes
// itself, such as system:serviceaccount:a:b.
func (u Users) slurmUser(name string) string {
	rest, ok := strings.CutPrefix(name, u.Prefix)
	if !ok || strings.Contains(rest, ":") {
		return ""
	}
	return rest
}

// resolveMe replaces UserMe in the field selector by the Slurm user of the request. It returns a BadRequest error if the user is
// not a Slurm user.
func (u Users) resolveMe(ctx context.Context, opts *internalversion.ListOptions) (*internalversion.ListOptions, error) {
	if opts == nil || opts.FieldSelector == nil {
		return opts, nil
	}
	selector, err := opts.FieldSelector.Transform(func(field, value string) (string, string, error) {
		if field != v1alpha1.FieldUser || value != v1alpha1.UserMe {
			return field, value, nil
		}
		info, ok := request.UserFrom(ctx)
		if !ok {
			return "", "", apierrors.NewUnauthorized("the request has no user")
		}
		name := u.slurmUser(info.GetName())
		if name == "" {
			return "", "", apierrors.NewBadRequest(fmt.Sprintf("%s is not a Slurm user", info.GetName()))
		}
		return field, name, nil
	})
	if err != nil {
		return nil, err
	}
	out := *opts
	out.FieldSelector = selector
	return &out, nil
}

// accessGuard determines what a viewer may see.
type accessGuard struct {
	users      Users
	authorizer authorizer.Authorizer
	resource   string
	hasOwners  bool // whether records have an owner
}

// viewer returns the viewer of a request, for the clusters whose records are private. If records
// have no owner, it returns a Forbidden error unless the user may see all of them.
func (g accessGuard) viewer(ctx context.Context, private []ClusterRef) (viewer, error) {
	info, ok := request.UserFrom(ctx)
	if !ok {
		return viewer{}, apierrors.NewUnauthorized("the request has no user")
	}
	v := viewer{name: info.GetName(), user: g.users.slurmUser(info.GetName()), viewAll: map[ClusterRef]bool{}}
	for _, h := range private {
		may, err := g.mayViewAll(ctx, info, h)
		if err != nil {
			return viewer{}, err
		}
		if !may && !g.hasOwners {
			return viewer{}, apierrors.NewForbidden(v1alpha1.Resource(g.resource), "",
				fmt.Errorf("PrivateData of the Slurm cluster %s hides them from users without the verb %q", h,
					v1alpha1.VerbViewAll))
		}
		v.viewAll[h] = may
	}
	return v, nil
}

func (g accessGuard) mayViewAll(ctx context.Context, who user.Info, h ClusterRef) (bool, error) {
	return g.may(ctx, who, v1alpha1.VerbViewAll, h)
}

// mayActOnAll reports whether the user of a request may act on the records of others.
func (g accessGuard) mayActOnAll(ctx context.Context, h ClusterRef) (bool, error) {
	info, ok := request.UserFrom(ctx)
	if !ok {
		return false, apierrors.NewUnauthorized("the request has no user")
	}
	return g.may(ctx, info, v1alpha1.VerbActAll, h)
}

// may reports whether a user has a verb on the resource in a cluster.
func (g accessGuard) may(ctx context.Context, who user.Info, verb string, h ClusterRef) (bool, error) {
	decision, _, err := g.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: verb, Namespace: h.Namespace, Name: h.Name, ResourceRequest: true,
		APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version, Resource: g.resource,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("authorizing the verb %q in %s: %w", verb, h,
			err))
	}
	return false, nil
}

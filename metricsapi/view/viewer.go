package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// viewer is who asks, as far as private records are concerned.
type viewer struct {
	// name is the viewer's in Kubernetes, user the one in Slurm, empty for none.
	name, user string
	// all tells of each private home whether all of its records may be seen.
	all map[Home]bool
}

// toldHomes is how many clusters a warning names.
const toldHomes = 3

// warning tells of which clusters not all jobs are shown, jobs being what has an owner;
// it is empty where all are. It goes by rights alone: whether there is something to hide
// is private too.
func (v viewer) warning() string {
	var kept []string
	for _, h := range slices.SortedFunc(maps.Keys(v.all), Home.Compare) {
		if !v.all[h] {
			kept = append(kept, h.String())
		}
	}
	if len(kept) == 0 {
		return ""
	}
	clusters := "the Slurm cluster " + kept[0]
	if n := len(kept); n > 1 {
		clusters = fmt.Sprintf("%d Slurm clusters (%s)", n, strings.Join(kept[:min(n, toldHomes)], ", "))
		if n > toldHomes {
			clusters = strings.TrimSuffix(clusters, ")") + ", …)"
		}
	}
	const cure = "the role slurm-view-all shows all"
	if v.user == "" {
		return fmt.Sprintf("PrivateData hides the jobs of %s: %s is no user of Slurm; %s", clusters, v.name, cure)
	}
	return fmt.Sprintf("PrivateData hides jobs of %s: only those of %s are shown; %s", clusters, v.user, cure)
}

// sees reports whether a record of the home is shown; owned reports whether it is
// that of a user of Slurm.
func (v viewer) sees(h Home, private bool, owned func(user string) bool) bool {
	return !private || v.all[h] || v.user != "" && owned(v.user)
}

// Users says which user of Slurm a user of Kubernetes is.
type Users struct {
	// Prefix is what the names of people have in Kubernetes and have not in Slurm, such
	// as "oidc:". Who has another name is nobody in Slurm.
	Prefix string
}

// slurmUser returns the name in Slurm, or "" for nobody. Names with a colon are those
// of Kubernetes' own, such as system:serviceaccount:a:b.
func (u Users) slurmUser(name string) string {
	rest, ok := strings.CutPrefix(name, u.Prefix)
	if !ok || strings.Contains(rest, ":") {
		return ""
	}
	return rest
}

// guard finds out what a viewer may see.
type guard struct {
	users      Users
	authorizer authorizer.Authorizer
	resource   string
	owned      bool // whether records have an owner
}

// viewer returns who asks, for the homes whose records are private. Where records have
// no owner it is an error not to have the right to see all.
func (g guard) viewer(ctx context.Context, private []Home) (viewer, error) {
	info, ok := request.UserFrom(ctx)
	if !ok {
		return viewer{}, apierrors.NewUnauthorized("nobody knows who asks")
	}
	v := viewer{name: info.GetName(), user: g.users.slurmUser(info.GetName()), all: map[Home]bool{}}
	for _, h := range private {
		may, err := g.mayViewAll(ctx, info, h)
		if err != nil {
			return viewer{}, err
		}
		if !may && !g.owned {
			return viewer{}, apierrors.NewForbidden(v1alpha1.Resource(g.resource), "",
				fmt.Errorf("PrivateData of the Slurm cluster %s keeps them from who has not the right %q for it", h, v1alpha1.VerbViewAll))
		}
		v.all[h] = may
	}
	return v, nil
}

func (g guard) mayViewAll(ctx context.Context, who user.Info, h Home) (bool, error) {
	decision, _, err := g.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: v1alpha1.VerbViewAll, Namespace: h.Namespace, Name: h.Name, ResourceRequest: true,
		APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version, Resource: g.resource,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("asking whether all of %s may be seen: %w", h, err))
	}
	return false, nil
}

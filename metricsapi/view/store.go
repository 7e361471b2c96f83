package view

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// maxItems is the maximum number of objects in a page. A list without a limit contains all objects, as the fallback of client-go
// and its informers expect, and waits for other such lists (longLists).
const maxItems = 10_000

// store serves requests for one resource.
type store[T any] struct {
	resource  *resource[T]
	timeline  *timeline[T]
	directory Directory
	guard     accessGuard
	clock     func() time.Time
	maxAge    time.Duration
	long      longLists
	ended     context.Context
	peers     Peers
	asked     *singleflight.Group

	onPeerFailure func(error)
}

// restStorage are the interfaces that k8s.io/apiserver requires of a store.
type restStorage interface {
	rest.Storage
	rest.Scoper
	rest.Getter
	rest.Lister
	rest.Watcher
	rest.TableConvertor
	rest.SingularNameProvider
	rest.ShortNamesProvider
	rest.CategoriesProvider
}

// New implements rest.Storage.
func (s *store[T]) New() runtime.Object { return s.resource.newEmpty() }

// NewList implements rest.Lister.
func (s *store[T]) NewList() runtime.Object { return s.resource.newList(nil, metav1.ListMeta{}, 0) }

// Destroy implements rest.Storage; there is nothing to release.
func (s *store[T]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *store[T]) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (s *store[T]) GetSingularName() string { return s.resource.singular }

// ShortNames implements rest.ShortNamesProvider.
func (s *store[T]) ShortNames() []string { return []string{s.resource.short} }

// Categories implements rest.CategoriesProvider.
func (s *store[T]) Categories() []string { return []string{"slurm"} }

// ConvertToTable implements rest.TableConvertor.
func (s *store[T]) ConvertToTable(ctx context.Context, o, options runtime.Object) (*metav1.Table, error) {
	return s.resource.table.convert(ctx, s.clock(), o, options)
}

// query is a request and the frame to answer it from.
type query[T any] struct {
	criteria criteria[T]
	viewer   viewer
	newest   *frame[T]
}

// newQuery returns the query of a request, or an error if a cluster that it covers is unavailable.
func (s *store[T]) newQuery(ctx context.Context, opts *internalversion.ListOptions) (query[T], error) {
	var a query[T]
	var err error
	if opts, err = s.guard.users.resolveMe(ctx, opts); err != nil {
		return a, err
	}
	if a.criteria, err = criteriaOf(s.resource, request.NamespaceValue(ctx), opts); err != nil {
		return a, err
	}
	if err = s.checkFresh(a.criteria.covers); err != nil {
		return a, err
	}
	if a.newest, err = s.timeline.refresh(); err != nil {
		return a, err
	}
	a.viewer, err = s.viewer(ctx, a.newest, a.criteria.covers)
	return a, err
}

// checkFresh returns an error if one of the clusters that counts accepts is unavailable or too
// old.
func (s *store[T]) checkFresh(counts func(ClusterRef) bool) error {
	sources, err := s.directory.Sources()
	if err != nil {
		return apierrors.NewServiceUnavailable(err.Error())
	}
	for _, source := range sources {
		if !counts(source.Ref) {
			continue
		}
		snapshot, err := source.Snapshot()
		if err == nil {
			_, poll := s.resource.read(snapshot)
			err = metricsapi.CheckFresh(s.clock(), s.maxAge, poll)
		}
		if _, settled := source.privateData(snapshot); err == nil && !settled {
			err = errors.New("its PrivateData has not been read yet")
		}
		if err != nil {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("Slurm cluster %s: %v", source.Ref, err))
		}
	}
	return nil
}

// viewer returns the viewer of the request, for the clusters of the frame that counts accepts.
func (s *store[T]) viewer(ctx context.Context, f *frame[T], counts func(ClusterRef) bool) (viewer, error) {
	var private []ClusterRef
	for _, p := range f.clusters {
		if p.private && counts(p.ref) {
			private = append(private, p.ref)
		}
	}
	return s.guard.viewer(ctx, private)
}

// Get implements rest.Getter. The object has the newest resourceVersion, so that a watch can
// begin there.
func (s *store[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	f, err := s.timeline.refresh()
	if err != nil {
		return nil, err
	}
	p, t, err := s.findIn(ctx, f, name)
	if err != nil {
		return nil, err
	}
	return s.resource.newObject(p.placement(s.timeline.versionOfState(f)), t), nil
}

// findIn returns the record of an object that the user may see, and its cluster.
func (s *store[T]) findIn(ctx context.Context, f *frame[T], name string) (*clusterRecords[T], *T, error) {
	found, err := s.findMatches(ctx, f, name, 1)
	if err != nil {
		return nil, nil, err
	}
	return found[0].cluster, found[0].record, nil
}

// findMatches returns at most limit records with an object's name that the user may see, or a NotFound error. Records of several
// clusters have the same name if one of the names begins with the other: a.b.c is node b.c of cluster a, or node c of cluster a.b.
func (s *store[T]) findMatches(ctx context.Context, f *frame[T], name string, limit int) ([]match[T], error) {
	namespace := request.NamespaceValue(ctx)
	var found []match[T]
	for _, p := range f.clusters {
		if p.ref.Namespace != namespace || len(name) <= len(p.prefix) || name[:len(p.prefix)] != p.prefix {
			continue
		}
		only := func(h ClusterRef) bool { return h == p.ref }
		if err := s.checkFresh(only); err != nil {
			return nil, err
		}
		v, err := s.viewer(ctx, f, only)
		if err != nil {
			return nil, err
		}
		hidden := true
		for _, t := range findByName(s.resource, p, p.records, name) {
			if s.sees(v, p, t) {
				found, hidden = append(found, match[T]{p, t}), false
			}
		}
		if len(found) >= limit {
			return found, nil
		}
		if hidden {
			s.warn(ctx, v)
		}
	}
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(v1alpha1.Resource(s.resource.plural), name)
	}
	return found, nil
}

// warn adds a warning to the response if jobs are hidden. kubectl prints it.
func (s *store[T]) warn(ctx context.Context, v viewer) {
	if text := v.warning(); text != "" {
		warning.AddWarning(ctx, "", text)
	}
}

func (s *store[T]) sees(v viewer, p *clusterRecords[T], t *T) bool {
	return v.sees(p.ref, p.private, func(user string) bool { return s.resource.isOwnedBy(p, t, user) })
}

// List implements rest.Lister.
func (s *store[T]) List(ctx context.Context, opts *internalversion.ListOptions) (runtime.Object, error) {
	if opts == nil {
		opts = &internalversion.ListOptions{}
	}
	a, err := s.newQuery(ctx, opts)
	if err != nil {
		return nil, err
	}
	list, err := s.frameToList(ctx, &a, opts)
	if err != nil {
		return nil, err
	}
	if list.after == nil {
		s.warn(ctx, a.viewer)
	}
	most := math.MaxInt
	if opts.Limit > 0 {
		most = int(min(opts.Limit, maxItems))
	}
	f := list.frame
	matches, more := selectPage(s.resource, f, a.criteria, a.viewer, list.after, most)
	if err := s.long.waitForTurn(ctx, v1alpha1.Resource(s.resource.plural), len(matches)); err != nil {
		return nil, err
	}
	meta := metav1.ListMeta{ResourceVersion: list.version.String()}
	if more {
		last := matches[len(matches)-1]
		meta.Continue = continueToken{list.version, list.others, last.cluster.ref, s.resource.key(last.record)}.encode()
		if a.coversEverything(f) {
			n := countRemaining(f, a.criteria, last, s.resource)
			meta.RemainingItemCount = &n
		}
	}
	return s.resource.newList(matches, meta, f.version), nil
}

// coversEverything reports whether the query filters out no records of the covered clusters.
func (a *query[T]) coversEverything(f *frame[T]) bool {
	for _, p := range f.clusters {
		if p.private && !a.viewer.viewAll[p.ref] {
			return false
		}
	}
	return a.criteria.name == "" && len(a.criteria.terms) == 0
}

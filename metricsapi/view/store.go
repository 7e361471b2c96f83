package view

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// maxItems is the maximum number of objects in a response. An unpaged list could otherwise
// contain a hundred thousand jobs.
const mostItems = 10_000

// store serves requests for one resource.
type store[T any] struct {
	noun   *noun[T]
	line   *timeline[T]
	dir    Directory
	guard  guard
	clock  func() time.Time
	maxAge time.Duration
}

// restStorage are the interfaces that k8s.io/apiserver requires of a store.
type stored interface {
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
func (s *store[T]) New() runtime.Object { return s.noun.empty() }

// NewList implements rest.Lister.
func (s *store[T]) NewList() runtime.Object { return s.noun.list(nil, metav1.ListMeta{}, 0) }

// Destroy implements rest.Storage; there is nothing to release.
func (s *store[T]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *store[T]) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (s *store[T]) GetSingularName() string { return s.noun.singular }

// ShortNames implements rest.ShortNamesProvider.
func (s *store[T]) ShortNames() []string { return []string{s.noun.short} }

// Categories implements rest.CategoriesProvider.
func (s *store[T]) Categories() []string { return []string{"slurm"} }

// ConvertToTable implements rest.TableConvertor.
func (s *store[T]) ConvertToTable(ctx context.Context, o, options runtime.Object) (*metav1.Table, error) {
	return s.noun.table.convert(ctx, s.clock(), o, options)
}

// query is a request and the frame to answer it from.
type asked[T any] struct {
	criteria criteria[T]
	viewer   viewer
	newest   *frame[T]
}

// newQuery returns the query of a request, or an error if a cluster that it covers is unavailable.
func (s *store[T]) ask(ctx context.Context, opts *internalversion.ListOptions) (asked[T], error) {
	var a asked[T]
	var err error
	if a.criteria, err = criteriaOf(s.noun, request.NamespaceValue(ctx), opts); err != nil {
		return a, err
	}
	if err = s.fresh(a.criteria.covers); err != nil {
		return a, err
	}
	if a.newest, err = s.line.refresh(); err != nil {
		return a, err
	}
	a.viewer, err = s.viewer(ctx, a.newest, a.criteria.covers)
	return a, err
}

// checkFresh returns an error if one of the clusters that counts accepts is unavailable or too
// old.
func (s *store[T]) fresh(counts func(Home) bool) error {
	sources, err := s.dir.Sources()
	if err != nil {
		return apierrors.NewServiceUnavailable(err.Error())
	}
	for _, source := range sources {
		if !counts(source.Home) {
			continue
		}
		snapshot, err := source.Snapshot()
		if err == nil {
			_, poll := s.noun.read(snapshot)
			err = metricsapi.Stale(s.clock(), s.maxAge, poll)
		}
		if _, settled := source.private(snapshot); err == nil && !settled {
			err = errors.New("its PrivateData has not been read yet")
		}
		if err != nil {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("Slurm cluster %s: %v", source.Home, err))
		}
	}
	return nil
}

// viewer returns the viewer of the request, for the clusters of the frame that counts accepts.
func (s *store[T]) viewer(ctx context.Context, f *frame[T], counts func(Home) bool) (viewer, error) {
	var private []Home
	for _, p := range f.parts {
		if p.private && counts(p.home) {
			private = append(private, p.home)
		}
	}
	return s.guard.viewer(ctx, private)
}

// Get implements rest.Getter. The object has the newest resourceVersion, so that a watch can
// begin there.
func (s *store[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	namespace := request.NamespaceValue(ctx)
	f, err := s.line.refresh()
	if err != nil {
		return nil, err
	}
	for _, p := range f.parts {
		if p.home.Namespace != namespace || len(name) <= len(p.prefix) || name[:len(p.prefix)] != p.prefix {
			continue
		}
		only := func(h Home) bool { return h == p.home }
		if err := s.fresh(only); err != nil {
			return nil, err
		}
		v, err := s.viewer(ctx, f, only)
		if err != nil {
			return nil, err
		}
		for _, t := range named(s.noun, p, p.items, name) {
			if s.sees(v, p, t) {
				return s.noun.object(p.setting(f.version), t), nil
			}
		}
		s.warn(ctx, v)
	}
	return nil, apierrors.NewNotFound(v1alpha1.Resource(s.noun.resource), name)
}

// warn adds a warning to the response if jobs are hidden. kubectl prints it.
func (s *store[T]) warn(ctx context.Context, v viewer) {
	if text := v.warning(); text != "" {
		warning.AddWarning(ctx, "", text)
	}
}

func (s *store[T]) sees(v viewer, p *part[T], t *T) bool {
	return v.sees(p.home, p.private, func(user string) bool { return s.noun.mayBeSeen(t, user) })
}

// List implements rest.Lister.
func (s *store[T]) List(ctx context.Context, opts *internalversion.ListOptions) (runtime.Object, error) {
	if opts == nil {
		opts = &internalversion.ListOptions{}
	}
	a, err := s.ask(ctx, opts)
	if err != nil {
		return nil, err
	}
	f, after, err := s.begin(a.newest, opts)
	if err != nil {
		return nil, err
	}
	if after == nil {
		s.warn(ctx, a.viewer)
	}
	most := mostItems
	if opts.Limit > 0 && opts.Limit < mostItems {
		most = int(opts.Limit)
	}
	matches, more := pageOf(s.noun, f, a.criteria, a.viewer, after, most)
	if more && opts.Limit == 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("more than %d %s are selected, which is the maximum for "+
			"one response: "+
			"request pages (limit and continue, as kubectl does by default) or use a selector", mostItems,
			s.noun.resource))
	}
	meta := metav1.ListMeta{ResourceVersion: version(f.version)}
	if more {
		last := matches[len(matches)-1]
		meta.Continue = place{f.version, last.in.home, s.noun.key(last.item)}.token()
		if a.everything(f) {
			n := remaining(f, a.criteria, last, s.noun)
			meta.RemainingItemCount = &n
		}
	}
	return s.noun.list(matches, meta, f.version), nil
}

// coversEverything reports whether the query filters out no records of the covered clusters.
func (a *asked[T]) everything(f *frame[T]) bool {
	for _, p := range f.parts {
		if p.private && !a.viewer.all[p.home] {
			return false
		}
	}
	return a.criteria.name == "" && len(a.criteria.terms) == 0
}

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

// mostItems is how many objects one answer has at the most, whatever is asked for: a
// list that is not paged would hold each of a hundred thousand jobs at once.
const mostItems = 10_000

// store answers the requests for one noun.
type store[T any] struct {
	noun   *noun[T]
	line   *timeline[T]
	dir    Directory
	guard  guard
	clock  func() time.Time
	maxAge time.Duration
}

// stored is what Kubernetes' library asks a store for.
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

// Destroy implements rest.Storage; there is nothing to clear up.
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

// asked is a request, with what it is answered from.
type asked[T any] struct {
	criteria criteria[T]
	viewer   viewer
	newest   *frame[T]
}

// ask finds out who asks for what, and that all of what may be selected is known.
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

// fresh returns why one of the clusters that count is of no use, or nil.
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

// viewer returns who asks, for those homes of the frame that count.
func (s *store[T]) viewer(ctx context.Context, f *frame[T], counts func(Home) bool) (viewer, error) {
	var private []Home
	for _, p := range f.parts {
		if p.private && counts(p.home) {
			private = append(private, p.home)
		}
	}
	return s.guard.viewer(ctx, private)
}

// Get implements rest.Getter. The resourceVersion of the object is the newest, so that
// a watch can begin at it.
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

// warn has the client told that not all is shown. kubectl prints that by itself.
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
	hits, more := pageOf(s.noun, f, a.criteria, a.viewer, after, most)
	if more && opts.Limit == 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("more than %d %s are selected, which is more than one answer has: "+
			"ask for pages (limit and continue, as kubectl does unless told otherwise) or select fewer", mostItems, s.noun.resource))
	}
	meta := metav1.ListMeta{ResourceVersion: version(f.version)}
	if more {
		last := hits[len(hits)-1]
		meta.Continue = place{f.version, last.in.home, s.noun.key(last.item)}.token()
		if a.everything(f) {
			n := remaining(f, a.criteria, last, s.noun)
			meta.RemainingItemCount = &n
		}
	}
	return s.noun.list(hits, meta, f.version), nil
}

// everything reports that nothing of the homes is left out.
func (a *asked[T]) everything(f *frame[T]) bool {
	for _, p := range f.parts {
		if p.private && !a.viewer.all[p.home] {
			return false
		}
	}
	return a.criteria.name == "" && len(a.criteria.terms) == 0
}

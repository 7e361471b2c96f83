package metricsapi

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/metrics/pkg/apis/custom_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
)

// Config configures a Provider.
type Config struct {
	// MaxAge is the maximum age of data from Slurm; 0 means DefaultMaxAge.
	MaxAge time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultMaxAge is the default of Config.MaxAge.
const DefaultMaxAge = 2 * time.Minute

// withDefaults returns the Config with defaults for unset fields.
func (cfg Config) withDefaults() Config {
	if cfg.MaxAge <= 0 {
		cfg.MaxAge = DefaultMaxAge
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

// Provider answers queries for custom and external metrics. Its methods do not block and make no requests. For unknown
// metrics and objects they return the library's not-found errors. For numbers that are unknown or too old they return
// ServiceUnavailable, with the cluster, the age and the last error.
type Provider struct {
	directory Directory
	cfg       Config
	entries   map[string]Entry
	infos     []provider.CustomMetricInfo
}

var _ provider.MetricsProvider = (*Provider)(nil)

// New returns a Provider of the catalogue's metrics.
func New(objects Directory, cfg Config) *Provider {
	p := &Provider{directory: objects, cfg: cfg.withDefaults(), entries: map[string]Entry{}}
	for _, e := range Catalogue() {
		p.entries[e.Name] = e
		for _, on := range e.Resources {
			p.infos = append(p.infos,
				provider.CustomMetricInfo{GroupResource: on.GroupResource, Namespaced: on.Namespaced, Metric: e.Name})
		}
	}
	return p
}

// ListAllMetrics implements provider.CustomMetricsProvider. The list is the catalogue and does
// not depend on which objects exist.
func (p *Provider) ListAllMetrics() []provider.CustomMetricInfo { return slices.Clone(p.infos) }

// GetMetricByName implements provider.CustomMetricsProvider.
func (p *Provider) GetMetricByName(
	_ context.Context, name types.NamespacedName, info provider.CustomMetricInfo, selector labels.Selector,
) (*custom_metrics.MetricValue, error) {
	entry, on, ok := p.find(info)
	if !ok {
		return nil, provider.NewMetricNotFoundForError(info.GroupResource, info.Metric, name.Name)
	}
	o, ok := p.directory.Object(on, name.Namespace, name.Name)
	if !ok {
		return nil, provider.NewMetricNotFoundForError(info.GroupResource, info.Metric, name.Name)
	}
	return p.value(entry, on, o, selector)
}

// GetMetricBySelector implements provider.CustomMetricsProvider. The list is complete or an
// error, also for "*", because a list without unavailable objects would look like less demand.
func (p *Provider) GetMetricBySelector(
	_ context.Context, namespace string, matching labels.Selector, info provider.CustomMetricInfo,
	selector labels.Selector,
) (*custom_metrics.MetricValueList, error) {
	entry, on, ok := p.find(info)
	if !ok {
		return nil, provider.NewMetricNotFoundError(info.GroupResource, info.Metric)
	}
	found := p.directory.Objects(on, namespace, matching)
	if len(found) == 0 {
		return nil, provider.NewMetricNotFoundForSelectorError(info.GroupResource, info.Metric, "*", matching)
	}
	out := &custom_metrics.MetricValueList{}
	for _, o := range found {
		v, err := p.value(entry, on, o, selector)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, *v)
	}
	return out, nil
}

// find returns the entry and the resource that a query names.
func (p *Provider) find(info provider.CustomMetricInfo) (Entry, Resource, bool) {
	e, ok := p.entries[info.Metric]
	if !ok {
		return Entry{}, Resource{}, false
	}
	for _, on := range e.Resources {
		if on.Namespaced == info.Namespaced && on.isNamedBy(info.GroupResource) {
			return e, on, true
		}
	}
	return Entry{}, Resource{}, false
}

func (p *Provider) value(
	e Entry, on Resource, o Object, selector labels.Selector,
) (*custom_metrics.MetricValue, error) {
	notFound := provider.NewMetricNotFoundForSelectorError(on.GroupResource, e.Name, o.Name, selector)
	if len(o.Clusters) == 0 {
		return nil, notFound
	}
	var n metricSum
	for _, c := range o.Clusters {
		r, err := p.reading(c)
		if err != nil {
			return nil, newUnavailable(c.String(), err)
		}
		if err := n.add(e, o, c.Name(), r, selector); err != nil {
			return nil, newUnavailable(c.String(), err)
		}
	}
	if !n.found {
		return nil, explainNotFound(notFound, e, n.partitions)
	}
	return &custom_metrics.MetricValue{
		DescribedObject: custom_metrics.ObjectReference{Kind: on.Kind, APIVersion: on.APIVersion,
			Namespace: o.Namespace, Name: o.Name},
		Metric:    custom_metrics.MetricIdentifier{Name: e.Name, Selector: describeSelector(selector)},
		Timestamp: metav1.NewTime(n.readAt),
		Value:     *quantityOf(n.value),
	}, nil
}

// reading returns the newest reading of the cluster, or an error if it is unavailable or too old.
func (p *Provider) reading(c Cluster) (*Reading, error) {
	r, err := c.Reading()
	if err != nil {
		return nil, err
	}
	return r, r.checkUsable(p.cfg.Now(), p.cfg.MaxAge)
}

func quantityOf(n uint64) *resource.Quantity {
	const most = 1<<63 - 1
	return resource.NewQuantity(int64(min(n, most)), resource.DecimalSI)
}

// isNamedBy reports whether a query for the given resource means this one. The group may be
// empty, as a RESTMapper allows.
func (r Resource) isNamedBy(asked schema.GroupResource) bool {
	return asked.Resource == r.Resource && (asked.Group == r.Group || asked.Group == "")
}

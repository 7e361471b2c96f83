package render

import (
	"cmp"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// ServiceMonitorKind is the kind of a ServiceMonitor of the Prometheus operator. It is not a part of Kubernetes.
var ServiceMonitorKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}

// monitored is the value of v1beta1.LabelMonitored.
const monitored = "true"

// metricsPaths are where slurmctld serves its metrics for all of a cluster (slurm.conf(5), MetricsType). Those by user
// and account have a series for each of them and are scraped on request only.
var metricsPaths = []string{"/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler"}

// WantsServiceMonitor reports whether Prometheus should scrape slurmctld.
func WantsServiceMonitor(c *v1beta1.Controller) bool {
	m := c.Spec.Metrics
	return m.Enabled && m.ServiceMonitor != nil && m.ServiceMonitor.Enabled
}

// NewServiceMonitor returns the ServiceMonitor of a Controller with no more than its kind and name.
func NewServiceMonitor(c *v1beta1.Controller) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(ServiceMonitorKind)
	out.SetName(names.ControllerService(c.Name))
	out.SetNamespace(c.Namespace)
	return out
}

// ServiceMonitor returns the ServiceMonitor of a Controller that wants one. It selects only the Service for clients:
// the others lead to the same slurmctlds.
func ServiceMonitor(c *v1beta1.Controller) *unstructured.Unstructured {
	in, user := Input{Controller: c}, c.Spec.Metrics.ServiceMonitor
	out := NewServiceMonitor(c)
	out.SetLabels(podspec.MergeMaps(user.Labels, in.labels()))
	out.SetAnnotations(maps.Clone(user.Annotations))
	kind := v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindController)
	out.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(c, kind)})
	selector := in.selector()
	selector[v1beta1.LabelMonitored] = monitored
	out.Object["spec"] = map[string]any{"endpoints": scrapedEndpoints(*user)}
	if err := unstructured.SetNestedStringMap(out.Object, selector, "spec", "selector", "matchLabels"); err != nil {
		panic(err) // spec is a map
	}
	return out
}

// scrapedEndpoints returns the endpoints of the ServiceMonitor.
func scrapedEndpoints(user v1beta1.ServiceMonitor) []any {
	endpoints := user.Endpoints
	if len(endpoints) == 0 {
		for _, path := range metricsPaths {
			endpoints = append(endpoints, v1beta1.MetricsEndpoint{Path: path})
		}
	}
	var out []any
	for _, e := range endpoints {
		endpoint := map[string]any{"port": ContainerSlurmctld, "path": e.Path}
		if interval := cmp.Or(e.Interval, user.Interval); interval != "" {
			endpoint["interval"] = interval
		}
		if timeout := cmp.Or(e.ScrapeTimeout, user.ScrapeTimeout); timeout != "" {
			endpoint["scrapeTimeout"] = timeout
		}
		out = append(out, endpoint)
	}
	return out
}

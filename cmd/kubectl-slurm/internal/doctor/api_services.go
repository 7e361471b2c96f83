package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Names of the checked APIServices.
const (
	MetricsServiceV1beta1 = "v1beta1.custom.metrics.k8s.io"
	MetricsServiceV1beta2 = "v1beta2.custom.metrics.k8s.io"
	ViewService           = "v1alpha1.view.slinky.slurm.net"
)

// checkRights reports the permissions that the user lacks, by the role that grants them.
func checkRights(observed *Observed) []Finding {
	var out []Finding
	user := cmp.Or(observed.User, "USER")
	for _, role := range []string{"view", "slurm-view"} {
		var what []string
		namespace := ""
		for _, d := range observed.Denied {
			if d.role() == role {
				what, namespace = append(what, d.Access), d.Namespace
			}
		}
		if len(what) == 0 {
			continue
		}
		name := "kubectl-" + role
		grant := name + " --clusterrole=" + role + " --user=" + quoteShell(user)
		f := newFinding(MissingRight, Object{Kind: "User", Name: user}, "may not %s", strings.Join(what, ", ")).
			withCure("an administrator grants the role %s, to which the charts add these permissions", role)
		if namespace == "" {
			f = f.withCommand("kubectl create clusterrolebinding %s", grant)
		} else {
			f = f.withCommand("kubectl -n %s create rolebinding %s", namespace, grant)
		}
		out = append(out, f)
	}
	return out
}

// role returns the cluster role that grants the permission.
func (d Denied) role() string {
	if strings.Contains(d.Access, "view.slinky.slurm.net") {
		return "slurm-view"
	}
	return "view"
}

// checkAPIServices checks that the APIServices exist and are available.
func checkAPIServices(observed *Observed) []Finding {
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(observed.APIServices)) {
		on := Object{Kind: "APIService", Name: name}
		service := observed.APIServices[name]
		if service == nil {
			out = append(out, findMissingService(on))
			continue
		}
		if why, is := whyUnavailable(service); is {
			f := newFinding(APIServiceUnavailable, on, "the API server cannot use it: %s", why)
			f = f.withCure("find out why the adapter's pods are not ready or not reachable")
			if to := service.Spec.Service; to != nil {
				f = f.withCure("find out why the pods of Service %s/%s are not ready or not reachable", to.Namespace,
					to.Name)
				f = f.withCommand("kubectl -n %s get pods,endpointslices -l app.kubernetes.io/name=slurm-metrics",
					to.Namespace)
			}
			out = append(out, f)
		}
	}
	return out
}

func findMissingService(on Object) Finding {
	if on.Name == ViewService {
		return newFinding(APIServiceMissing, on,
			"the view of Slurm is not installed: the plugin cannot show jobs, Slurm nodes and users").
			withCure("enable the view of the chart slurm-metrics, or run the doctor with --ignore=APIServiceMissing").
			withCommand("helm upgrade slurm-metrics CHART --namespace slurm-metrics --reuse-values --set view.enabled=true")
	}
	return newFinding(APIServiceMissing, on, "nothing serves custom metrics, so HPAs cannot scale NodeSets").
		withCure("install the chart slurm-metrics with apiServices.create=true").
		withCommand("helm upgrade --install slurm-metrics CHART --namespace slurm-metrics --create-namespace --set " +
			"rbac.secretNamespaces={NAMESPACE}")
}

// whyUnavailable reports whether the API server cannot use an APIService, and why.
func whyUnavailable(s *apiregistrationv1.APIService) (why string, is bool) {
	for _, c := range s.Status.Conditions {
		if c.Type == apiregistrationv1.Available && c.Status != apiregistrationv1.ConditionTrue {
			return c.Reason + ": " + c.Message, true
		}
	}
	return "", false
}

// isServed reports whether the API server can use an APIService. It is true if that is unknown.
func (observed *Observed) isServed(name string) bool {
	s, looked := observed.APIServices[name]
	if !looked {
		return true
	}
	if s == nil {
		return false
	}
	_, is := whyUnavailable(s)
	return !is
}

// checkForeignMetrics finds custom metrics that another program serves.
func checkForeignMetrics(observed *Observed) []Finding {
	if !observed.isServed(MetricsServiceV1beta2) {
		return nil
	}
	var out []Finding
	for _, on := range sortedObjects(observed.Required) {
		if observed.Required[on].Fault != NotServed {
			continue
		}
		who := "another program"
		if s := observed.APIServices[MetricsServiceV1beta2]; s != nil && s.Spec.Service != nil {
			who = "Service " + s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
		}
		out = append(out, newFinding(MetricsOfAnother, on,
			"%s serves custom metrics but has no slurm_nodeset_required_nodes of it", who).
			withCure("let slurm-metrics-adapter serve custom.metrics.k8s.io; where another adapter must, use its "+
				"external.metrics.k8s.io (docs/autoscaling.md)"))
	}
	return out
}

// checkSnapshots finds clusters whose data in the adapter is too old. NodeSets count only if no
// cluster reports the same error.
func checkSnapshots(observed *Observed) []Finding {
	if !observed.isServed(MetricsServiceV1beta2) {
		return nil
	}
	var out []Finding
	reported := map[string]bool{}
	for _, metrics := range []map[Object]Metric{observed.Running, observed.Required} {
		for _, on := range sortedObjects(metrics) {
			m := metrics[on]
			said := trimToSlurm(m.Message)
			if m.Fault != Unavailable || reported[said] || on.Kind == "NodeSet" && observed.isOrphan(on) {
				continue
			}
			reported[said] = true
			out = append(out, newFinding(StaleSnapshot, on, "%s", said).
				withCure("check that slurmrestd and slurmctld respond and that the token is valid; the adapter then "+
					"recovers by itself"))
		}
	}
	return out
}

// trimToSlurm removes the prefixes that clients and the API server add to the adapter's message,
// since they differ between requests.
func trimToSlurm(s string) string {
	if i := strings.Index(s, "Slurm cluster "); i >= 0 {
		s = s[i:]
	}
	return s
}

func sortedObjects(of map[Object]Metric) []Object {
	return slices.SortedFunc(maps.Keys(of), func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
}

package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Names of the APIServices that are looked for.
const (
	MetricsService1 = "v1beta1.custom.metrics.k8s.io"
	MetricsService2 = "v1beta2.custom.metrics.k8s.io"
	ViewService     = "v1alpha1.view.slinky.slurm.net"
)

// rights tells what the user may not read, by the role that gives it.
func rights(seen *Observed) []Finding {
	var out []Finding
	user := cmp.Or(seen.User, "USER")
	for _, role := range []string{"view", "slurm-view"} {
		var what []string
		namespace := ""
		for _, d := range seen.Denied {
			if d.role() == role {
				what, namespace = append(what, d.What), d.Namespace
			}
		}
		if len(what) == 0 {
			continue
		}
		name := "kubectl-" + role
		grant := name + " --clusterrole=" + role + " --user=" + quoted(user)
		f := found(MissingRight, Object{Kind: "User", Name: user}, "may not %s", strings.Join(what, ", ")).
			cure("an administrator gives the role %s, to which the charts add these rights", role)
		if namespace == "" {
			f = f.run("kubectl create clusterrolebinding %s", grant)
		} else {
			f = f.run("kubectl -n %s create rolebinding %s", namespace, grant)
		}
		out = append(out, f)
	}
	return out
}

// role is the cluster role that gives the right.
func (d Denied) role() string {
	if strings.Contains(d.What, "view.slinky.slurm.net") {
		return "slurm-view"
	}
	return "view"
}

// apiServices tests those that were looked for.
func apiServices(seen *Observed) []Finding {
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(seen.APIServices)) {
		on := Object{Kind: "APIService", Name: name}
		service := seen.APIServices[name]
		if service == nil {
			out = append(out, missingService(on))
			continue
		}
		if why, is := unavailable(service); is {
			f := found(APIServiceUnavailable, on, "the API server cannot use it: %s", why)
			f = f.cure("see why the adapter's pods are not ready or not reached")
			if to := service.Spec.Service; to != nil {
				f = f.cure("see why the pods behind Service %s/%s are not ready or not reached", to.Namespace, to.Name)
				f = f.run("kubectl -n %s get pods,endpointslices -l app.kubernetes.io/name=slurm-metrics", to.Namespace)
			}
			out = append(out, f)
		}
	}
	return out
}

func missingService(on Object) Finding {
	if on.Name == ViewService {
		return found(APIServiceMissing, on, "there is no view of Slurm: jobs, Slurm nodes and users can not be shown").
			cure("switch the view of the chart slurm-metrics on, or tell the doctor to --ignore=APIServiceMissing").
			run("helm upgrade slurm-metrics CHART --namespace slurm-metrics --reuse-values --set view.enabled=true")
	}
	return found(APIServiceMissing, on, "nothing serves custom metrics, so HPAs of NodeSets have nothing to go by").
		cure("install the chart slurm-metrics with apiServices.create=true").
		run("helm upgrade --install slurm-metrics CHART --namespace slurm-metrics --create-namespace --set rbac.secretNamespaces={NAMESPACE}")
}

// unavailable tells whether the API server can not use an APIService, and why.
func unavailable(s *apiregistrationv1.APIService) (why string, is bool) {
	for _, c := range s.Status.Conditions {
		if c.Type == apiregistrationv1.Available && c.Status != apiregistrationv1.ConditionTrue {
			return c.Reason + ": " + c.Message, true
		}
	}
	return "", false
}

// served reports whether the API server can use an APIService, as far as is known.
func (seen *Observed) served(name string) bool {
	s, looked := seen.APIServices[name]
	if !looked {
		return true
	}
	if s == nil {
		return false
	}
	_, is := unavailable(s)
	return !is
}

// foreignMetrics tells of custom metrics that somebody else serves.
func foreignMetrics(seen *Observed) []Finding {
	if !seen.served(MetricsService2) {
		return nil
	}
	var out []Finding
	for _, on := range objects(seen.Required) {
		if seen.Required[on].Fault != NotServed {
			continue
		}
		who := "another program"
		if s := seen.APIServices[MetricsService2]; s != nil && s.Spec.Service != nil {
			who = "Service " + s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
		}
		out = append(out, found(MetricsOfAnother, on, "%s serves custom metrics, and knows no slurm_nodeset_required_nodes of it", who).
			cure("let slurm-metrics-adapter serve custom.metrics.k8s.io; where another adapter must, use its external.metrics.k8s.io (docs/autoscaling.md)"))
	}
	return out
}

// stale tells of clusters that the adapter has no fresh reading of. NodeSets tell
// where there is no cluster to ask about.
func stale(seen *Observed) []Finding {
	if !seen.served(MetricsService2) {
		return nil
	}
	var out []Finding
	told := map[string]bool{}
	for _, metrics := range []map[Object]Metric{seen.Running, seen.Required} {
		for _, on := range objects(metrics) {
			m := metrics[on]
			said := slurmSaid(m.Said)
			if m.Fault != Unavailable || told[said] || on.Kind == "NodeSet" && seen.orphan(on) {
				continue
			}
			told[said] = true
			out = append(out, found(StaleSnapshot, on, "%s", said).
				cure("see that slurmrestd and slurmctld answer, and that the token is good; the adapter goes on by itself"))
		}
	}
	return out
}

// slurmSaid is what the adapter said, without what our readers and the API server
// put before it and without what is another at each try.
func slurmSaid(s string) string {
	if i := strings.Index(s, "Slurm cluster "); i >= 0 {
		s = s[i:]
	}
	return s
}

func objects(of map[Object]Metric) []Object {
	return slices.SortedFunc(maps.Keys(of), func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
}

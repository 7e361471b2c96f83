package command

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/doctor"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/metricsapi"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// observer collects what the doctor checks.
type examination struct {
	api       *observe.API
	namespace string
	observed  doctor.Observed
}

// observeAll reads everything that the doctor checks. It records what the user may not read. It
// returns an error only if the API server cannot be reached.
func observeAll(ctx context.Context, api *observe.API, now time.Time, namespace string) (*doctor.Observed, error) {
	x := &examination{api: api, namespace: namespace, observed: doctor.Observed{
		Now: now, APIServices: map[string]*apiregistrationv1.APIService{}, Read: map[doctor.Kind]bool{},
		Required: map[doctor.Object]doctor.Metric{}, Running: map[doctor.Object]doctor.Metric{},
	}}
	var err error
	if x.observed.User, err = api.User(ctx); err != nil {
		if observe.Hopeless(err) {
			return nil, err
		}
		x.skip("your user name", err)
	}
	x.services(ctx)
	x.objects(ctx)
	x.metrics(ctx)
	x.view(ctx)
	x.tokens(ctx)
	x.operator(ctx)
	return &x.observed, ctx.Err()
}

func (x *examination) skip(what string, err error) {
	x.observed.NotRead = append(x.observed.NotRead, what+": "+observe.Said(err))
}

// noteFailure records an error about something that the plugin needs.
func (x *examination) need(what, namespace string, err error) {
	if apierrors.IsForbidden(err) {
		x.observed.Denied = append(x.observed.Denied,
			doctor.Denied{What: what, Namespace: namespace, Said: observe.Said(err)})
		return
	}
	x.skip(what, err)
}

// readAPIServices reads the APIServices. Users who may not read them can still see whether the API
// is served.
func (x *examination) services(ctx context.Context) {
	for _, name := range []string{doctor.MetricsService1, doctor.MetricsService2, doctor.ViewService} {
		service, err := x.api.APIService(ctx, name)
		if apierrors.IsForbidden(err) {
			service, err = x.probe(ctx, name)
		}
		switch {
		case err == nil:
			x.observed.APIServices[name] = service
		case apierrors.IsNotFound(err):
			x.observed.APIServices[name] = nil
		default:
			x.skip("APIService "+name, err)
		}
	}
}

// probeAPI returns an APIService with the condition that a request to its API implies.
func (x *examination) probe(ctx context.Context, name string) (*apiregistrationv1.APIService, error) {
	version, group, _ := strings.Cut(name, ".")
	err := x.api.Served(ctx, schema.GroupVersion{Group: group, Version: version})
	out := &apiregistrationv1.APIService{}
	if apierrors.IsServiceUnavailable(err) {
		out.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: "ServiceUnavailable",
			Message: observe.Said(err),
		}}
		err = nil
	}
	return out, err
}

func (x *examination) objects(ctx context.Context) {
	scope := observe.Scope{Namespace: x.namespace}
	note := func(kind doctor.Kind, group string, err error) {
		x.observed.Read[kind] = err == nil
		if err != nil {
			x.need("list "+schema.GroupResource{Group: group, Resource: string(kind)}.String(), x.namespace, err)
		}
	}
	var err error
	x.observed.NodeSets, err = x.api.NodeSets(ctx, scope)
	note(doctor.NodeSets, "slinky.slurm.net", err)
	x.observed.Clusters, err = x.api.Clusters(ctx, scope)
	note(doctor.Clusters, "slinky.slurm.net", err)
	x.observed.Controllers, err = x.api.Controllers(ctx, scope)
	note(doctor.Controllers, "slinky.slurm.net", err)
	x.observed.Autoscalers, err = x.api.Autoscalers(ctx, scope)
	note(doctor.Autoscalers, "autoscaling", err)
	x.observed.Workers, err = workers(ctx, x.api, x.namespace, "")
	note(doctor.Workers, "", err)
}

// readMetrics reads one metric of each NodeSet and of each cluster.
func (x *examination) metrics(ctx context.Context) {
	denied := map[string]bool{}
	ask := func(of metricsapi.Resource, namespace, name, metric string, into map[doctor.Object]doctor.Metric) {
		v, err := x.api.Metric(ctx, of, namespace, name, metric, "")
		m := doctor.Metric{Number: v.Number}
		switch {
		case err == nil:
		case apierrors.IsNotFound(err):
			m = doctor.Metric{Fault: doctor.NotServed, Said: observe.Said(err)}
		case apierrors.IsServiceUnavailable(err):
			m = doctor.Metric{Fault: doctor.Unavailable, Said: observe.Said(err)}
		default:
			m = doctor.Metric{Fault: doctor.OtherFault, Said: observe.Said(err)}
			if what := "get " + of.GroupResource.String() + "/" + metric + " of custom.metrics.k8s.io"; !denied[what] {
				denied[what] = true
				x.need(what, x.namespace, err)
			}
		}
		into[doctor.Object{Kind: of.Kind, Namespace: namespace, Name: name}] = m
	}
	for _, n := range x.observed.NodeSets {
		ask(metricsapi.NodeSets(), n.Namespace, n.Name, "slurm_nodeset_required_nodes", x.observed.Required)
	}
	for _, c := range x.observed.Clusters {
		ask(metricsapi.Clusters(), c.Namespace, c.Name, "slurm_partition_running_jobs", x.observed.Running)
	}
	for _, c := range x.observed.Controllers {
		ask(metricsapi.Controllers(), c.Namespace, c.Name, "slurm_partition_running_jobs", x.observed.Running)
	}
}

// checkView checks whether the user may list each resource of the view.
func (x *examination) view(ctx context.Context) {
	if x.observed.APIServices[doctor.ViewService] == nil {
		return
	}
	for _, name := range []string{view.Jobs, view.Nodes, view.Partitions} {
		err := x.api.Glance(ctx, view.SchemeGroupVersion.WithResource(name), x.namespace)
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			x.need("list "+name+"."+view.GroupName, x.namespace, err)
		}
	}
}

// readOperator reads the lease and the pods of slurm-operator.
func (x *examination) operator(ctx context.Context) {
	leases, err := x.api.Leases(ctx, observe.Scope{Fields: "metadata.name=slurm-operator"})
	if err != nil {
		x.skip("whether slurm-operator runs", err)
		return
	}
	pods, err := x.api.Pods(ctx, observe.Scope{Labels: "app.kubernetes.io/name=slurm-operator"})
	if err != nil {
		x.skip("whether slurm-operator runs", err)
		return
	}
	x.observed.Operator = &doctor.Operator{Leases: leases}
	for i := range pods {
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				x.observed.Operator.ReadyPods++
			}
		}
	}
}

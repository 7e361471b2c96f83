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
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// observer collects what the doctor checks.
type observer struct {
	api       *observe.API
	namespace string
	observed  doctor.Observed
}

// observeAll reads everything that the doctor checks. It records what the user may not read. It
// returns an error only if the API server cannot be reached.
func observeAll(ctx context.Context, api *observe.API, now time.Time, namespace string) (*doctor.Observed, error) {
	x := &observer{api: api, namespace: namespace, observed: doctor.Observed{
		Now: now, APIServices: map[string]*apiregistrationv1.APIService{}, Read: map[doctor.Kind]bool{},
		Required: map[doctor.Object]doctor.Metric{}, Running: map[doctor.Object]doctor.Metric{},
	}}
	var err error
	if x.observed.User, err = api.User(ctx); err != nil {
		if observe.IsUnreachable(err) {
			return nil, err
		}
		x.noteNotRead("your user name", err)
	}
	x.readAPIServices(ctx)
	x.readObjects(ctx)
	x.readMetrics(ctx)
	x.checkView(ctx)
	x.readTokens(ctx)
	x.readOperator(ctx)
	return &x.observed, ctx.Err()
}

func (x *observer) noteNotRead(what string, err error) {
	x.observed.NotRead = append(x.observed.NotRead, what+": "+observe.ServerMessage(err))
}

// noteFailure records an error about something that the plugin needs.
func (x *observer) noteFailure(what, namespace string, err error) {
	if apierrors.IsForbidden(err) {
		x.observed.Denied = append(x.observed.Denied,
			doctor.Denied{Access: what, Namespace: namespace, Message: observe.ServerMessage(err)})
		return
	}
	x.noteNotRead(what, err)
}

// readAPIServices reads the APIServices. Users who may not read them can still see whether the API
// is served.
func (x *observer) readAPIServices(ctx context.Context) {
	for _, name := range []string{doctor.MetricsServiceV1beta1, doctor.MetricsServiceV1beta2, doctor.ViewService} {
		service, err := x.api.APIService(ctx, name)
		if apierrors.IsForbidden(err) {
			service, err = x.probeAPI(ctx, name)
		}
		switch {
		case err == nil:
			x.observed.APIServices[name] = service
		case apierrors.IsNotFound(err):
			x.observed.APIServices[name] = nil
		default:
			x.noteNotRead("APIService "+name, err)
		}
	}
}

// probeAPI returns an APIService with the condition that a request to its API implies.
func (x *observer) probeAPI(ctx context.Context, name string) (*apiregistrationv1.APIService, error) {
	version, group, _ := strings.Cut(name, ".")
	err := x.api.CheckServed(ctx, schema.GroupVersion{Group: group, Version: version})
	out := &apiregistrationv1.APIService{}
	if apierrors.IsServiceUnavailable(err) {
		out.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: "ServiceUnavailable",
			Message: observe.ServerMessage(err),
		}}
		err = nil
	}
	return out, err
}

func (x *observer) readObjects(ctx context.Context) {
	scope := observe.Scope{Namespace: x.namespace}
	note := func(kind doctor.Kind, group string, err error) {
		x.observed.Read[kind] = err == nil
		if err != nil {
			x.noteFailure("list "+schema.GroupResource{Group: group, Resource: string(kind)}.String(), x.namespace, err)
		}
	}
	var err error
	x.observed.NodeSets, err = x.api.NodeSets(ctx, scope)
	note(doctor.NodeSets, "slinky.slurm.net", err)
	x.observed.Clusters, err = x.api.Clusters(ctx, scope)
	note(doctor.Clusters, "slinky.slurm.net", err)
	x.observed.Controllers, err = x.api.Controllers(ctx, scope)
	note(doctor.Controllers, "slinky.slurm.net", err)
	x.observed.Accountings, err = x.api.Accountings(ctx, scope)
	note(doctor.Accountings, "slinky.slurm.net", err)
	x.observed.LoginSets, err = x.api.LoginSets(ctx, scope)
	note(doctor.LoginSets, "slinky.slurm.net", err)
	x.observed.RestAPIs, err = x.api.RestAPIs(ctx, scope)
	note(doctor.RestAPIs, "slinky.slurm.net", err)
	x.observed.Services, err = x.api.Services(ctx, scope)
	note(doctor.Services, "", err)
	x.observed.Autoscalers, err = x.api.Autoscalers(ctx, scope)
	note(doctor.Autoscalers, "autoscaling", err)
	x.observed.Workers, err = listWorkerPods(ctx, x.api, x.namespace, "")
	note(doctor.Workers, "", err)
}

// readMetrics reads one metric of each NodeSet and of each cluster.
func (x *observer) readMetrics(ctx context.Context) {
	denied := map[string]bool{}
	ask := func(of metricsapi.Resource, namespace, name, metric string, into map[doctor.Object]doctor.Metric) {
		v, err := x.api.Metric(ctx, of, namespace, name, metric, "")
		m := doctor.Metric{Number: v.Number}
		switch {
		case err == nil:
		case apierrors.IsNotFound(err):
			m = doctor.Metric{Fault: doctor.NotServed, Message: observe.ServerMessage(err)}
		case apierrors.IsServiceUnavailable(err):
			m = doctor.Metric{Fault: doctor.Unavailable, Message: observe.ServerMessage(err)}
		default:
			m = doctor.Metric{Fault: doctor.OtherFault, Message: observe.ServerMessage(err)}
			if what := "get " + of.GroupResource.String() + "/" + metric + " of custom.metrics.k8s.io"; !denied[what] {
				denied[what] = true
				x.noteFailure(what, x.namespace, err)
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
func (x *observer) checkView(ctx context.Context) {
	if x.observed.APIServices[doctor.ViewService] == nil {
		return
	}
	for _, name := range []string{view.Jobs, view.Nodes, view.Partitions} {
		err := x.api.CheckList(ctx, view.SchemeGroupVersion.WithResource(name), x.namespace)
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			x.noteFailure("list "+name+"."+view.GroupName, x.namespace, err)
		}
	}
}

// readOperator reads the lease and the pods of slurm-operator.
func (x *observer) readOperator(ctx context.Context) {
	leases, err := x.api.Leases(ctx, observe.Scope{Fields: "metadata.name=slurm-operator"})
	if err != nil {
		x.noteNotRead("whether slurm-operator runs", err)
		return
	}
	pods, err := x.api.Pods(ctx, observe.Scope{Labels: "app.kubernetes.io/name=slurm-operator"})
	if err != nil {
		x.noteNotRead("whether slurm-operator runs", err)
		return
	}
	namespaces, err := x.api.Leases(ctx, observe.Scope{Fields: "metadata.name=" + v1beta1.NamespaceLeaseName})
	if err != nil {
		x.noteNotRead("where slurm-operator works", err)
		return
	}
	x.observed.Operator = &doctor.Operator{Leases: leases, Namespaces: namespaces}
	for i := range pods {
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				x.observed.Operator.ReadyPods++
			}
		}
	}
}

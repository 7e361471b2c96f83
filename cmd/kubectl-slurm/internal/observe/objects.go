package observe

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func slinkyResource(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: v1beta1.GroupName, Version: "v1beta1", Resource: resource}
}

func newResource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// NodeSets lists NodeSets.
func (a *API) NodeSets(ctx context.Context, s Scope) ([]v1beta1.NodeSet, error) {
	return listAll[v1beta1.NodeSet](ctx, a, slinkyResource("nodesets"), s)
}

// Clusters lists Clusters.
func (a *API) Clusters(ctx context.Context, s Scope) ([]v1beta1.Cluster, error) {
	return listAll[v1beta1.Cluster](ctx, a, slinkyResource("clusters"), s)
}

// Controllers lists Controllers.
func (a *API) Controllers(ctx context.Context, s Scope) ([]v1beta1.Controller, error) {
	return listAll[v1beta1.Controller](ctx, a, slinkyResource("controllers"), s)
}

// Accountings lists Accountings.
func (a *API) Accountings(ctx context.Context, s Scope) ([]v1beta1.Accounting, error) {
	return listAll[v1beta1.Accounting](ctx, a, slinkyResource("accountings"), s)
}

// LoginSets lists LoginSets.
func (a *API) LoginSets(ctx context.Context, s Scope) ([]v1beta1.LoginSet, error) {
	return listAll[v1beta1.LoginSet](ctx, a, slinkyResource("loginsets"), s)
}

// RestAPIs lists RestApis.
func (a *API) RestAPIs(ctx context.Context, s Scope) ([]v1beta1.RestApi, error) {
	return listAll[v1beta1.RestApi](ctx, a, slinkyResource("restapis"), s)
}

// Services lists Services.
func (a *API) Services(ctx context.Context, s Scope) ([]corev1.Service, error) {
	return listAll[corev1.Service](ctx, a, newResource("", "v1", "services"), s)
}

// Autoscalers lists HorizontalPodAutoscalers.
func (a *API) Autoscalers(ctx context.Context, s Scope) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	return listAll[autoscalingv2.HorizontalPodAutoscaler](ctx, a,
		newResource("autoscaling", "v2", "horizontalpodautoscalers"), s)
}

// Pods lists pods.
func (a *API) Pods(ctx context.Context, s Scope) ([]corev1.Pod, error) {
	return listAll[corev1.Pod](ctx, a, newResource("", "v1", "pods"), s)
}

// Secret reads one Secret.
func (a *API) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return getObject[corev1.Secret](ctx, a, newResource("", "v1", "secrets"), namespace, name)
}

// APIService reads one APIService.
func (a *API) APIService(ctx context.Context, name string) (*apiregistrationv1.APIService, error) {
	return getObject[apiregistrationv1.APIService](ctx, a, newResource("apiregistration.k8s.io", "v1", "apiservices"),
		"", name)
}

// Leases lists leases.
func (a *API) Leases(ctx context.Context, s Scope) ([]coordinationv1.Lease, error) {
	return listAll[coordinationv1.Lease](ctx, a, newResource("coordination.k8s.io", "v1", "leases"), s)
}

// CheckNamespace returns an error unless the user can read the namespace.
func (a *API) CheckNamespace(ctx context.Context, name string) error {
	_, err := getObject[corev1.Namespace](ctx, a, newResource("", "v1", "namespaces"), "", name)
	return err
}

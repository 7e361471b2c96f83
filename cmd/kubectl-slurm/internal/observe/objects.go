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

func slinky(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: v1beta1.GroupName, Version: "v1beta1", Resource: resource}
}

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// NodeSets lists NodeSets.
func (a *API) NodeSets(ctx context.Context, s Scope) ([]v1beta1.NodeSet, error) {
	return list[v1beta1.NodeSet](ctx, a, slinky("nodesets"), s)
}

// Clusters lists Clusters.
func (a *API) Clusters(ctx context.Context, s Scope) ([]v1beta1.Cluster, error) {
	return list[v1beta1.Cluster](ctx, a, slinky("clusters"), s)
}

// Controllers lists Controllers.
func (a *API) Controllers(ctx context.Context, s Scope) ([]v1beta1.Controller, error) {
	return list[v1beta1.Controller](ctx, a, slinky("controllers"), s)
}

// Autoscalers lists HorizontalPodAutoscalers.
func (a *API) Autoscalers(ctx context.Context, s Scope) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	return list[autoscalingv2.HorizontalPodAutoscaler](ctx, a,
		resource("autoscaling", "v2", "horizontalpodautoscalers"), s)
}

// Pods lists pods.
func (a *API) Pods(ctx context.Context, s Scope) ([]corev1.Pod, error) {
	return list[corev1.Pod](ctx, a, resource("", "v1", "pods"), s)
}

// Secret reads one Secret.
func (a *API) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return one[corev1.Secret](ctx, a, resource("", "v1", "secrets"), namespace, name)
}

// APIService reads one APIService.
func (a *API) APIService(ctx context.Context, name string) (*apiregistrationv1.APIService, error) {
	return one[apiregistrationv1.APIService](ctx, a, resource("apiregistration.k8s.io", "v1", "apiservices"), "", name)
}

// Leases lists leases.
func (a *API) Leases(ctx context.Context, s Scope) ([]coordinationv1.Lease, error) {
	return list[coordinationv1.Lease](ctx, a, resource("coordination.k8s.io", "v1", "leases"), s)
}

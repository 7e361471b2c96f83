package controller

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// UncachedObjects returns the objects of which the manager's client must not keep a cache: ConfigMaps
// are many and large, so that only their metadata is watched.
func UncachedObjects() []client.Object { return []client.Object{&corev1.ConfigMap{}} }

// watch adds the watches of ConfigMaps, NodeSets, autoscalers, Accountings, RestApis and LoginSets of Controllers.
func (r *Reconciler) watch(b *builder.Builder) {
	b.WatchesMetadata(&corev1.ConfigMap{}, r.requestMatching(usesConfigMap)).
		Watches(&v1beta1.NodeSet{}, r.requestMatching(isJoinedByNodeSet)).
		Watches(&v1beta1.Accounting{}, r.requestMatching(usesAccounting), upgrade.OnChange()).
		Watches(&v1beta1.RestApi{}, r.requestMatching(isServed), upgrade.OnChange()).
		Watches(&v1beta1.LoginSet{}, r.requestMatching(isServed), upgrade.OnChange()).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, r.requestMatching(isInNamespace), kube.OnSpecChange())
}

// requestMatching returns the handler of a watch that reconciles the Controllers of its namespace that match.
func (r *Reconciler) requestMatching(matches func(*v1beta1.Controller, client.Object) bool) handler.EventHandler {
	return kube.RequestMatching(r.Client, &v1beta1.ControllerList{}, matches)
}

// isJoinedByNodeSet reports whether a NodeSet joins the Controller.
func isJoinedByNodeSet(c *v1beta1.Controller, changed client.Object) bool {
	n, ok := changed.(*v1beta1.NodeSet)
	if !ok {
		return false
	}
	key, _ := refs.ClusterKeyOf(n)
	return key.Kind == v1beta1.KindController && key.Name == c.Name
}

// usesConfigMap reports whether the configuration of the Controller has files of a ConfigMap, or is it.
func usesConfigMap(c *v1beta1.Controller, changed client.Object) bool {
	labels := changed.GetLabels()
	if labels[v1beta1.LabelAppName] == v1beta1.AppSlurmctld && labels[v1beta1.LabelCluster] == c.Name {
		return true
	}
	if ref := c.Spec.JWKSKeyRef; ref != nil && ref.Name == changed.GetName() {
		return true
	}
	for _, ref := range fileRefs(c, &render.UserFiles{}) {
		for _, name := range ref.refs {
			if name.Name == changed.GetName() {
				return true
			}
		}
	}
	return false
}

func usesAccounting(c *v1beta1.Controller, changed client.Object) bool {
	return c.Spec.AccountingRef != nil && c.Spec.AccountingRef.Name == changed.GetName()
}

// isServed reports whether a RestApi or LoginSet is one of the Controller.
func isServed(c *v1beta1.Controller, changed client.Object) bool {
	switch changed := changed.(type) {
	case *v1beta1.RestApi:
		return changed.Spec.ControllerRef.Name == c.Name
	case *v1beta1.LoginSet:
		return changed.Spec.ControllerRef.Name == c.Name
	}
	return false
}

// isInNamespace matches all Controllers: the maximum of an autoscaler is part of MaxNodeCount.
func isInNamespace(*v1beta1.Controller, client.Object) bool { return true }

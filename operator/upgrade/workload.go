package upgrade

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/podspec"
)

// workload is what runs the pods of a daemon.
type workload struct {
	object   client.Object
	template *corev1.PodTemplateSpec
	// container is the one of the template whose image is that of the daemon.
	container *corev1.Container
	// hasReady says that a pod is ready, and isComplete that all are and are made of the template.
	hasReady, isComplete bool
}

// findWorkload returns the StatefulSet or Deployment among objects, and reports whether there is one with the
// container.
func findWorkload(objects []podspec.KubeObject, container string) (workload, bool) {
	for _, object := range objects {
		if o, isObject := object.(client.Object); isObject {
			if out, ok := newWorkload(o, container); ok {
				return out, true
			}
		}
	}
	return workload{}, false
}

// newWorkload returns a StatefulSet or Deployment, and reports whether it is one with the container.
func newWorkload(object client.Object, container string) (workload, bool) {
	out := workload{object: object}
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		replicas := replicasOf(o.Spec.Replicas)
		out.template, out.hasReady = &o.Spec.Template, o.Status.ReadyReplicas > 0
		out.isComplete = o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas >= replicas &&
			o.Status.ReadyReplicas >= replicas && o.Status.Replicas <= replicas // one that goes may be the only new one
	case *appsv1.Deployment:
		replicas := replicasOf(o.Spec.Replicas)
		out.template, out.hasReady = &o.Spec.Template, o.Status.ReadyReplicas > 0
		out.isComplete = o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas >= replicas &&
			o.Status.AvailableReplicas >= replicas && o.Status.Replicas <= replicas
	default:
		return out, false
	}
	return out.withContainer(container)
}

// withContainer returns the workload with the container of its template that has a name, and reports whether there is
// one.
func (w workload) withContainer(name string) (workload, bool) {
	list := w.template.Spec.Containers
	i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return w, false
	}
	w.container = &list[i]
	return w, true
}

// replicasOf returns how many pods are wanted. Unset is one (apps/v1).
func replicasOf(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// isStarted reports whether the workload exists and is a StatefulSet with pods.
func (w workload) isStarted() bool {
	set, isSet := w.object.(*appsv1.StatefulSet)
	return isSet && replicasOf(set.Spec.Replicas) > 0
}

// isStopped reports whether the workload is missing, or a StatefulSet without pods.
func (w workload) isStopped() bool {
	set, isSet := w.object.(*appsv1.StatefulSet)
	return w.container == nil || isSet && replicasOf(set.Spec.Replicas) == 0 && set.Status.Replicas == 0 &&
		set.Status.ObservedGeneration >= set.Generation
}

// stop lets a StatefulSet have no pods.
func (w workload) stop() {
	if set, isSet := w.object.(*appsv1.StatefulSet); isSet {
		set.Spec.Replicas = new(int32(0))
	}
}

// setImage gives all containers that have the image of the daemon another one.
func (w workload) setImage(image string) {
	old := w.container.Image
	for _, list := range [][]corev1.Container{w.template.Spec.InitContainers, w.template.Spec.Containers} {
		for i := range list {
			if list[i].Image == old {
				list[i].Image = image
			}
		}
	}
}

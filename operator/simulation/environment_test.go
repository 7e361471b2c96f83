package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/names"
)

// child is an object that the operator makes.
type child struct{ kind, name string }

// children are some of the operator's objects.
var children = []child{
	{"StatefulSet", names.ControllerStatefulSet(ctldName)}, {"ConfigMap", names.ControllerConfigMap(ctldName)},
	{"Service", names.ControllerService(ctldName)}, {"StatefulSet", names.AccountingStatefulSet(dbdName)},
	{"Service", names.AccountingService(dbdName)}, {"ConfigMap", names.AccountingConfigMap(dbdName)},
	{"Deployment", names.RestAPIDeployment(restName)}, {"Deployment", names.LoginDeployment(loginName)},
	{"ConfigMap", names.LoginConfigMap(loginName)},
}

// environmentEvent takes Kubernetes' controllers and the kubelet a step on.
func (w *simulation) environmentEvent() {
	for _, set := range each[*appsv1.StatefulSet](w.api) {
		if w.calm || w.chance(70) {
			w.runStatefulSet(set)
		}
	}
	for _, d := range each[*appsv1.Deployment](w.api) {
		if w.calm || w.chance(70) {
			w.runDeployment(d)
		}
	}
	for _, pod := range each[*corev1.Pod](w.api) {
		if w.calm || w.chance(70) {
			w.runPod(pod)
		}
	}
	w.collectGarbage()
}

// collectGarbage deletes the objects whose owners no longer exist.
func (w *simulation) collectGarbage() {
	owners := map[types.UID]bool{}
	for _, of := range w.api.objects {
		for _, o := range of {
			owners[o.GetUID()] = true
		}
	}
	for _, kind := range []string{"StatefulSet", "Deployment", "Service", "ConfigMap", "Secret", "Pod"} {
		for _, name := range slices.Sorted(maps.Keys(w.api.objects[kind])) {
			refs := w.api.objects[kind][name].GetOwnerReferences()
			isOwned := slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return owners[r.UID] })
			if len(refs) > 0 && !isOwned {
				w.checkTeardown(kind, name, "the garbage collector")
				w.api.delete(metav1.NewTime(w.now), kind, name)
			}
		}
	}
}

// templateOf returns a text that identifies a pod template.
func templateOf(t *corev1.PodTemplateSpec) string {
	var images []string
	for _, c := range slices.Concat(t.Spec.InitContainers, t.Spec.Containers) {
		images = append(images, c.Image)
	}
	return fmt.Sprint(images, t.Annotations, len(t.Spec.Volumes))
}

// podsOf returns the pods of a workload in the order of their names.
func (w *simulation) podsOf(workload client.Object) []*corev1.Pod {
	return slices.DeleteFunc(each[*corev1.Pod](w.api), func(p *corev1.Pod) bool { return !metav1.IsControlledBy(p, workload) })
}

// createPod creates a pod of a workload.
func (w *simulation) createPod(workload client.Object, name string, template *corev1.PodTemplateSpec) {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy()}
	pod.Namespace, pod.Name = team, name
	isController := true
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: kindOf(workload), Name: workload.GetName(),
		UID: workload.GetUID(), Controller: &isController}}
	main := template.Spec.Containers[0]
	for _, c := range template.Spec.Containers {
		if slices.Contains(daemonContainers, c.Name) {
			main = c
		}
	}
	pod.Spec.Containers = []corev1.Container{{Name: main.Name, Image: main.Image}}
	w.api.put(pod)
	w.pods[name] = &simPod{daemon: main.Name, image: main.Image, template: templateOf(template),
		outside: w.isOutside(main.Name)}
}

// daemonContainers are the containers whose image has the release of a daemon.
var daemonContainers = []string{"slurmctld", "slurmdbd", "slurmrestd", "login"}

// runStatefulSet plays the controller of StatefulSets: one pod at a time gets another template.
func (w *simulation) runStatefulSet(set *appsv1.StatefulSet) {
	if len(set.Spec.Template.Spec.Containers) == 0 {
		return // a foreign object
	}
	replicas, ready, updated := int(*set.Spec.Replicas), int32(0), int32(0)
	isReplacing := false
	for ordinal := range replicas + 2 {
		name := set.Name + "-" + strconv.Itoa(ordinal)
		pod, sim := find[*corev1.Pod](w.api, name), w.pods[name]
		switch {
		case ordinal >= replicas && pod != nil:
			w.deletePod(name)
		case ordinal >= replicas:
		case pod == nil:
			w.createPod(set, name, &set.Spec.Template)
		case !metav1.IsControlledBy(pod, set):
		case sim.template != templateOf(&set.Spec.Template):
			if !isReplacing {
				w.deletePod(name)
			}
			isReplacing = true
		default:
			updated++
			if sim.ready {
				ready++
			}
		}
	}
	change(w.api, set.Name, func(set *appsv1.StatefulSet) {
		set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: *set.Spec.Replicas,
			ReadyReplicas: ready, UpdatedReplicas: updated}
	})
}

// runDeployment plays the controller of Deployments, with all pods of another template at once.
func (w *simulation) runDeployment(d *appsv1.Deployment) {
	if len(d.Spec.Template.Spec.Containers) == 0 {
		return // a foreign object
	}
	replicas, ready := 1, int32(0)
	if d.Spec.Replicas != nil {
		replicas = int(*d.Spec.Replicas)
	}
	live := slices.DeleteFunc(w.podsOf(d), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortFunc(live, func(a, b *corev1.Pod) int { // those that stay first
		return cmp.Or(cmp.Compare(costOf(b), costOf(a)), cmp.Compare(a.Name, b.Name))
	})
	kept := 0
	for _, pod := range live {
		sim := w.pods[pod.Name]
		if sim.template != templateOf(&d.Spec.Template) || kept == replicas {
			w.deletePod(pod.Name)
			continue
		}
		if kept++; sim.ready {
			ready++
		}
	}
	for ; kept < replicas; kept++ {
		w.addresses++
		w.createPod(d, d.Name+"-"+strconv.Itoa(w.addresses), &d.Spec.Template)
	}
	change(w.api, d.Name, func(d *appsv1.Deployment) {
		count := int32(kept) //nolint:gosec // at most 3
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: count, UpdatedReplicas: count,
			ReadyReplicas: ready, AvailableReplicas: ready}
	})
}

// costOf returns the deletion cost of a pod.
func costOf(pod *corev1.Pod) int {
	out, err := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost])
	if err != nil {
		return 0 // as Kubernetes has it
	}
	return out
}

func (w *simulation) deletePod(name string) {
	w.api.delete(metav1.NewTime(w.now), "Pod", name)
}

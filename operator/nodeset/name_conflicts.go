package nodeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// leftOutRecheck is the interval of checks of a NodeSet that slurm.conf leaves out: changes of other NodeSets do not reconcile it.
const leftOutRecheck = 30 * time.Second

// observeNames reads the names that the NodeSet's workers must not have. It returns a problem if slurm.conf of the Controller leaves
// the NodeSet out: its workers could not run jobs there, or not join.
func (r *Reconciler) observeNames(ctx context.Context, s *observation, c *v1beta1.Controller) error {
	if c.Spec.External {
		return nil // the operator does not write its slurm.conf
	}
	list, hpas := &v1beta1.NodeSetList{}, &autoscalingv2.HorizontalPodAutoscalerList{}
	key := refs.ClusterKey{Kind: v1beta1.KindController, Namespace: c.Namespace, Name: c.Name}
	kubeNodes := &corev1.NodeList{}
	err := errors.Join(r.client.List(ctx, list, client.InNamespace(c.Namespace),
		client.MatchingFields{clusterField: key.Kind + "/" + key.Name}),
		r.client.List(ctx, hpas, client.InNamespace(c.Namespace)))
	if err == nil && scaling.HasWorkersOnKubeNodes(list.Items) {
		err = r.client.List(ctx, kubeNodes, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		return fmt.Errorf("listing NodeSets, HorizontalPodAutoscalers and Kubernetes nodes: %w", err)
	}
	assigned := scaling.AssignNames(c, list.Items, hpas.Items, kubeNodes.Items, nil)
	if len(assigned.LeftOut) > 0 || includesFiles(c.Spec.ExtraConf) {
		files, err := r.readConfigFiles(ctx, c)
		if err != nil {
			return err
		}
		assigned = scaling.AssignNames(c, list.Items, hpas.Items, kubeNodes.Items, files)
	}
	s.reservedNames = assigned.Reserved
	own := func(n v1beta1.NodeSet) bool { return n.Name == s.nodeSet.Name }
	why := assigned.LeftOut[s.nodeSet.Name]
	if why == "" || !slices.ContainsFunc(list.Items, own) {
		return nil
	}
	s.requeueAfter(leftOutRecheck)
	return problemError{status.Problem{Reason: v1beta1.ReasonNameTaken, Message: fmt.Sprintf(
		"NodeSet %s is left out of slurm.conf: %s; no worker is created: create the NodeSet with another name", s.nodeSet.Name, why)}}
}

// reserveSharedNames adds two kinds of names to the reserved ones: names that workers of older NodeSets of the same Slurm cluster
// may get, and names of pods of other NodeSets. The age does not matter for pods: a spec may have changed since its pods were
// created.
func (r *Reconciler) reserveSharedNames(ctx context.Context, s *observation) error {
	key, joins := refs.ClusterKeyOf(s.nodeSet)
	if !joins || s.problem.Reason != "" {
		return nil
	}
	list, hpas := &v1beta1.NodeSetList{}, &autoscalingv2.HorizontalPodAutoscalerList{}
	in := client.InNamespace(s.nodeSet.Namespace)
	err := errors.Join(r.client.List(ctx, list, in, client.MatchingFields{clusterField: key.Kind + "/" + key.Name}),
		r.client.List(ctx, hpas, in))
	if err != nil {
		return fmt.Errorf("listing NodeSets and HorizontalPodAutoscalers: %w", err)
	}
	pods, err := r.listWorkers(ctx, s, list.Items)
	if err != nil {
		return err
	}
	shared := s.namesOfOtherPods(pods)
	kubeNodes := slices.Collect(maps.Values(s.kubeNodes))
	var all []names.NodeSetNames
	for i := range list.Items {
		all = append(all, scaling.NamesOf(&list.Items[i], hpas.Items, kubeNodes))
	}
	own := scaling.NamesOf(s.nodeSet, hpas.Items, kubeNodes)
	for _, name := range s.possibleSlurmNames() {
		if owner := own.SharedWorkerName(all, name); owner != "" {
			shared[name] = owner
		}
	}
	if len(shared) > 0 { // changes of the others do not reconcile this one
		s.requeueAfter(leftOutRecheck)
		s.desired.ReservedNames = podspec.MergeMaps(shared, s.desired.ReservedNames)
	}
	return nil
}

// listWorkers lists the workers of the cluster. It finds them by the cluster's labels, including workers of deleted NodeSets, and by
// the given NodeSets, because any user may remove labels. Debugging copies of workers do not count.
func (r *Reconciler) listWorkers(ctx context.Context, s *observation, nodeSets []v1beta1.NodeSet) (map[string]*corev1.Pod, error) {
	selections := []client.ListOption{client.MatchingLabels(names.WorkerSelector(s.clusterRef))}
	for i := range nodeSets {
		selections = append(selections, client.MatchingFields{nodeSetField: nodeSets[i].Name})
	}
	out := map[string]*corev1.Pod{}
	for _, selection := range selections {
		pods := &corev1.PodList{}
		if err := r.client.List(ctx, pods, client.InNamespace(s.nodeSet.Namespace), selection, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the workers of %s: %w", s.clusterRef, err)
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; nodeSetOf(pod) != "" {
				out[pod.Name] = pod
			}
		}
	}
	return out, nil
}

// namesOfOtherPods returns the owners of the Slurm node names that pods of other NodeSets have, and records which of the NodeSet's
// workers have a namesake.
func (s *observation) namesOfOtherPods(pods map[string]*corev1.Pod) map[string]string {
	out, own := map[string]string{}, map[string][]*plan.Worker{}
	for i := range s.workers {
		own[s.workers[i].SlurmName] = append(own[s.workers[i].SlurmName], &s.workers[i])
	}
	for _, pod := range pods {
		other := observed.Worker(pod, nil, nil)
		if other.SlurmName == "" {
			continue
		}
		if s.pods[pod.Name] == nil && nodeSetOf(pod) != s.nodeSet.Name {
			out[other.SlurmName] = names.OwnerNodeSet(nodeSetOf(pod))
			if pod.Spec.HostNetwork && !other.Finished && other.SlurmName == pod.Spec.NodeName {
				s.servedKubeNodes[other.SlurmName] = true
			}
		}
		for _, w := range own[other.SlurmName] {
			if w.Pod != other.Pod && !other.Finished && goesFirst(&other, w) {
				w.Namesake, w.NamesakeHasRun = "pod "+other.Pod, w.NamesakeHasRun || hasRun(&other)
			}
		}
	}
	return out
}

// goesFirst reports whether the first of two pods keeps their common Slurm node name: its slurmd has run, or else it is older.
func goesFirst(a, b *plan.Worker) bool {
	return hasRun(a) || cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Pod, b.Pod)) < 0
}

// hasRun reports whether slurmd has run in a pod.
func hasRun(w *plan.Worker) bool {
	return w.KubeNode != "" && (!w.NeverStarted || !w.Registered.IsZero())
}

// includesFiles reports whether lines of slurm.conf include files, which may name nodes.
func includesFiles(text string) bool {
	return slices.ContainsFunc(slurmconf.ParseSettings(text), slurmconf.Setting.IsInclude)
}

// readConfigFiles reads the configuration files of a Controller that were last written, or nil. ConfigMaps are not cached.
func (r *Reconciler) readConfigFiles(ctx context.Context, c *v1beta1.Controller) (map[string]string, error) {
	config := &corev1.ConfigMap{}
	id := types.NamespacedName{Namespace: c.Namespace, Name: names.ControllerConfigMap(c.Name)}
	if err := r.uncached.Get(ctx, id, config); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", id.Name, err)
	}
	return config.Data, nil
}

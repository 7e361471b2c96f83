package nodeset

import (
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
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// leftOutRecheck is how soon a NodeSet that slurm.conf leaves out is looked at again: others that change do not
// reconcile it.
const leftOutRecheck = 30 * time.Second

// observeNames reads which names the NodeSet's workers must not have. It returns a problem if slurm.conf of
// the Controller leaves the NodeSet out: its workers could not run jobs there, or not join.
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

// reserveSharedNames adds the names to the reserved ones that workers of older NodeSets of the same Slurm cluster may get, and
// those that pods of other NodeSets have, whatever their age: a spec may have changed since its pods were created.
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
	if len(list.Items) < 2 {
		return nil
	}
	kubeNodes := slices.Collect(maps.Values(s.kubeNodes))
	var all []names.NodeSetNames
	shared := map[string]string{}
	for i := range list.Items {
		other := &list.Items[i]
		all = append(all, scaling.NamesOf(other, hpas.Items, kubeNodes))
		if err := r.reservePodNames(ctx, s, other, shared); err != nil {
			return err
		}
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

// reservePodNames adds the Slurm node names of another NodeSet's pods.
func (r *Reconciler) reservePodNames(
	ctx context.Context, s *observation, other *v1beta1.NodeSet, shared map[string]string,
) error {
	if other.UID == s.nodeSet.UID {
		return nil
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(other.Namespace),
		client.MatchingFields{nodeSetField: other.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pods of NodeSet %s: %w", other.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		name := observed.SlurmName(pod)
		if name == "" {
			continue
		}
		shared[name] = names.OwnerNodeSet(other.Name)
		hasEnded := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.HostNetwork && !hasEnded && name == pod.Spec.NodeName {
			s.servedKubeNodes[name] = true
		}
	}
	return nil
}

// includesFiles reports whether lines of slurm.conf include files, which may name nodes.
func includesFiles(text string) bool {
	return slices.ContainsFunc(slurmconf.ParseSettings(text), slurmconf.Setting.IsInclude)
}

// readConfigFiles reads the configuration files of a Controller that were last written, nil for none. ConfigMaps are not
// cached.
func (r *Reconciler) readConfigFiles(ctx context.Context, c *v1beta1.Controller) (map[string]string, error) {
	config := &corev1.ConfigMap{}
	id := types.NamespacedName{Namespace: c.Namespace, Name: names.ControllerConfigMap(c.Name)}
	if err := r.uncached.Get(ctx, id, config); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", id.Name, err)
	}
	return config.Data, nil
}

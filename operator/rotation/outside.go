package rotation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// maxNodesAge is the maximum age of the list of Slurm nodes.
const maxNodesAge = 2 * time.Minute

// SlurmCluster is a Slurm cluster that is read.
type SlurmCluster interface {
	// Reading returns the newest reading, never nil.
	Reading() *slurmclients.Reading
	// Problem is the reason why Slurm cannot be read, empty if it can.
	Problem() string
}

// A host outside has the key if Slurm has a node that no pod runs. Login hosts and slurmrestds outside are not in Slurm:
// settings that open slurmctld or slurmdbd to them count instead. Hosts on a network that reaches the addresses of pods leave
// no sign.

// observeOutside returns the hosts outside that may have a key of auth/slurm.
func (r *Reconciler) observeOutside(ctx context.Context, c *v1beta1.Controller, all sharers) (plan.Outside, error) {
	out := plan.Outside{Confirmed: c.Annotations[v1beta1.AnnotationOutsideKeys]}
	pods, services, clusters := &corev1.PodList{}, &corev1.ServiceList{}, &v1beta1.ClusterList{}
	for _, list := range []client.ObjectList{pods, services} {
		if err := r.Uncached.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
			return out, fmt.Errorf("looking for hosts outside: %w", err)
		}
	}
	if err := r.Client.List(ctx, clusters, client.InNamespace(c.Namespace)); err != nil {
		return out, fmt.Errorf("looking for hosts outside: %w", err)
	}
	for i := range all.controllers {
		sharer := &all.controllers[i]
		nodes, unknown := r.findOutsideNodes(sharer, pods.Items)
		out.Signs = append(out.Signs, nodes...)
		out.Unknown = cmp.Or(out.Unknown, unknown)
		if sharer.Spec.Address != "" {
			out.Signs = append(out.Signs, "spec.address of Controller "+sharer.Name)
		}
		slurmdbd, err := r.findOutsideAccounting(ctx, sharer)
		reported, err := problem.Split(err)
		switch {
		case err != nil:
			return out, err
		case reported != nil:
			out.Unknown = cmp.Or(out.Unknown, reported.Message)
		case slurmdbd != "":
			out.Signs = append(out.Signs, slurmdbd)
		}
	}
	for i := range all.accountings {
		if all.accountings[i].Spec.Address != "" {
			out.Signs = append(out.Signs, "spec.address of Accounting "+all.accountings[i].Name)
		}
	}
	for i := range clusters.Items {
		if isSameKey(clusters.Items[i].Spec.SlurmKeyRef, c.Spec.SlurmKeyRef) {
			out.Signs = append(out.Signs, "Cluster "+clusters.Items[i].Name)
		}
	}
	out.Signs = append(out.Signs, openServices(services.Items, all)...)
	out.Signs = append(out.Signs, otherPods(pods.Items, c.Spec.SlurmKeyRef.Name, all)...)
	return out, nil
}

// findOutsideNodes returns the Slurm nodes of a Controller that no pod runs, or why they are not known.
func (r *Reconciler) findOutsideNodes(c *v1beta1.Controller, pods []corev1.Pod) (nodes []string, unknown string) {
	cluster := r.slurm(refs.ClusterKey{Kind: v1beta1.KindController, Namespace: c.Namespace, Name: c.Name})
	if cluster == nil {
		return nil, "the operator does not read Slurm"
	}
	reading := cluster.Reading()
	poll := reading.Snapshot.Nodes.Poll
	switch {
	case !poll.Known:
		return nil, cmp.Or(cluster.Problem(), "Slurm has not been read yet")
	case poll.Err != nil:
		// The cluster may have recovered before its next reading is published.
		return nil, cmp.Or(cluster.Problem(), poll.Err.Error())
	case poll.Age(r.now()) > maxNodesAge:
		return nil, "the last list of Slurm's nodes is too old"
	}
	workers := map[string]bool{}
	for i := range pods {
		if selects(names.WorkerSelector(c.Name), &pods[i]) {
			workers[observed.SlurmName(&pods[i])] = true
		}
	}
	for _, name := range outsideNodes(reading.Nodes, workers) {
		nodes = append(nodes, "slurm node "+name)
	}
	return nodes, ""
}

// outsideNodes returns the names of the nodes that no pod runs. A record of ours whose slurmd does not answer belongs to a pod
// that is gone.
func outsideNodes(nodes map[string]*slurm.Node, workers map[string]bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		state := nodes[name].State
		_, isOurs := comment.Parse(nodes[name].Comment)
		isSilent := state.Base == slurm.NodeDown || state.Any(slurm.NodeNotResponding|slurm.NodePoweredDown)
		switch {
		case workers[name], state.Base == slurm.NodeFuture:
		case isOurs && isSilent && state.Any(slurm.NodeDynamicNorm|slurm.NodeDynamicFuture):
		default:
			out = append(out, name)
		}
	}
	return out
}

// findOutsideAccounting returns the line in spec.extraConf of a Controller, or in a file that it includes, with a slurmdbd
// that no Accounting represents; otherwise an empty string. The error is *problem.Error if such a file is missing.
func (r *Reconciler) findOutsideAccounting(ctx context.Context, c *v1beta1.Controller) (string, error) {
	files, err := access.ReadIncludes(ctx, r.Uncached, c)
	if err != nil {
		return "", err
	}
	for _, s := range slurmconf.ParseFiles(files, c.Spec.ExtraConf) {
		for _, name := range []string{"AccountingStorageHost", "AccountingStorageBackupHost", "AccountingStorageExternalHost"} {
			if strings.EqualFold(s.Name, name) && s.Value != "" {
				return fmt.Sprintf("%s in %s of Controller %s", name, cmp.Or(s.File, "spec.extraConf"), c.Name), nil
			}
		}
	}
	return "", nil
}

// openServices returns the Services that open slurmctld or slurmdbd to hosts outside.
func openServices(services []corev1.Service, all sharers) []string {
	var out []string
	for i := range services {
		s := &services[i]
		isOpen := s.Spec.Type == corev1.ServiceTypeLoadBalancer || s.Spec.Type == corev1.ServiceTypeNodePort ||
			len(s.Spec.ExternalIPs) > 0
		if isOpen && len(s.Spec.Selector) > 0 && all.areServedBy(s) {
			out = append(out, fmt.Sprintf("Service %s of type %s", s.Name, s.Spec.Type))
		}
	}
	return out
}

// areServedBy reports whether a Service may select pods of slurmctld or slurmdbd.
func (s sharers) areServedBy(service *corev1.Service) bool {
	selectors, _ := s.keyVerifiers()
	for _, ours := range selectors {
		other := false
		for key, value := range service.Spec.Selector {
			has, known := ours[key]
			other = other || known && has != value
		}
		if !other {
			return true
		}
	}
	return false
}

// otherPods returns the pods that mount the user's Secret with the key and do not belong to the operator.
func otherPods(pods []corev1.Pod, secret string, all sharers) []string {
	var out []string
	for i := range pods {
		pod := &pods[i]
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !ended && mountsSecret(&pod.Spec, secret) &&
			!slices.ContainsFunc(all.members(), func(selector map[string]string) bool { return selects(selector, pod) }) {
			out = append(out, "pod "+pod.Name)
		}
	}
	return out
}

func mountsSecret(spec *corev1.PodSpec, secret string) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == secret ||
			v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
				return s.Secret != nil && s.Secret.Name == secret
			})
	})
}

func selects(selector map[string]string, pod *corev1.Pod) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels))
}

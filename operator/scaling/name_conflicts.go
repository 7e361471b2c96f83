package scaling

import (
	"cmp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// AssignNames assigns the names of a Controller's slurm.conf. The lists are from its namespace. files are the files that
// spec.extraConf may include and the slurm.conf that was last written, by name; unknown files are missing. The names of all
// workers up to the maxima count.
func AssignNames(c *v1beta1.Controller, nodeSets []v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler,
	kubeNodes []corev1.Node, files map[string]string) names.Assignment {
	listed := map[string]bool{}
	for _, s := range slurmconf.ParseSettings(files[slurmConf]) {
		if strings.EqualFold(s.Name, "NodeSet") {
			listed[s.Value] = true
		}
	}
	var sets []names.NodeSetNames
	for i := range nodeSets {
		n := &nodeSets[i]
		if n.Spec.ControllerRef == nil || n.Spec.ControllerRef.Name != c.Name {
			continue
		}
		set := NamesOf(n, hpas, pointersTo(kubeNodes))
		set.Included = listed[n.Name] && !isEmptyAndDeleting(n)
		sets = append(sets, set)
	}
	return names.Assign(sets, namesOfConf(slurmconf.ParseFiles(files, c.Spec.ExtraConf)))
}

func pointersTo[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// NamesOf returns the names of a NodeSet and its workers. hpas are the HPAs of its namespace.
func NamesOf(
	n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler, kubeNodes []*corev1.Node,
) names.NodeSetNames {
	out := names.NodeSetNames{Name: n.Name, UID: string(n.UID), Created: n.CreationTimestamp.Time, Prefix: names.WorkerPrefix(n),
		Padding: n.Spec.OrdinalPadding, Bound: max(MaxWorkers(n, hpas), uint64(max(0, n.Status.Replicas)))}
	spec, err := n.Spec.Template.Spec.PodSpec()
	if out.Prefix == "" && err == nil { // a malformed template makes no workers
		perKubeNode := n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet
		out.KubeNames, out.NamedWhenScheduled = kubeNames(&spec, kubeNodes, perKubeNode), !perKubeNode
	}
	return out
}

// slurmConf is the name of the file that the operator writes.
const slurmConf = "slurm.conf"

// isEmptyAndDeleting reports whether a NodeSet is being deleted and has no workers. It must not keep a
// slurmctld from starting, whose answers its deletion waits for.
func isEmptyAndDeleting(n *v1beta1.NodeSet) bool {
	return n.DeletionTimestamp != nil && n.Status.Replicas == 0
}

// kubeNames returns the Slurm node names, sorted, that workers on the Kubernetes nodes have which the pod selects. Taints do not
// matter, since the operator adds tolerations. perKubeNode is scaling mode DaemonSet; otherwise they share the network of the
// Kubernetes node.
func kubeNames(spec *corev1.PodSpec, kubeNodes []*corev1.Node, perKubeNode bool) []string {
	var out []string
	required := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
	for i := range kubeNodes {
		if selected, err := required.Match(kubeNodes[i]); err == nil && !selected {
			continue
		}
		name := kubeNodes[i].Name
		if perKubeNode {
			short, _, _ := strings.Cut(name, ".")
			name = cmp.Or(kubeNodes[i].Annotations[v1beta1.AnnotationHostnameOverride], short)
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// namesOfConf returns the owners of the names that lines of slurm.conf give to nodes and node sets. Unreadable lists of nodes
// are left out.
func namesOfConf(settings []slurmconf.Setting) map[string]string {
	out := map[string]string{}
	for _, s := range settings {
		switch {
		case strings.EqualFold(s.Name, "NodeSet"):
			out[s.Value] = names.OwnerExtraConf(s.Value)
		case strings.EqualFold(s.Name, "NodeName") && !strings.EqualFold(s.Value, "DEFAULT"):
			have, err := hostlist.Expand(s.Value)
			if err != nil {
				continue
			}
			for _, name := range have {
				out[name] = "a node of spec.extraConf"
			}
		}
	}
	return out
}

// MaxWorkers returns the largest number of workers of a NodeSet.
func MaxWorkers(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler) uint64 {
	bounds := []Bounds{BoundsOf(n, nil)}
	for i := range hpas {
		if TargetsNodeSet(&hpas[i]) && hpas[i].Spec.ScaleTargetRef.Name == n.Name {
			bounds = append(bounds, BoundsOf(n, &hpas[i]))
		}
	}
	most := uint64(0)
	for _, b := range bounds {
		most = max(most, b.Replicas)
		if b.Max != nil {
			most = max(most, *b.Max)
		}
	}
	return most
}

// HasWorkersOnKubeNodes reports whether the Slurm nodes of a NodeSet are named after Kubernetes nodes.
func HasWorkersOnKubeNodes(nodeSets []v1beta1.NodeSet) bool {
	return slices.ContainsFunc(nodeSets, func(n v1beta1.NodeSet) bool { return names.WorkerPrefix(&n) == "" })
}

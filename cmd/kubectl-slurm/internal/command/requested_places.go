package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// isWanted reports whether a name is requested; no names request all.
func isWanted(names []string, name string) bool {
	return len(names) == 0 || slices.Contains(names, name)
}

// checkLabels returns an error if a selector uses a label that no object of the view has. The server would select nothing.
func checkLabels(selector string) error {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return fmt.Errorf("reading --selector: %w", err)
	}
	known := []string{view.LabelCluster, view.LabelPartition, view.LabelState, view.LabelUser, view.LabelAccount, view.LabelNode}
	requirements, _ := parsed.Requirements()
	for _, r := range requirements {
		if !slices.Contains(known, r.Key()) && !strings.HasPrefix(r.Key(), view.PartitionPrefix) {
			return &unknownLabelError{fmt.Sprintf("unknown label %q; the labels are %s and %sNAME", r.Key(), strings.Join(known, ", "),
				view.PartitionPrefix)}
		}
	}
	return nil
}

// unknownLabelError reports a label that the view does not have.
type unknownLabelError struct{ text string }

func (e *unknownLabelError) Error() string { return e.text }

// checkPlace returns an error if the requested namespace or cluster does not exist. It is called when nothing was found, so that
// a wrong name is not shown as an empty table. What the user may not read is not checked.
func checkPlace(ctx context.Context, api *observe.API, a *tableRequest) error {
	if a.scope.Namespace != "" {
		if err := api.CheckNamespace(ctx, a.scope.Namespace); apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace %s does not exist", a.scope.Namespace)
		}
	}
	if a.cluster == "" {
		return nil
	}
	clusters, err := listClusterObjects(ctx, api, a.scope.Namespace)
	if err != nil {
		return nil
	}
	var names []string
	for _, c := range clusters {
		names = append(names, c.name)
	}
	return checkName("cluster", a.cluster, names, a.placeName())
}

// checkName returns an error that lists the known names if a name is not one of them.
func checkName(kind, name string, known []string, place string) error {
	if slices.Contains(known, name) {
		return nil
	}
	if len(known) == 0 {
		return fmt.Errorf("%s %s does not exist in %s, which has none", kind, name, place)
	}
	known = slices.Clone(known)
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Errorf("%s %s does not exist in %s; it has %s", kind, name, place, joinSome(known))
}

// maxListed is how many names an error lists.
const maxListed = 12

// joinSome joins the first names.
func joinSome(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}

// checkPartitions returns an error if one of the partitions does not exist. It reads nothing without names.
func checkPartitions(ctx context.Context, api *observe.API, a *tableRequest, names []string) error {
	if len(names) == 0 {
		return nil
	}
	list, err := api.Partitions(ctx, observe.Scope{Namespace: a.scope.Namespace})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return wrapReadError(observe.View, err)
	}
	return checkPartitionsIn(list, a, names)
}

func checkPartitionsIn(list []view.SlurmPartition, a *tableRequest, names []string) error {
	var known []string
	for i := range list {
		if a.inCluster(list[i].Spec.Cluster.Name) {
			known = append(known, list[i].Spec.Name)
		}
	}
	for _, name := range names {
		if err := checkName("partition", name, known, a.placeName()); err != nil {
			return err
		}
	}
	return nil
}

// expandHostlists returns the names of hostlists such as gpu-[0-3].
func expandHostlists(words []string) ([]string, error) {
	var names []string
	for _, word := range words {
		part, err := hostlist.Expand(word)
		if err != nil {
			return nil, fmt.Errorf("reading the node list %q: %w", word, err)
		}
		names = append(names, part...)
	}
	return names, nil
}

// nodePlace is a node of a cluster. Nodes of several clusters may have one name.
type nodePlace struct{ namespace, cluster, node string }

func placeOfNode(n *view.SlurmNode) nodePlace {
	return nodePlace{n.Namespace, n.Spec.Cluster.Name, n.Spec.Name}
}

// podsOfNodes returns the name of each node's worker pod, if one of the requested names is not the name of a node. It is empty
// if the pods cannot be read.
func podsOfNodes(ctx context.Context, api *observe.API, a *tableRequest, nodes []view.SlurmNode) map[nodePlace]string {
	out, known := map[nodePlace]string{}, map[string]bool{}
	for i := range nodes {
		known[nodes[i].Spec.Name], known[nodes[i].Name] = true, true
	}
	if !slices.ContainsFunc(a.names, func(name string) bool { return !known[name] }) {
		return out
	}
	pods, _ := listWorkerPods(ctx, api, a.scope.Namespace, "")
	for i := range pods {
		labels := pods[i].Labels
		out[nodePlace{pods[i].Namespace, labels[v1beta1.LabelCluster], labels[v1beta1.LabelPodHostname]}] = pods[i].Name
	}
	return out
}

// findNodes returns the names of the Slurm nodes that hostlists and names of pods stand for. An unknown name is an error.
func findNodes(ctx context.Context, api *observe.API, a *tableRequest, words []string) ([]string, error) {
	names, err := expandHostlists(words)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	nodes, err := api.Nodes(ctx, observe.Scope{Namespace: a.scope.Namespace})
	if err != nil {
		return nil, wrapReadError(observe.View, err)
	}
	known := map[string]bool{}
	for i := range nodes {
		if a.inCluster(nodes[i].Spec.Cluster.Name) {
			known[nodes[i].Spec.Name] = true
		}
	}
	return replacePods(ctx, api, a, names, known)
}

// replacePods replaces names of worker pods by the names of their Slurm nodes. It reads pods only for names that are no nodes.
func replacePods(ctx context.Context, api *observe.API, a *tableRequest, names []string, known map[string]bool) ([]string, error) {
	var nodeOf map[string]string
	for i, name := range names {
		if known[name] {
			continue
		}
		if nodeOf == nil {
			nodeOf = map[string]string{}
			pods, err := listWorkerPods(ctx, api, a.scope.Namespace, "")
			if err != nil && !apierrors.IsForbidden(err) {
				return nil, wrapReadError(observe.Workers, err)
			}
			for k := range pods {
				pod := &pods[k]
				if !a.inCluster(pod.Labels[v1beta1.LabelCluster]) {
					continue
				}
				node := pod.Labels[v1beta1.LabelPodHostname]
				if other, isKnown := nodeOf[pod.Name]; isKnown && other != node {
					return nil, fmt.Errorf("there are several pods %s, of the nodes %s and %s: name the node", pod.Name, other, node)
				}
				nodeOf[pod.Name] = node
			}
		}
		node := nodeOf[name]
		if !known[node] {
			var list []string
			for k := range known {
				list = append(list, k)
			}
			return nil, checkName("node", name, list, a.placeName())
		}
		names[i] = node
	}
	return names, nil
}

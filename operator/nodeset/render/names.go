package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ServiceName returns the name of the Service of all workers of a cluster.
func ServiceName(cluster string) string { return "slurm-workers-" + cluster }

// BudgetName returns the name of the disruption budget of all workers of a cluster.
func BudgetName(cluster string) string { return "slurm-workers-pdb-" + cluster }

// Names computes the names of a NodeSet's workers.
type Names struct {
	nodeSet, prefix          string
	padding                  int
	perKubeNode, hostNetwork bool
}

// NamesOf returns the Names of a NodeSet. It fails if spec.template.spec is malformed, or if a name
// that all workers share is invalid in Kubernetes.
func NamesOf(in Input) (Names, error) {
	if bad := validation.IsDNS1035Label(ServiceName(in.Cluster)); len(bad) > 0 {
		return Names{}, fmt.Errorf("naming the workers' Service %q: %s", ServiceName(in.Cluster), bad[0])
	}
	spec, err := in.NodeSet.Spec.Template.Spec.PodSpec()
	if err != nil {
		return Names{}, v1beta1.InField("spec.template.spec", err)
	}
	return Names{
		nodeSet: in.NodeSet.Name, prefix: spec.Hostname, padding: in.NodeSet.Spec.OrdinalPadding,
		perKubeNode: in.perKubeNode(), hostNetwork: spec.HostNetwork,
	}, nil
}

// Pod returns the name of a worker's pod: "gpu-0", or in scaling mode DaemonSet a name made of the
// Kubernetes node's name and a hash, which no other worker has.
func (n Names) Pod(id Identity) string {
	if !n.perKubeNode {
		return n.nodeSet + "-" + n.ordinal(id)
	}
	sum := sha256.Sum256([]byte(n.nodeSet + "/" + id.KubeNode))
	hash := "-" + hex.EncodeToString(sum[:4])
	name := n.nodeSet + "-" + strings.ReplaceAll(id.KubeNode, ".", "-")
	if most := validation.DNS1123LabelMaxLength - len(hash); len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	return name + hash
}

// SlurmNode returns the name of a worker's Slurm node. It is empty if it is not known before the
// worker is scheduled, because the worker shares the network and the name of its Kubernetes node.
func (n Names) SlurmNode(id Identity) string {
	switch {
	case n.perKubeNode && id.Facts.Hostname != "":
		return id.Facts.Hostname
	case n.perKubeNode:
		short, _, _ := strings.Cut(id.KubeNode, ".")
		return short
	case n.hostNetwork:
		return id.KubeNode
	case n.prefix != "":
		return n.prefix + n.ordinal(id)
	}
	return n.Pod(id)
}

// Claim returns the name of a worker's claim from a template.
func (n Names) Claim(template string, id Identity) string { return template + "-" + n.Pod(id) }

func (n Names) ordinal(id Identity) string {
	if id.Ordinal == nil {
		return ""
	}
	return fmt.Sprintf("%0*d", n.padding, *id.Ordinal)
}

// Check returns an error if a name of the worker is invalid. Names are never truncated, because two
// of them could then be equal. If the names of an ordinal are valid, those of all lower ordinals
// are.
func (n Names) Check(id Identity) error {
	if !n.perKubeNode && (id.Ordinal == nil || *id.Ordinal < 0) {
		return fmt.Errorf("naming a worker of %s: it has no ordinal", n.nodeSet)
	}
	if n.perKubeNode && id.KubeNode == "" {
		return fmt.Errorf("naming a worker of %s: it has no Kubernetes node", n.nodeSet)
	}
	if bad := validation.IsDNS1123Label(n.Pod(id)); len(bad) > 0 {
		return fmt.Errorf("naming the pod %q: %s", n.Pod(id), bad[0])
	}
	slurm := n.SlurmNode(id)
	if slurm == "" && n.hostNetwork {
		return nil
	}
	if n.hostNetwork && !n.perKubeNode {
		if bad := validation.IsValidLabelValue(slurm); len(bad) > 0 {
			return fmt.Errorf("naming the Slurm node %q: %s", slurm, bad[0])
		}
		return nil
	}
	if bad := validation.IsDNS1123Label(slurm); len(bad) > 0 {
		return fmt.Errorf("naming the Slurm node %q: %s", slurm, bad[0])
	}
	return nil
}

// SlurmName returns the name of the Slurm node of the worker with an ordinal. It is empty if it is
// not known before the worker is scheduled.
func (n Names) SlurmName(ordinal int) string { return n.SlurmNode(Identity{Ordinal: &ordinal}) }

// ParseOrdinal parses the ordinal in the labels of a worker's pod, and reports whether there is
// one.
func ParseOrdinal(labels map[string]string) (int, bool) {
	n, err := strconv.Atoi(labels[v1beta1.LabelPodIndex])
	return n, err == nil && n >= 0
}

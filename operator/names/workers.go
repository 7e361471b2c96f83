package names

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// WorkerID distinguishes a worker from the others of its NodeSet.
type WorkerID struct {
	// Ordinal is the worker's number in scaling mode StatefulSet, else nil.
	Ordinal *int
	// KubeNode is the name of the Kubernetes node that the worker must run on: always set in
	// scaling mode DaemonSet, otherwise for pinned workers only. Empty means any node.
	KubeNode string
	// Hostname is the name of the Slurm node that the Kubernetes node's annotation gives in scaling
	// mode DaemonSet. If it is empty, the Kubernetes node's short name is used.
	Hostname string
}

// Workers names the workers of a NodeSet. NewWorkers returns one.
type Workers struct {
	nodeSet, prefix          string
	padding                  int
	perKubeNode, hostNetwork bool
}

// NewWorkers returns the names of a NodeSet's workers. cluster is the Controller or Cluster that they
// join. It fails if spec.template.spec is malformed, or if a name that all workers share is invalid
// in Kubernetes.
func NewWorkers(n *v1beta1.NodeSet, cluster string) (Workers, error) {
	if bad := validation.IsDNS1035Label(WorkerService(cluster)); len(bad) > 0 {
		return Workers{}, fmt.Errorf("naming the workers' Service %q: %s", WorkerService(cluster), bad[0])
	}
	spec, err := n.Spec.Template.Spec.PodSpec()
	if err != nil {
		return Workers{}, v1beta1.InField("spec.template.spec", err)
	}
	return Workers{
		nodeSet: n.Name, prefix: spec.Hostname, padding: n.Spec.OrdinalPadding,
		perKubeNode: n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet, hostNetwork: spec.HostNetwork,
	}, nil
}

// Pod returns the name of a worker's pod: "gpu-0", or in scaling mode DaemonSet a unique name made of the
// Kubernetes node's name and a hash.
func (w Workers) Pod(id WorkerID) string {
	if !w.perKubeNode {
		return w.nodeSet + "-" + w.padOrdinal(id)
	}
	sum := sha256.Sum256([]byte(w.nodeSet + "/" + id.KubeNode))
	hash := "-" + hex.EncodeToString(sum[:4])
	name := w.nodeSet + "-" + strings.ReplaceAll(id.KubeNode, ".", "-")
	if most := validation.DNS1123LabelMaxLength - len(hash); len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	return name + hash
}

// SlurmNode returns the name of a worker's Slurm node. It is empty if the name is unknown before the worker
// is scheduled, because the worker shares the network and the name of its Kubernetes node.
func (w Workers) SlurmNode(id WorkerID) string {
	switch {
	case w.perKubeNode && id.Hostname != "":
		return id.Hostname
	case w.perKubeNode:
		short, _, _ := strings.Cut(id.KubeNode, ".")
		return short
	case w.hostNetwork:
		return id.KubeNode
	case w.prefix != "":
		return w.prefix + w.padOrdinal(id)
	}
	return w.Pod(id)
}

// Claim returns the name of a worker's claim from a template.
func (w Workers) Claim(template string, id WorkerID) string { return template + "-" + w.Pod(id) }

func (w Workers) padOrdinal(id WorkerID) string {
	if id.Ordinal == nil {
		return ""
	}
	return fmt.Sprintf("%0*d", w.padding, *id.Ordinal)
}

// Check returns an error if a name of the worker is invalid. Names are never truncated, because two of them
// could then be equal. If the names of an ordinal are valid, the names of all lower ordinals are.
func (w Workers) Check(id WorkerID) error {
	if !w.perKubeNode && (id.Ordinal == nil || *id.Ordinal < 0) {
		return fmt.Errorf("naming a worker of %s: it has no ordinal", w.nodeSet)
	}
	if w.perKubeNode && id.KubeNode == "" {
		return fmt.Errorf("naming a worker of %s: it has no Kubernetes node", w.nodeSet)
	}
	if bad := validation.IsDNS1123Label(w.Pod(id)); len(bad) > 0 {
		return fmt.Errorf("naming the pod %q: %s", w.Pod(id), bad[0])
	}
	slurm := w.SlurmNode(id)
	if slurm == "" && w.hostNetwork {
		return nil
	}
	if w.hostNetwork && !w.perKubeNode {
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
func (w Workers) SlurmName(ordinal int) string { return w.SlurmNode(WorkerID{Ordinal: &ordinal}) }

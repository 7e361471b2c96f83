package nodeset

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// joinedCluster returns Slurm's own name of the cluster that the workers joined, or an empty string without
// workers.
func joinedCluster(s *observation) string {
	if len(s.workers) == 0 {
		return ""
	}
	return s.nodeSet.Annotations[v1beta1.AnnotationSlurmCluster]
}

// assignOwners determines, for each record with an owner, whether the owner is this NodeSet, under any
// earlier UID, or another one.
func (s *observation) assignOwners() {
	for name, record := range s.slurm.Records {
		node := s.slurmNodes[name]
		if node == nil || record.OwnerUID == "" {
			continue
		}
		note, ok := comment.Parse(node.Comment)
		switch {
		case !ok:
			continue
		case note.BelongsTo(s.nodeSet, s.namespaceUID):
			record.OwnerUID = string(s.nodeSet.UID)
		default:
			record.OwnerName = fmt.Sprintf("NodeSet %s/%s (UID %s)", note.Namespace, note.NodeSetName, note.NodeSetUID)
		}
		s.slurm.Records[name] = record
	}
}

// mayWrite reports whether a Slurm node, in its current state, belongs neither to slurm.conf nor to another
// NodeSet.
func (s *observation) mayWrite(n *slurm.Node) bool {
	if !n.State.Any(slurm.NodeDynamicNorm | slurm.NodeDynamicFuture) {
		return false
	}
	note, ok := comment.Parse(n.Comment)
	return !ok || note.BelongsTo(s.nodeSet, s.namespaceUID)
}

// recordCluster annotates the NodeSet with the name of the Slurm cluster that its workers joined, or
// removes the annotation.
func (r *Reconciler) recordCluster(ctx context.Context, s *observation, change plan.SlurmClusterChange) error {
	if !change.Write {
		return nil
	}
	var cluster any
	if change.Name != "" {
		cluster = change.Name
	}
	annotations := map[string]any{v1beta1.AnnotationSlurmCluster: cluster}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	written := s.nodeSet.DeepCopy()
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data),
		client.FieldOwner(FieldManager)); err != nil {
		return ignoreNotFound(fmt.Errorf("annotating nodeset %s with its slurm cluster: %w", s.nodeSet.Name, err))
	}
	s.nodeSet.ResourceVersion, s.nodeSet.Annotations = written.ResourceVersion, written.Annotations
	return nil
}

// emitMismatchEvent records one event for each new mismatch.
func (r *Reconciler) emitMismatchEvent(s *observation) {
	reason, text := v1beta1.ReasonOtherSlurmCluster, s.slurm.ClusterMismatch
	if text == "" && len(s.slurm.OwnedByOthers) > 0 {
		reason, text = v1beta1.ReasonSlurmNodesTaken, status.FormatOwnedByOthers(s.slurm.OwnedByOthers)
	}
	if text != "" && text != s.expectations.ReportedMismatch {
		r.events.Eventf(s.nodeSet, nil, corev1.EventTypeWarning, reason, "Identify", "%s", text)
	}
	s.expectations.ReportedMismatch = text
}

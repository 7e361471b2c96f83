package nodeset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// joinedCluster returns Slurm's own name of the cluster that the workers joined, empty while there
// are none.
func joinedCluster(s *seen) string {
	if len(s.workers) == 0 {
		return ""
	}
	return s.nodeSet.Annotations[v1beta1.AnnotationSlurmCluster]
}

// assignOwners determines for each record with an owner whether that is this NodeSet, under
// whatever UID it had, or another one.
func (s *seen) recognize() {
	for name, record := range s.slurm.Records {
		node := s.records[name]
		if node == nil || record.Owner == "" {
			continue
		}
		note, ok := render.ReadComment(node.Comment)
		switch {
		case !ok:
			continue
		case note.Of(s.nodeSet, s.namespaceUID):
			record.Owner = string(s.nodeSet.UID)
		default:
			record.OwnerName = fmt.Sprintf("%s/%s (UID %s)", note.Namespace, note.NodeSetName, note.NodeSetUID)
		}
		s.slurm.Records[name] = record
	}
}

// mayWrite reports whether a Slurm node, as it is now, belongs to no other NodeSet.
func (s *seen) mayTouch(n *slurm.Node) bool {
	note, ok := render.ReadComment(n.Comment)
	return !ok || note.Of(s.nodeSet, s.namespaceUID)
}

// rememberCluster annotates the NodeSet with the name of the Slurm cluster in which a worker was
// first seen registered, until no worker is left.
func (r *Reconciler) remember(ctx context.Context, s *seen) error {
	had, cluster := s.nodeSet.Annotations[v1beta1.AnnotationSlurmCluster], any(nil)
	switch {
	case s.nodeSet.DeletionTimestamp != nil:
		return nil
	case len(s.workers) == 0:
		if had == "" {
			return nil
		}
	case had != "" || !s.slurm.Fresh || s.slurm.Cluster == "" || !s.joined():
		return nil
	default:
		cluster = s.slurm.Cluster
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1beta1.AnnotationSlurmCluster: cluster}}})
	if err != nil {
		return err
	}
	written := s.nodeSet.DeepCopy()
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldManager)); err != nil {
		return ignoreGone(fmt.Errorf("annotating nodeset %s with its slurm cluster: %w", s.nodeSet.Name, err))
	}
	s.nodeSet.ResourceVersion, s.nodeSet.Annotations = written.ResourceVersion, written.Annotations
	return nil
}

// hasRegisteredWorker reports whether one of the workers is registered with Slurm.
func (s *seen) joined() bool {
	for i := range s.workers {
		if r, known := s.slurm.Records[s.workers[i].SlurmName]; known && !r.Future && s.workers[i].Ready {
			return true
		}
	}
	return false
}

// formatOwnedByOthers lists the Slurm nodes that belong to other NodeSets.
func takenText(taken map[string]string) string {
	by := map[string][]string{}
	for name, owner := range taken {
		by[owner] = append(by[owner], name)
	}
	var out []string
	for _, owner := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[owner])
		out = append(out, fmt.Sprintf("Slurm nodes %s belong to NodeSet %s", hostlist.Compress(by[owner]), owner))
	}
	return strings.Join(out, "; ")
}

// emitMismatchEvent records one event for each new mismatch.
func (r *Reconciler) tellClash(s *seen) {
	reason, text := v1beta1.ReasonOtherSlurmCluster, s.slurm.Clash
	if text == "" && len(s.slurm.Taken) > 0 {
		reason, text = v1beta1.ReasonSlurmNodesTaken, takenText(s.slurm.Taken)
	}
	if text != "" && text != s.memory.clash {
		r.events.Eventf(s.nodeSet, nil, corev1.EventTypeWarning, reason, "Identify", "%s", text)
	}
	s.memory.clash = text
}

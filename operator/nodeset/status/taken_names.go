package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// formatTakenNames names the Slurm nodes that may still run without a pod, and the way out, or returns an empty
// string.
func formatTakenNames(taken []string) string {
	if len(taken) == 0 {
		return ""
	}
	names := observed.CleanReason(hostlist.Compress(taken))
	return fmt.Sprintf("; Slurm nodes %s have no pod, but slurmd may still run there: no worker is created with their names until they are drained and have no job; if their machines are off, run: scontrol update nodename=%s state=down reason='%spowered off'",
		names, names, v1beta1.DrainReasonPrefix)
}

// formatNamesakes names the Kubernetes nodes without a worker whose Slurm node name belongs to another one, and
// the way out, or returns an empty string.
func formatNamesakes(namesakes []plan.Namesake) string {
	if len(namesakes) == 0 {
		return ""
	}
	first := namesakes[0]
	text := fmt.Sprintf("; Kubernetes nodes %s and %s have the same Slurm node name %s, which belongs to %s: %s gets no worker until its annotation %s gives it another name",
		first.Owner, first.KubeNode, first.SlurmName, first.Owner, first.KubeNode, v1beta1.AnnotationHostnameOverride)
	if more := len(namesakes) - 1; more > 0 {
		text += fmt.Sprintf("; %d more Kubernetes nodes have names of others", more)
	}
	return text
}

// formatInvalidNames names the Kubernetes nodes without a worker whose Slurm node name is invalid, or returns an
// empty string.
func formatInvalidNames(kubeNodes []string) string {
	switch len(kubeNodes) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; Kubernetes node %s gets no worker until its annotation %s is a valid name", kubeNodes[0], v1beta1.AnnotationHostnameOverride)
	}
	return fmt.Sprintf("; Kubernetes nodes %s get no worker until their annotations %s are valid names",
		observed.CleanReason(strings.Join(kubeNodes, ", ")), v1beta1.AnnotationHostnameOverride)
}

// formatKeptNames names a worker that has the name of another ordinal, or returns an empty string.
func formatKeptNames(kept []plan.KeptName) string {
	if len(kept) == 0 {
		return ""
	}
	text := fmt.Sprintf("; ordinal %d gets no worker, because worker %s keeps the name %s", kept[0].Ordinal, kept[0].Pod, kept[0].SlurmName)
	if more := len(kept) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more names are kept", more)
	}
	return text
}

// formatEndedPins names a Kubernetes node where a worker is no longer pinned, or returns an empty string.
func formatEndedPins(s *Observation) string {
	if len(s.EndedPins) == 0 {
		return ""
	}
	ordinal := slices.Min(slices.Collect(maps.Keys(s.EndedPins)))
	kubeNode := s.EndedPins[ordinal]
	text := fmt.Sprintf("; ordinal %s is no longer pinned to Kubernetes node %s, because others have the Slurm node %s", ordinal, kubeNode, kubeNode)
	if more := len(s.EndedPins) - 1; more > 0 {
		text += fmt.Sprintf("; %d more pins have ended", more)
	}
	return text
}

// formatPinned names a worker that waits for the only Kubernetes node where it may run, or returns an empty
// string.
func formatPinned(workers []plan.Worker) string {
	var pinned []plan.Worker
	for _, w := range workers {
		if w.PinnedTo != "" && !w.PinnedToMissing && w.DeletedAt.IsZero() {
			pinned = append(pinned, w)
		}
	}
	if len(pinned) == 0 {
		return ""
	}
	first := slices.MinFunc(pinned, func(a, b plan.Worker) int { return strings.Compare(a.Pod, b.Pod) })
	text := fmt.Sprintf("; worker %s is pinned to Kubernetes node %s, and is not scheduled there: "+
		"to let it run elsewhere, cordon that node and delete the pod", first.Pod, first.PinnedTo)
	if more := len(pinned) - 1; more > 0 {
		text += fmt.Sprintf("; %d more pinned workers are not scheduled", more)
	}
	return text
}

// formatAvoided names a worker that may wait because Kubernetes nodes have names of others, or returns an empty
// string.
func formatAvoided(a AvoidingWorkers) string {
	if len(a.Pods) == 0 {
		return ""
	}
	text := fmt.Sprintf("; worker %s is not scheduled, and avoids Kubernetes nodes %s, because Slurm nodes of others or other workers have "+
		"their names", a.Pods[0], observed.CleanReason(hostlist.Compress(a.KubeNodes)))
	if more := len(a.Pods) - 1; more > 0 {
		text += fmt.Sprintf("; %d more workers avoid Kubernetes nodes", more)
	}
	return text
}

// formatIgnoredFacts names a Kubernetes node with an ignored annotation, or returns an empty string.
func formatIgnoredFacts(s *Observation) string {
	if len(s.IgnoredFacts) == 0 {
		return ""
	}
	first := slices.Min(slices.Collect(maps.Keys(s.IgnoredFacts)))
	text := fmt.Sprintf("; in the annotation %s of Kubernetes node %s, values with white space, quotes, control characters or = are ignored",
		s.IgnoredFacts[first][0], first)
	if more := len(s.IgnoredFacts) - 1; more > 0 {
		text += fmt.Sprintf("; %d more Kubernetes nodes have such annotations", more)
	}
	return text
}

// formatExcess reports that spec.replicas exceeds what Slurm supports, or returns an empty string.
func formatExcess(s *Observation) string {
	if n := scaling.SpecReplicas(s.NodeSet); n > scaling.MaxNodes && !s.Desired.PerKubeNode {
		return fmt.Sprintf("; spec.replicas is %d, but a Slurm cluster has at most %d nodes", n, scaling.MaxNodes)
	}
	return ""
}

// formatReserved names the workers that are not created because slurm.conf gives their names to other objects, or
// returns an empty string.
func formatReserved(reserved []string, owners map[string]string) string {
	if len(reserved) == 0 {
		return ""
	}
	text := fmt.Sprintf("; no worker %s is created, because %s has that name", reserved[0], owners[reserved[0]])
	if more := len(reserved) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more names belong to others", more)
	}
	return text
}

package nodeset

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
)

// A worker with the network of its Kubernetes node has the name of that node in Slurm, which only the scheduler chooses. If a Slurm node
// of others or another slurmd of the NodeSet has the name, slurmd would take over that Slurm node, and slurmctld would end the jobs
// there. So the worker avoids such Kubernetes nodes.

// maxAvoidedKubeNodes bounds the pods: those on a further one are deleted before their slurmd starts.
const maxAvoidedKubeNodes = 256

// avoidedKubeNodes are the names of Kubernetes nodes that the workers of a revision avoid, at most maxAvoidedKubeNodes.
type avoidedKubeNodes struct {
	// names begins with the matching ones.
	names []string
	// matching are the Kubernetes nodes that the template matches, with any taints: taints change while a pod is pending.
	matching []string
}

// kubeNodesToAvoid returns the Kubernetes nodes whose names are, or may be, names of others' Slurm nodes. Missing Kubernetes nodes come
// last: they may join while the pod is pending.
func (s *observation) kubeNodesToAvoid(from workerSource) avoidedKubeNodes {
	if !from.template.Spec.HostNetwork {
		return avoidedKubeNodes{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if out, known := s.avoidedKubeNodes[from.hash]; known {
		return out
	}
	var matching, others []string
	for _, name := range slices.Sorted(maps.Keys(s.kubeNodes)) {
		switch {
		case !s.mustAvoid(name):
		case desired.Matches(&from.template.Spec, s.kubeNodes[name]):
			matching = append(matching, name)
		default:
			others = append(others, name)
		}
	}
	out := avoidedKubeNodes{matching: matching[:min(len(matching), maxAvoidedKubeNodes)]}
	out.names = slices.Concat(out.matching, others)
	if left := maxAvoidedKubeNodes - len(out.names); left > 0 {
		out.names = append(out.names, s.absentKubeNodesToAvoid(left)...)
	}
	out.names = out.names[:min(len(out.names), maxAvoidedKubeNodes)]
	if s.avoidedKubeNodes == nil {
		s.avoidedKubeNodes = map[string]avoidedKubeNodes{}
	}
	s.avoidedKubeNodes[from.hash] = out
	return out
}

// knownSlurmNames returns the names of all Slurm nodes and pods, sorted.
func (s *observation) knownSlurmNames() []string {
	out := map[string]bool{}
	for name := range s.slurmNodes {
		out[name] = true
	}
	for name := range s.desired.ReservedNames {
		out[name] = true
	}
	for i := range s.workers {
		out[s.workers[i].SlurmName] = true
	}
	return slices.Sorted(maps.Keys(out))
}

// mustAvoid reports whether a worker must not run on the Kubernetes node with a name. Others have, or may have, the name in Slurm, or a
// slurmd of the NodeSet on another Kubernetes node does.
func (s *observation) mustAvoid(name string) bool {
	return s.mayBelongToOthers(name) || s.runsElsewhere(name)
}

// runsElsewhere reports whether a slurmd of the NodeSet has, or may have, a name but neither runs on the Kubernetes node of that name
// nor is pinned to it. The slurmd has a pod, or outlived its pod.
func (s *observation) runsElsewhere(name string) bool {
	hasPod := false
	for i := range s.workers {
		w := &s.workers[i]
		if w.SlurmName == name && w.KubeNode != name && w.PinnedTo != name {
			return true
		}
		hasPod = hasPod || w.SlurmName == name
	}
	record, there := s.slurm.Records[name]
	return there && !hasPod && record.KubeNode != name && plan.IsTaken(&s.slurm, name)
}

// absentKubeNodesToAvoid returns up to count names of others' Slurm nodes that a Kubernetes node could have, but none has.
func (s *observation) absentKubeNodesToAvoid(count int) []string {
	var out []string
	for _, name := range s.knownSlurmNames() {
		if len(out) == count {
			break
		}
		if s.kubeNodes[name] == nil && len(validation.IsDNS1123Subdomain(name)) == 0 && s.mustAvoid(name) {
			out = append(out, name)
		}
	}
	return out
}

// mayBelongToOthers reports whether a Slurm node belongs, or may belong, to others than the NodeSet. It includes nodes that the plan
// does not see, which matter only for workers that would get their names.
func (s *observation) mayBelongToOthers(name string) bool {
	if s.desired.ReservedNames[name] != "" || s.slurm.OwnedByOthers[name] != "" {
		return true
	}
	record, there := s.slurm.Records[name]
	if n := s.slurmNodes[name]; !there && n != nil {
		if !s.mayWrite(n) {
			return true
		}
		record, there = observed.Record(n, func(string) bool { return true }, nil), true
	}
	if !there || record.OwnerUID != "" || s.hasScheduledWorker(name) { // the owner of a new worker's node is not written yet
		return false
	}
	return record.ForeignComment || !record.Future && !record.Down
}

// hasScheduledWorker reports whether a worker of the NodeSet that has been scheduled has a Slurm node name.
func (s *observation) hasScheduledWorker(name string) bool {
	return slices.ContainsFunc(s.workers, func(w plan.Worker) bool { return w.SlurmName == name && w.KubeNode != "" })
}

// observeExposedWorkers determines the workers that may be scheduled to a Kubernetes node with the name of others: the name was given,
// or the node joined, after the pod was created. It needs no fresh reading, because their slurmds do not run. It also determines the
// workers that wait for a Kubernetes node that is gone.
func (s *observation) observeExposedWorkers(now time.Time) {
	if s.problem.Reason != "" || s.nodeSet.DeletionTimestamp != nil {
		return
	}
	for i := range s.workers {
		w, pod := &s.workers[i], s.pods[s.workers[i].Pod]
		w.PinnedToMissing = s.isPinnedToMissing(w, now)
		if pod.Spec.HostNetwork && w.KubeNode == "" && w.Slot.Ordinal != plan.NoOrdinal && w.DeletedAt.IsZero() {
			w.ExposedTo = s.exposedTo(pod, w.Revision)
		}
	}
	s.observeBlockedKubeNodes()
}

// pinnedNodeAppears is the time that the cache gets to show the Kubernetes node of a new pinned pod.
const pinnedNodeAppears = time.Minute

// isPinnedToMissing reports whether a worker waits for a Kubernetes node that is gone, and a new pod would not be pinned to it.
func (s *observation) isPinnedToMissing(w *plan.Worker, now time.Time) bool {
	if w.KubeNode != "" || w.PinnedTo == "" || s.kubeNodes[w.PinnedTo] != nil || !w.DeletedAt.IsZero() {
		return false
	}
	from, err := s.workerSourceOf(w.Revision)
	if err != nil || observed.RequiredKubeNode(&corev1.Pod{Spec: from.template.Spec}) == w.PinnedTo {
		return false
	}
	left := w.Created.Add(pinnedNodeAppears).Sub(now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
}

// observeBlockedKubeNodes determines the outdated workers whose names keep newer workers from Kubernetes nodes.
func (s *observation) observeBlockedKubeNodes() {
	from, err := s.workerSourceOf(s.revision.Hash)
	if err != nil || s.desired.PerKubeNode {
		return
	}
	avoided := s.kubeNodesToAvoid(from).matching
	for i := range s.workers {
		w := &s.workers[i]
		w.BlocksKubeNode = w.Revision != from.hash && w.KubeNode != w.SlurmName && slices.Contains(avoided, w.SlurmName)
	}
}

// exposedTo returns a Kubernetes node where a pod of a revision may be scheduled although its workers avoid it, or an empty string.
func (s *observation) exposedTo(pod *corev1.Pod, revision string) string {
	from, err := s.workerSourceOf(revision)
	if err != nil { // of another operator, or deleted: its worker is outdated
		return ""
	}
	for _, name := range s.kubeNodesToAvoid(from).matching {
		if !s.servedKubeNodes[name] && desired.Matches(&pod.Spec, s.kubeNodes[name]) {
			return name
		}
	}
	return ""
}

// avoidingWorkers returns the unscheduled workers that may run on any Kubernetes node except the avoided ones that they match.
func (s *observation) avoidingWorkers() status.AvoidingWorkers {
	var out status.AvoidingWorkers
	known := map[string]bool{} // thousands of workers have few revisions
	for i := range s.workers {
		w, pod := &s.workers[i], s.pods[s.workers[i].Pod]
		isUnscheduled := w.KubeNode == "" && w.PinnedTo == "" && w.DeletedAt.IsZero() && !w.Finished
		if !isUnscheduled || !pod.Spec.HostNetwork || s.isOfOtherMode(w) || s.problem.Reason != "" {
			continue
		}
		from, err := s.workerSourceOf(w.Revision)
		if err != nil {
			continue
		}
		avoided := s.kubeNodesToAvoid(from).matching
		if len(avoided) == 0 {
			continue
		}
		out.Pods = append(out.Pods, w.Pod)
		if !known[w.Revision] {
			known[w.Revision], out.KubeNodes = true, append(out.KubeNodes, avoided...)
		}
	}
	slices.Sort(out.Pods)
	slices.Sort(out.KubeNodes)
	out.KubeNodes = slices.Compact(out.KubeNodes)
	return out
}

// endedPins returns, by ordinal, the Kubernetes nodes where workers are no longer pinned because others have their names. It includes
// only wanted workers that do not run yet.
func (s *observation) endedPins() map[string]string {
	if !s.nodeSet.Spec.PinToNode || !s.template.Spec.HostNetwork || s.desired.PerKubeNode {
		return nil
	}
	runs := map[string]bool{}
	for i := range s.workers {
		if w := &s.workers[i]; w.KubeNode != "" {
			runs[formatOrdinal(w.Slot.Ordinal)] = true
		}
	}
	out := map[string]string{}
	for i := range s.desired.WorkerCount() {
		ordinal := formatOrdinal(i)
		name := s.nodeSet.Status.OrdinalToNode[ordinal]
		if name != "" && !runs[ordinal] && s.kubeNodes[name] != nil && s.mustAvoid(name) {
			out[ordinal] = name
		}
	}
	return out
}

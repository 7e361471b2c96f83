package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// workerPod returns a running pod of the NodeSet.
func workerPod(ordinal int) corev1.Pod {
	name := fmt.Sprintf("gpu-%d", ordinal)
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name, UID: "u",
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)), Annotations: map[string]string{},
		Labels: map[string]string{v1beta1.LabelPodHostname: name, v1beta1.LabelPodIndex: fmt.Sprint(ordinal)}}}
	p.Spec.NodeName = "kube"
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "slurmd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

func workerPods() []corev1.Pod { return []corev1.Pod{workerPod(0), workerPod(1), workerPod(2)} }

func nextCandidates(e NodeSet) []string {
	var out []string
	for _, c := range e.ScaleIn.Next {
		until := ""
		if c.Until != nil {
			until = " until " + c.Until.Sub(now).String()
		}
		out = append(out, c.Pod+" "+c.State+until)
	}
	return out
}

func TestNextScaleInCandidates(t *testing.T) {
	for _, tc := range []struct {
		name string
		how  func(s *Observation)
		want []string
	}{
		{"idle workers, then those whose work ends first", func(*Observation) {},
			[]string{"gpu-2 idle", "gpu-0 allocated until 1h0m0s", "gpu-1 allocated until 2h0m0s"}},
		{"work without a time limit ends last", func(s *Observation) { s.Slurm.Jobs[0].EndTime = slurm.Never },
			[]string{"gpu-2 idle", "gpu-1 allocated until 2h0m0s", "gpu-0 allocated"}},
		{"down workers before idle workers", func(s *Observation) {
			s.Slurm.Nodes[0].State.Base, s.Slurm.Jobs = slurm.NodeDown, s.Slurm.Jobs[1:]
		}, []string{"gpu-0 down", "gpu-2 idle", "gpu-1 allocated until 2h0m0s"}},
		{"the worker with the lower deletion cost", func(s *Observation) {
			s.Pods[1].Annotations[v1beta1.AnnotationPodDeletionCost] = "-1"
		}, []string{"gpu-2 idle", "gpu-1 allocated until 2h0m0s", "gpu-0 allocated until 1h0m0s"}},
		{"the drain policy's timeout", func(s *Observation) {
			s.NodeSets[0].Spec.DrainPolicy = &v1beta1.DrainPolicy{Type: v1beta1.DrainTimeout,
				Timeout: &metav1.Duration{Duration: 90 * time.Minute}}
		}, []string{"gpu-2 idle", "gpu-0 allocated until 1h0m0s", "gpu-1 allocated until 1h30m0s"}},
		{"the input order does not matter",
			func(s *Observation) { slices.Reverse(s.Pods); slices.Reverse(s.Slurm.Nodes) },
			[]string{"gpu-2 idle", "gpu-0 allocated until 1h0m0s", "gpu-1 allocated until 2h0m0s"}},
		{"a suspended job ends last", func(s *Observation) { s.Slurm.Jobs[0].State.Base = slurm.JobSuspended },
			[]string{"gpu-2 idle", "gpu-1 allocated until 2h0m0s", "gpu-0 allocated"}},
		{"a job that was requeued and still completes", func(s *Observation) {
			s.Slurm.Jobs[0].State = slurm.JobState{Base: slurm.JobPending, Flags: slurm.JobCompleting}
		}, []string{"gpu-2 idle", "gpu-0 allocated until 1h0m0s", "gpu-1 allocated until 2h0m0s"}},
		{"a worker whose slurmd crashed, although its pod is running, before one that is down", func(s *Observation) {
			s.Slurm.Nodes[0].State.Base, s.Slurm.Jobs = slurm.NodeDown, s.Slurm.Jobs[1:]
			s.Pods[2].Status.ContainerStatuses[0].State = corev1.ContainerState{}
		}, []string{"gpu-2 idle", "gpu-0 down", "gpu-1 allocated until 2h0m0s"}},
		{"no candidates without pods", func(s *Observation) { s.Pods = nil }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newTestObservation().withMetrics()
			s.Pods = workerPods()
			tc.how(s)
			got, _ := OfNodeSet(s, "gpu")
			if diff := cmp.Diff(tc.want, nextCandidates(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAChosenWorkerIsGoingAndNotNext(t *testing.T) {
	s := newTestObservation().withMetrics()
	s.Pods = workerPods()
	s.Pods[0].Annotations[v1beta1.AnnotationDrainCause] = v1beta1.DrainCauseScaleIn
	s.Pods[0].Annotations[v1beta1.AnnotationDrainStarted] = now.Add(-time.Minute).Format(time.RFC3339)
	s.NodeSets[0].Spec.Replicas = ptr(int32(2))
	got, _ := OfNodeSet(s, "gpu")
	if len(got.ScaleIn.Going) != 1 || got.ScaleIn.Going[0].Pod != "gpu-0" || got.ScaleIn.Going[0].Job != 1 ||
		!got.ScaleIn.Going[0].Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("going are %+v", got.ScaleIn.Going)
	}
	if diff := cmp.Diff([]string{"gpu-2 idle", "gpu-1 allocated until 2h0m0s"}, nextCandidates(got)); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutTheViewPodConditionsGiveTheStates(t *testing.T) {
	s := newTestObservation().withMetrics()
	s.Pods = workerPods()
	for i, kind := range []corev1.PodConditionType{v1beta1.PodConditionAllocated, v1beta1.PodConditionIdle,
		v1beta1.PodConditionDown} {
		s.Pods[i].Status.Conditions = append(s.Pods[i].Status.Conditions,
			corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	s.Pods[0].Annotations[v1beta1.AnnotationPodDeadline] = now.Add(time.Hour).Format(time.RFC3339)
	s.Slurm = nil
	got, _ := OfNodeSet(s, "gpu")
	if diff := cmp.Diff([]string{"gpu-2 down", "gpu-1 idle", "gpu-0 busy until 1h0m0s"},
		nextCandidates(got)); diff != "" {
		t.Error(diff)
	}
}

func TestWhileAJobCannotBePlacedNoWorkerIsChosen(t *testing.T) {
	s := newTestObservation().withMetrics()
	s.Pods = workerPods()
	s.Pods[2].Annotations[v1beta1.AnnotationDrainCause] = v1beta1.DrainCauseScaleIn
	s.Slurm.Jobs[0].Nodes = "gpu-[0"
	got, _ := OfNodeSet(s, "gpu")
	const problem = "the nodes of job 1 cannot be read"
	if next := got.ScaleIn.Next; len(next) != 0 {
		t.Errorf("the candidates are %+v", next)
	}
	if going := got.ScaleIn.Going; len(going) != 1 || !strings.Contains(going[0].Why, problem) {
		t.Errorf("going are %+v", going)
	}
	if n := len(got.Gaps); n == 0 || !strings.Contains(got.Gaps[n-1], problem) {
		t.Errorf("the gaps are %q", got.Gaps)
	}
}

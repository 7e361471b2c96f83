package doctor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// stepLister is the probe command of workers that older operators created.
var stepLister = []string{"scontrol", "show", "slurmd"}

// newWorker returns a running worker of a NodeSet whose slurmd container has a readiness probe.
func newWorker(nodeSet, name string, probe ...string) corev1.Pod {
	c := corev1.Container{Name: "slurmd",
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: probe}}}}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: name, Labels: map[string]string{
			v1beta1.LabelAppName: v1beta1.AppSlurmd, v1beta1.LabelAppInstance: nodeSet,
			appsv1.ControllerRevisionHashLabelKey: "current",
		}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{c}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func withFormerRevision(p corev1.Pod) corev1.Pod {
	p.Labels[appsv1.ControllerRevisionHashLabelKey] = "former"
	return p
}

// workerProbeCase is a list of workers and the expected finding.
type workerProbeCase struct {
	name          string
	change        func(n *v1beta1.NodeSet)
	workers       []corev1.Pod
	want, command string
}

func workerProbeCases() []workerProbeCase {
	const (
		why   = `that runs "scontrol show slurmd", which makes slurmd connect to every step: a job that has just begun may lose its script and fail with exit code 2`
		patch = `kubectl -n hpc patch nodesets.slinky.slurm.net gpu --type=merge -p '{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2030-01-01T12:00:00Z"}}}}}'`
	)
	one := []corev1.Pod{newWorker("gpu", "gpu-0", stepLister...)}
	ended, going := newWorker("gpu", "gpu-0", stepLister...), newWorker("gpu", "gpu-1", stepLister...)
	ended.Status.Phase, going.DeletionTimestamp = corev1.PodFailed, &metav1.Time{Time: now}
	keep := func(*v1beta1.NodeSet) {}
	return []workerProbeCase{
		{"none", keep, []corev1.Pod{newWorker("gpu", "gpu-0", "scontrol", "ping")}, "", ""},
		{"one", keep, one, "worker gpu-0 still has a readinessProbe of container slurmd " + why, patch},
		{"several", keep, []corev1.Pod{
			newWorker("gpu", "gpu-10", stepLister...), newWorker("gpu", "gpu-8", stepLister...),
			withFormerRevision(newWorker("gpu", "gpu-9", stepLister...)),
			newWorker("gpu", "gpu-7", "scontrol", "ping"), newWorker("gpu", "gpu-1", stepLister...),
		}, "workers gpu-[1,8-10] still have a readinessProbe of container slurmd " + why, patch},
		{"finished and terminating workers do not count", keep, []corev1.Pod{ended, going}, "", ""},
		{"workers that an update replaces", keep,
			[]corev1.Pod{withFormerRevision(newWorker("gpu", "gpu-0", stepLister...))},
			"worker gpu-0 still has a readinessProbe of container slurmd " + why,
			"kubectl -n hpc describe nodesets.slinky.slurm.net gpu"},
		{"workers of a NodeSet with OnDelete",
			func(n *v1beta1.NodeSet) { n.Spec.UpdateStrategy.Type = v1beta1.UpdateOnDelete }, one,
			"worker gpu-0 still has a readinessProbe of container slurmd " + why,
			"kubectl -n hpc annotate pod gpu-0 nodeset.slinky.slurm.net/pod-cordon=true"},
		{"workers of an unknown NodeSet", keep, []corev1.Pod{newWorker("lost", "lost-3", stepLister...)},
			"worker lost-3 still has a readinessProbe of container slurmd " + why,
			"kubectl -n hpc annotate pod lost-3 nodeset.slinky.slurm.net/pod-cordon=true"},
	}
}

func TestWorkersThatStillListSteps(t *testing.T) {
	for _, tc := range workerProbeCases() {
		t.Run(tc.name, func(t *testing.T) {
			observed := newHealthy()
			observed.NodeSets[0].Status.NodeSetHash = "current"
			tc.change(&observed.NodeSets[0])
			observed.Workers = tc.workers
			var problem, command string
			for _, f := range Examine(*observed, nil).Findings {
				if f.Code != ProbeListsSteps || problem != "" || f.Cure == "" {
					t.Errorf("found %+v", f)
				}
				problem, command = f.Problem, f.Command
			}
			if diff := cmp.Diff([]string{tc.want, tc.command}, []string{problem, command}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFindingAboutTheTemplateCoversItsWorkers(t *testing.T) {
	observed := newHealthy()
	observed.NodeSets[0].Spec.Slurmd = v1beta1.Raw{Raw: []byte(
		`{"readinessProbe":{"exec":{"command":["scontrol","show","slurmd"]}}}`)}
	observed.Workers = []corev1.Pod{newWorker("gpu", "gpu-0", stepLister...)}
	if got := Examine(*observed, nil).Findings; len(got) != 1 || got[0].Object != nodeSetObject(&observed.NodeSets[0]) {
		t.Errorf("found %+v", got)
	}
}

func TestFindingsAboutWorkersHaveAStableOrder(t *testing.T) {
	observed := newHealthy()
	for i := range 9 {
		w := newWorker(fmt.Sprint("set", i%3), fmt.Sprint("w-", i), stepLister...)
		if i%2 == 0 {
			w.Spec.Containers[0].LivenessProbe = w.Spec.Containers[0].ReadinessProbe
		}
		observed.Workers = append(observed.Workers, w)
	}
	first := Examine(*observed, nil).Findings
	for range 20 {
		if diff := cmp.Diff(first, Examine(*observed, nil).Findings); diff != "" {
			t.Fatal(diff)
		}
	}
	if len(first) != 6 {
		t.Errorf("%d findings, not one for each NodeSet and probe", len(first))
	}
}

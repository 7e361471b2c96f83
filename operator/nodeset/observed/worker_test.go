package observed

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

func requireTerm(term corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		delete(p.Labels, v1beta1.LabelPodIndex)
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}, term}},
		}}
	}
}

func termByName(values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField,
		Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

func TestWorkers(t *testing.T) {
	unset := plan.Slot{Ordinal: plan.NoOrdinal}
	on := func(name string) plan.Slot { return plan.Slot{Ordinal: plan.NoOrdinal, KubeNode: name} }
	label := func(key, value string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = value } }
	unlabelled := func(key string) func(*corev1.Pod) { return func(p *corev1.Pod) { delete(p.Labels, key) } }
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	slurmd := func(s corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = s }
	}
	sidecar := func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].Name = "sidecar"
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: render.ContainerSlurmd, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	for _, tc := range []struct {
		name   string
		change func(*corev1.Pod)
		want   func(*plan.Worker)
	}{
		{"has its ordinal from its label", label(v1beta1.LabelPodIndex, "17"),
			func(w *plan.Worker) { w.Slot.Ordinal = 17 }},
		{"has no ordinal when that is no number", label(v1beta1.LabelPodIndex, "x"),
			func(w *plan.Worker) { w.Slot = on("kube-3") }},
		{"has no ordinal below zero", label(v1beta1.LabelPodIndex, "-2"),
			func(w *plan.Worker) { w.Slot = on("kube-3") }},
		{"holds the Kubernetes node that it is pinned to", requireTerm(termByName("kube-7")),
			func(w *plan.Worker) { w.Slot = on("kube-7") }},
		{"pinned to one of two runs where it runs", requireTerm(termByName("kube-7", "kube-8")),
			func(w *plan.Worker) { w.Slot = on("kube-3") }},
		{"that requires nothing runs where it runs", func(p *corev1.Pod) {
			delete(p.Labels, v1beta1.LabelPodIndex)
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
		}, func(w *plan.Worker) { w.Slot = on("kube-3") }},
		{"without any place has none", func(p *corev1.Pod) {
			delete(p.Labels, v1beta1.LabelPodIndex)
			p.Spec.NodeName = ""
		}, func(w *plan.Worker) { w.Slot, w.KubeNode = unset, "" }},
		{"has the name of its Kubernetes node with its network", func(p *corev1.Pod) {
			unlabelled(v1beta1.LabelPodHostname)(p)
			p.Spec.HostNetwork = true
		}, func(w *plan.Worker) { w.SlurmName = "kube-3" }},
		{"has the host name of its pod whatever its label", func(p *corev1.Pod) {
			p.Spec.Hostname, p.Labels[v1beta1.LabelPodHostname] = "gpu-3", "gpu-4"
		}, func(*plan.Worker) {}},
		{"has the name with which slurmd starts", func(p *corev1.Pod) {
			p.Spec.HostNetwork, p.Labels[v1beta1.LabelPodHostname] = true, "gpu-4"
			p.Spec.Containers = []corev1.Container{{Name: "slurmd", Env: []corev1.EnvVar{{Name: "POD_HOSTNAME", Value: "gpu-3"}}}}
		}, func(*plan.Worker) {}},
		{"without a revision has none", unlabelled(render.LabelRevision), func(w *plan.Worker) { w.Revision = "" }},
		{"that succeeded has ended", phase(corev1.PodSucceeded), func(w *plan.Worker) { w.Finished = true }},
		{"that failed has ended", phase(corev1.PodFailed), func(w *plan.Worker) { w.Finished = true }},
		{"that is pending has not ended", phase(corev1.PodPending), func(*plan.Worker) {}},
		{"of an unknown phase has not ended", phase(corev1.PodUnknown), func(*plan.Worker) {}},
		{"whose slurmd waits does not run, and never did", slurmd(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}),
			func(w *plan.Worker) { w.Running, w.RunningSince, w.NeverStarted = false, time.Time{}, true }},
		{"whose slurmd waits after a crash has run", func(p *corev1.Pod) {
			slurmd(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}})(p)
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		}, func(w *plan.Worker) { w.Running, w.RunningSince = false, time.Time{} }},
		{"whose slurmd waits after a restart has run", func(p *corev1.Pod) {
			slurmd(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}})(p)
			p.Status.ContainerStatuses[0].RestartCount = 1
		}, func(w *plan.Worker) { w.Running, w.RunningSince = false, time.Time{} }},
		{"without a container has none that ran", func(p *corev1.Pod) { p.Status.ContainerStatuses = nil },
			func(w *plan.Worker) { w.Running, w.RunningSince, w.NeverStarted = false, time.Time{}, true }},
		{"whose slurmd crashed does not run",
			slurmd(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}),
			func(w *plan.Worker) { w.Running, w.RunningSince = false, time.Time{} }},
		{"does not run by its sidecars", sidecar, func(w *plan.Worker) { w.Running, w.RunningSince = false, time.Time{} }},
		{"runs when a sidecar does not", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "sidecar"})
		}, func(*plan.Worker) {}},
		{"is not Ready when that is not known",
			func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionUnknown },
			func(w *plan.Worker) { w.Ready, w.ReadySince = false, time.Time{} }},
		{"is not Ready by another condition",
			func(p *corev1.Pod) { p.Status.Conditions[0].Type = corev1.ContainersReady },
			func(w *plan.Worker) { w.Ready, w.ReadySince = false, time.Time{} }},
		{"goes since its deletion", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(nodesettest.Noon)) },
			func(w *plan.Worker) { w.DeletedAt = nodesettest.Noon }},
		{"costs what it says", nodesettest.WithAnnotation(v1beta1.AnnotationPodDeletionCost, "-5"),
			func(w *plan.Worker) { w.DeletionCost = -5 }},
		{"costs nothing when that is no number",
			nodesettest.WithAnnotation(v1beta1.AnnotationPodDeletionCost, "12 EUR"),
			func(*plan.Worker) {}},
		{"costs nothing when that is too large a number",
			nodesettest.WithAnnotation(v1beta1.AnnotationPodDeletionCost, "99999999999999999999"),
			func(*plan.Worker) {}},
		{"is cordoned by its user", nodesettest.WithAnnotation(v1beta1.AnnotationPodCordon, "true"),
			func(w *plan.Worker) { w.CordonReason = "pod gpu-3 is cordoned" }},
		{"is not cordoned by another word", nodesettest.WithAnnotation(v1beta1.AnnotationPodCordon, "yes"),
			func(*plan.Worker) {}},
		{"is protected", label(v1beta1.LabelPodProtect, "true"), func(w *plan.Worker) { w.DrainMark.Protect = true }},
		{"is not protected by another word", label(v1beta1.LabelPodProtect, "false"), func(*plan.Worker) {}},
		{"is noted to go", func(p *corev1.Pod) {
			nodesettest.WithAnnotation(v1beta1.AnnotationDrainCause, v1beta1.DrainCauseScaleIn)(p)
			nodesettest.WithAnnotation(v1beta1.AnnotationDrainStarted, "2026-11-21T13:00:00+01:00")(p)
			nodesettest.WithAnnotation(v1beta1.AnnotationPodDeadline, "2026-11-21T15:00:00Z")(p)
			nodesettest.WithAnnotation(v1beta1.AnnotationDrained, "2026-11-21T12:00:07Z")(p)
		}, func(w *plan.Worker) {
			w.DrainMark = plan.DrainMark{Cause: "ScaleIn", Since: nodesettest.Noon,
				Deadline: nodesettest.Noon.Add(3 * time.Hour), Drained: nodesettest.Noon.Add(7 * time.Second)}
		}},
		{"has an agent", func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: podspec.ContainerKeys})
		}, func(w *plan.Worker) { w.NoAgent = false }},
		{"was registered", func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: v1beta1.PodConditionRegistered,
				Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(nodesettest.Noon)})
		}, func(w *plan.Worker) { w.Registered = nodesettest.Noon }},
		{"has no time that cannot be read", func(p *corev1.Pod) {
			nodesettest.WithAnnotation(v1beta1.AnnotationDrainCause, v1beta1.DrainCauseUpdate)(p)
			nodesettest.WithAnnotation(v1beta1.AnnotationDrainStarted, "at noon")(p)
			nodesettest.WithAnnotation(v1beta1.AnnotationPodDeadline, "1763726400")(p)
		}, func(w *plan.Worker) { w.DrainMark = plan.DrainMark{Cause: "Update"} }},
	} {
		t.Run("a worker "+tc.name, func(t *testing.T) {
			want := plan.Worker{
				Pod: "gpu-3", UID: "uid-gpu-3", Slot: plan.Slot{Ordinal: 3}, SlurmName: "gpu-3", Revision: "new",
				Created:  nodesettest.Noon.Add(-time.Hour),
				KubeNode: "kube-3", Running: true, RunningSince: nodesettest.Noon.Add(-time.Hour),
				Ready: true, ReadySince: nodesettest.Noon.Add(-time.Hour), NoAgent: true,
			}
			tc.want(&want)
			if diff := cmp.Diff(want, Worker(nodesettest.NewWorkerPod(3, tc.change), nil, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhyAWorkerIsCordoned(t *testing.T) {
	reason := func(text string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Annotations[v1beta1.AnnotationNodeCordonReason] = text }
	}
	condition := func(kind, status, message string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(kind),
				Status: corev1.ConditionStatus(status), Message: message})
		}
	}
	for _, tc := range []struct {
		name string
		node []func(*corev1.Node)
		want string
	}{
		{"it is not while its Kubernetes node is not", []func(*corev1.Node){reason("disk")}, ""},
		{"a cordoned Kubernetes node is named", []func(*corev1.Node){nodesettest.SetCordoned},
			"Kubernetes node kube-1 is cordoned"},
		{"the annotation says why", []func(*corev1.Node){nodesettest.SetCordoned, reason("bad disk")}, "bad disk"},
		{"it is cleaned", []func(*corev1.Node){nodesettest.SetCordoned, reason("\tit's \"bad\"\nnow\u0007\u200b ")},
			"its bad now"},
		{"it is cut at 256 characters", []func(*corev1.Node){nodesettest.SetCordoned, reason(strings.Repeat("ä", 300))},
			strings.Repeat("ä", 256)},
		{"an empty annotation says nothing", []func(*corev1.Node){nodesettest.SetCordoned, reason(" \n")},
			"Kubernetes node kube-1 is cordoned"},
		{"conditions that are passed on say why",
			[]func(*corev1.Node){nodesettest.SetCordoned, condition("Broken", "True", "fan 2\nstands"),
				condition("Hot", "True", "")}, "Hot; Broken fan 2 stands"},
		{"conditions that are not True do not",
			[]func(*corev1.Node){nodesettest.SetCordoned, condition("Broken", "False", "no"),
				condition("Hot", "Unknown", "no")}, "Kubernetes node kube-1 is cordoned"},
		{"other conditions do not", []func(*corev1.Node){nodesettest.SetCordoned, condition("Ready", "True", "yes")},
			"Kubernetes node kube-1 is cordoned"},
		{"the annotation goes before the conditions",
			[]func(*corev1.Node){nodesettest.SetCordoned, condition("Hot", "True", "90 C"), reason("maintenance")},
			"maintenance"},
		{"conditions are cut at 256 characters together",
			[]func(*corev1.Node){nodesettest.SetCordoned, condition("Hot", "True", strings.Repeat("x", 200)),
				condition("Broken", "True", strings.Repeat("y", 200))},
			"Hot " + strings.Repeat("x", 200) + "; Broken " + strings.Repeat("y", 256-4-200-2-7)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Worker(nodesettest.NewWorkerPod(1), nodesettest.NewKubeNode("kube-1", tc.node...),
				[]string{"Hot", "Broken"}).CordonReason
			if got != tc.want {
				t.Errorf("it is %q and not %q", got, tc.want)
			}
		})
	}
	if got := Worker(nodesettest.NewWorkerPod(1, nodesettest.WithAnnotation(v1beta1.AnnotationPodCordon, "true")),
		nodesettest.NewKubeNode("kube-1", nodesettest.SetCordoned, reason("disk")),
		nil).CordonReason; got != "pod gpu-1 is cordoned" {
		t.Errorf("with both it is %q", got)
	}
}

func TestNotesComeBackAsTheyWereWritten(t *testing.T) {
	for name, note := range map[string]plan.DrainMark{
		"nothing":              {},
		"a cause":              {Cause: v1beta1.DrainCauseScaleIn, Since: nodesettest.Noon},
		"work":                 {Protect: true, Deadline: nodesettest.Noon.Add(time.Hour)},
		"work without a limit": {Protect: true},
		"a cause while it works": {Cause: v1beta1.DrainCauseDeletion, Since: nodesettest.Noon, Protect: true,
			Deadline: nodesettest.Noon.Add(time.Minute)},
	} {
		for before, had := range map[string]plan.DrainMark{
			"none": {}, "another": {Cause: v1beta1.DrainCauseUpdate, Since: nodesettest.Noon.Add(-time.Hour),
				Protect:  true,
				Deadline: nodesettest.Noon},
		} {
			t.Run(name+" over "+before, func(t *testing.T) {
				pod := applyPatch(t, applyPatch(t,
					nodesettest.NewWorkerPod(0, nodesettest.WithAnnotation("other", "kept")),
					DrainMarkPatch(had, plan.DrainMark{}, nil)), DrainMarkPatch(note, had, nil))
				if diff := cmp.Diff(note, DrainMark(pod)); diff != "" {
					t.Error(diff)
				}
				_, evictable := pod.Annotations[v1beta1.AnnotationSafeToEvict]
				_, disruptable := pod.Annotations[v1beta1.AnnotationDoNotDisrupt]
				if evictable != note.Protect || disruptable != note.Protect || pod.Annotations["other"] != "kept" ||
					pod.Labels[v1beta1.LabelPodHostname] != "gpu-0" {
					t.Errorf("the metadata are %v and %v", pod.Labels, pod.Annotations)
				}
			})
		}
	}
}

func TestAnnotationsOfTheTemplateComeBackAfterTheWork(t *testing.T) {
	idle, busy := plan.DrainMark{}, plan.DrainMark{Protect: true}
	chosen := plan.DrainMark{Cause: v1beta1.DrainCauseScaleIn, Since: nodesettest.Noon}
	for _, tc := range []struct {
		name  string
		own   map[string]string
		notes []plan.DrainMark
		want  string // of both, "-" if absent
	}{
		{"a user's stay while there is no work", map[string]string{v1beta1.AnnotationSafeToEvict: "false"},
			[]plan.DrainMark{chosen, idle}, "false -"},
		{"work protects whatever the user says", map[string]string{v1beta1.AnnotationSafeToEvict: "true"},
			[]plan.DrainMark{busy}, "false true"},
		{"a user's come back after the work",
			map[string]string{v1beta1.AnnotationSafeToEvict: "true", v1beta1.AnnotationDoNotDisrupt: "true"},
			[]plan.DrainMark{busy, idle}, "true true"},
		{"without a user's there are none after the work", nil, []plan.DrainMark{busy, idle}, "- -"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod, was := nodesettest.NewWorkerPod(0), plan.DrainMark{}
			for name, value := range tc.own {
				nodesettest.WithAnnotation(name, value)(pod)
			}
			for _, note := range tc.notes {
				pod, was = applyPatch(t, pod, DrainMarkPatch(note, was, tc.own)), note
			}
			show := func(name string) string {
				if value, ok := pod.Annotations[name]; ok {
					return value
				}
				return "-"
			}
			if got := show(v1beta1.AnnotationSafeToEvict) + " " + show(v1beta1.AnnotationDoNotDisrupt); got != tc.want {
				t.Errorf("they are %q and not %q", got, tc.want)
			}
		})
	}
}

// applyPatch is the pod after a merge patch.
func applyPatch(t *testing.T, pod *corev1.Pod, patch map[string]any) *corev1.Pod {
	t.Helper()
	have, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	change, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	text, err := strategicpatch.StrategicMergePatch(have, change, pod)
	if err != nil {
		t.Fatal(err)
	}
	out := &corev1.Pod{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

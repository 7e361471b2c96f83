package slurmclients

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// newCtldPod returns a Ready pod of slurmctld of team/blue, with changes.
func newCtldPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "slurmctld", "slinky.slurm.net/cluster": "blue",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "logfile"}, {Name: "slurmctld"}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady,
			Status: corev1.ConditionTrue}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func withStatefulSet(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "blue-controller", Controller: new(true)}}
}

func withNotReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func withDeletion(p *corev1.Pod) {
	p.Finalizers = []string{"test/keep"}
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
}

func withLabel(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func TestWhereScontrolRuns(t *testing.T) {
	for _, tc := range []struct {
		name string
		key  refs.ClusterKey
		pods []runtime.Object
		ran  string
		want string // in the error
	}{
		{"in the Ready pod", blue, []runtime.Object{newCtldPod("b-0", withNotReady), newCtldPod("b-1"),
			newCtldPod("b-2")}, "b-1 slurmctld", ""},
		{"in the first container where none is slurmctld's", blue,
			[]runtime.Object{newCtldPod("b-0", func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] })},
			"b-0 logfile", ""},
		{"in a pod of its StatefulSet, not in one with its labels", blue, []runtime.Object{newCtldPod("a"),
			newCtldPod("blue-controller-0", withStatefulSet)}, "blue-controller-0 slurmctld", ""},
		{"in none with its labels while that of its StatefulSet is not Ready", blue, []runtime.Object{newCtldPod("a"),
			newCtldPod("blue-controller-0", withStatefulSet, withNotReady)}, "", "none of the 1 pods"},
		{"not in a terminating pod", blue, []runtime.Object{newCtldPod("b-0", withDeletion)}, "", "none of the 1 pods"},
		{"not in another cluster's", blue,
			[]runtime.Object{newCtldPod("b-0", withLabel("slinky.slurm.net/cluster", "green"))}, "",
			"no pod of slurmctld"},
		{"nor a worker", blue, []runtime.Object{newCtldPod("b-0", withLabel("app.kubernetes.io/name", "slurmd"))}, "",
			"no pod of slurmctld"},
		{"nor in another namespace's", blue,
			[]runtime.Object{newCtldPod("b-0", func(p *corev1.Pod) { p.Namespace = "lab" })}, "",
			"no pod of slurmctld"},
		{"nor where exec is forbidden", refs.ClusterKey{Kind: "Controller", Namespace: "lab", Name: "blue"},
			[]runtime.Object{newCtldPod("b-0", func(p *corev1.Pod) { p.Namespace = "lab" })}, "",
			"rbac.execNamespaces"},
		{"a Cluster has no pods", red,
			[]runtime.Object{newCtldPod("b-0", withLabel("slinky.slurm.net/cluster", "red"))}, "", "does not run here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ran, argv string
			p := &podScontrol{namespaces: []string{"team"}, client: fake.NewClientset(tc.pods...),
				stream: func(_ context.Context, pod *corev1.Pod, container string, words []string,
					_ *limitedOutput) error {
					ran, argv = pod.Name+" "+container, strings.Join(words, "|")
					return nil
				}}
			err := p.Run(t.Context(), tc.key, "create", "NodeName=a b")
			if ran != tc.ran || ran != "" && argv != "scontrol|create|NodeName=a b" {
				t.Errorf("it ran %q in %q", argv, ran)
			}
			var none *NoPodError
			if tc.want == "" && err != nil || tc.want != "" &&
				(!errors.As(err, &none) || slurmclient.CodeOf(err) != slurmclient.CodeUnsupported ||
					!strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestScontrolEndsWhenNothingAnswers: a kubelet that is away keeps the stream open without an answer. That must block
// neither the reconciliation of its NodeSet nor all others.
func TestScontrolEndsWhenNothingAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &podScontrol{namespaces: []string{"team"}, client: fake.NewClientset(newCtldPod("b-0")),
			stream: func(ctx context.Context, _ *corev1.Pod, _ string, _ []string, _ *limitedOutput) error {
				<-ctx.Done()
				return ctx.Err()
			}}
		err := p.Run(t.Context(), blue, "create")
		if slurmclient.CodeOf(err) != slurmclient.CodeUnavailable || !strings.Contains(err.Error(), "no answer within 30s") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestScontrolErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want slurmclient.Code
		text string
	}{
		{"scontrol succeeds", nil, "", ""},
		{"scontrol fails", utilexec.CodeExitError{Code: 1, Err: errors.New("exit code 1")}, slurmclient.CodeInvalid,
			"Invalid node name specified"},
		{"the stream broke", errors.New("connection reset"), slurmclient.CodeUnavailable, "connection reset"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &podScontrol{namespaces: []string{"team"}, client: fake.NewClientset(newCtldPod("b-0")),
				stream: func(_ context.Context, _ *corev1.Pod, _ string, _ []string, out *limitedOutput) error {
					_, _ = out.Write([]byte("scontrol: error:\nInvalid node name specified\n" + strings.Repeat(
						"x", 9000)))
					return tc.err
				}}
			err := p.Run(t.Context(), blue, "create")
			if slurmclient.CodeOf(err) != tc.want || tc.text != "" && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("the error is %v", err)
			}
			if err != nil && len(err.Error()) > 5000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

package upgrade

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/releases"
	"github.com/slurmtide/slurmtide/test/harness/golden"
)

// newTestPod returns the lookup of an image for a daemon, for a workload with everything that matters.
func newTestPod(daemon releases.Daemon) *corev1.Pod {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm", UID: "uid-slurm"}}
	owner := metav1.NewControllerRef(c, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindController))
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{ServiceAccountName: "pull",
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, NodeSelector: map[string]string{"arch": "arm64"},
		Tolerations: []corev1.Toleration{{Key: "slurm", Operator: corev1.TolerationOpExists}}}}
	return newLookupPod(*owner, c, daemon, imageNew, template,
		&corev1.Container{ImagePullPolicy: corev1.PullAlways})
}

func TestLookupPod(t *testing.T) {
	var pods []podspec.KubeObject
	for _, daemon := range []releases.Daemon{releases.Slurmctld, releases.Sackd, releases.Slurmdbd} {
		pod := newTestPod(daemon)
		pod.APIVersion, pod.Kind = "v1", "Pod"
		pods = append(pods, pod)
	}
	golden.CheckObjects(t, "lookup", pods)
}

func TestReadAnswer(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	ended := func(code int32, message string, ago time.Duration) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message,
				FinishedAt: metav1.NewTime(now.Add(-ago))}}}}}
	}
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	for _, tc := range []struct {
		name    string
		status  corev1.PodStatus
		release releases.Release
		problem string
		isOver  bool
	}{
		{"it is new", corev1.PodStatus{}, releases.Release{}, "", false},
		{"it starts", waiting("ContainerCreating", ""), releases.Release{}, "", false},
		{"an answer", ended(0, "slurm-wlm 26.05.5\n", 0), newRelease, "", true},
		{"another program", ended(0, "hello", 0), releases.Release{}, `"hello" names no release`, false},
		{"another program, tried again", ended(0, "hello", 3*time.Minute), releases.Release{}, "names no release", true},
		{"no slurmctld in the image", ended(127, "sh: slurmctld:\nnot found", 0), releases.Release{},
			"slurmctld -V ended with code 127: sh: slurmctld: not found; set an image that has slurmctld", false},
		{"tried again", ended(127, "", 2*time.Minute), releases.Release{}, "code 127", true},
		{"no image", waiting("ImagePullBackOff", "Back-off pulling"), releases.Release{},
			"ImagePullBackOff: Back-off pulling; correct the image or its pull secrets", false},
		{"too late", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"}, releases.Release{},
			"could not be started within 10m0s", true},
		{"evicted", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"},
			releases.Release{}, "failed: low on memory", true},
		{"no room", corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes"}}}, releases.Release{},
			"cannot be scheduled: 0/3 nodes", false},
		{"a long message", ended(1, strings.Repeat("x", 5000), 0), releases.Release{}, "x …; set", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := newTestPod(releases.Slurmctld)
			pod.Status = tc.status
			got, isOver := readAnswer(now, pod, releases.Slurmctld)
			if got.Release != tc.release || isOver != tc.isOver || (got.Problem == "") != (tc.problem == "") ||
				!strings.Contains(got.Problem, tc.problem) || len(got.Problem) > 600 {
				t.Errorf("it is %+v, over: %t", got, isOver)
			}
			if want := tc.name == "no image"; got.CannotBePulled != want {
				t.Errorf("the image cannot be pulled: %t", got.CannotBePulled)
			}
			if got.Problem != "" && !strings.Contains(got.Problem, "image "+imageNew) {
				t.Errorf("the problem does not name the image: %s", got.Problem)
			}
		})
	}
}

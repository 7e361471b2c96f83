package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/releases"
)

const (
	// lookupDeadline is how long a lookup may take. Pulling a large image takes some minutes.
	lookupDeadline = 10 * time.Minute
	// lookupRetryInterval is how long a failed lookup stays as it is. After that it is tried again.
	lookupRetryInterval = 2 * time.Minute
	// nobody is the user and the group of the pod: slurmrestd refuses to run as root and as SlurmUser.
	nobody = 65534
	// maxMessage is how much of what a program prints messages have, in bytes.
	maxMessage = 300

	containerLookup = "release"
	volumeTmp       = "tmp"
)

// sinfoScript prints the release of the commands in the image of login pods: sackd has no option for it, and the
// commands read a slurm.conf first, of which these lines are enough.
const sinfoScript = `printf '%s\n' ClusterName=lookup SlurmctldHost=localhost AuthType=auth/slurm CredType=cred/slurm \
  >/tmp/slurm.conf
SLURM_CONF=/tmp/slurm.conf `

// slurmdbdScript gives slurmdbd a slurmdbd.conf that belongs to SlurmUser, without which it does not come to its options.
const slurmdbdScript = `umask 077
printf '%s\n' DbdHost=localhost StorageType=accounting_storage/mysql AuthType=auth/slurm SlurmUser=65534 \
  >/tmp/slurmdbd.conf
SLURM_CONF=/tmp/slurm.conf `

// programOf returns the program that says its release with -V, and what a shell does before it.
func programOf(daemon releases.Daemon) (program, before string) {
	switch daemon {
	case releases.Sackd:
		return "sinfo", sinfoScript
	case releases.Slurmdbd:
		return "slurmdbd", slurmdbdScript
	}
	return string(daemon), ""
}

// newLookupPod returns the pod that prints the release of Slurm in an image. It is pulled and scheduled as the pods of
// a workload are, whose template is given, and of which container is the one of the daemon.
func newLookupPod(owner metav1.OwnerReference, object metav1.Object, daemon releases.Daemon, image string,
	template *corev1.PodTemplateSpec, container *corev1.Container) *corev1.Pod {
	program, before := programOf(daemon)
	command := fmt.Sprintf("%s%s -V >%s 2>&1", before, program, corev1.TerminationMessagePathDefault)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.GetNamespace(), Name: names.LookupPod(object.GetName(), string(daemon), image),
			Labels:          lookupLabels(object),
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: containerLookup, Image: image, ImagePullPolicy: container.ImagePullPolicy,
				Command:                []string{"/bin/sh", "-c", command},
				TerminationMessagePath: corev1.TerminationMessagePathDefault,
				SecurityContext:        podspec.RestrictedContext(),
				VolumeMounts:           []corev1.VolumeMount{{Name: volumeTmp, MountPath: "/tmp"}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
						corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
				},
			}},
			Volumes:                       []corev1.Volume{podspec.MemoryVolume(volumeTmp)},
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         new(int64(lookupDeadline.Seconds())),
			TerminationGracePeriodSeconds: new(int64(1)),
			ServiceAccountName:            template.Spec.ServiceAccountName, // it may have the pull secrets
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			ImagePullSecrets:              template.Spec.ImagePullSecrets,
			NodeSelector:                  template.Spec.NodeSelector,
			Tolerations:                   template.Spec.Tolerations,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), RunAsGroup: new(int64(nobody)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// lookupLabels are the labels of the pods that look up releases for an object.
func lookupLabels(object metav1.Object) map[string]string {
	return map[string]string{v1beta1.LabelAppName: v1beta1.AppReleaseLookup, v1beta1.LabelAppInstance: object.GetName()}
}

// readAnswer returns what a lookup has found until now, and reports whether the pod has served its purpose: after an
// answer, and when a failed lookup is to be tried again.
func readAnswer(now time.Time, pod *corev1.Pod, daemon releases.Daemon) (answer Answer, isOver bool) {
	image := pod.Spec.Containers[0].Image
	program, _ := programOf(daemon)
	failed := func(format string, args ...any) Answer {
		return Answer{Problem: fmt.Sprintf("the release of Slurm in image %s cannot be looked up: ", image) +
			fmt.Sprintf(format, args...)}
	}
	var state corev1.ContainerState
	if len(pod.Status.ContainerStatuses) > 0 {
		state = pod.Status.ContainerStatuses[0].State
	}
	switch ended := state.Terminated; {
	case ended != nil && ended.ExitCode == 0:
		release, err := releases.Parse(ended.Message)
		if err == nil {
			return Answer{Release: release}, true
		}
		return failed("%s -V says %v; set an image of Slurm", program, err), isDue(now, ended.FinishedAt)
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "DeadlineExceeded":
		return failed("it could not be started within %v; see the events of pod %s", lookupDeadline, pod.Name), true
	case ended != nil:
		return failed("%s -V ended with code %d: %s; set an image that has %s, or say its release in annotation %s", program,
			ended.ExitCode, shorten(ended.Message), program, v1beta1.AnnotationImageReleases), isDue(now, ended.FinishedAt)
	case pod.Status.Phase == corev1.PodFailed: // such as an evicted one
		return failed("pod %s failed: %s", pod.Name, shorten(pod.Status.Message)), true
	case state.Waiting != nil && isImpeded(state.Waiting.Reason):
		out := failed("%s: %s; correct the image or its pull secrets, or say its release in annotation %s", state.Waiting.Reason,
			shorten(state.Waiting.Message), v1beta1.AnnotationImageReleases)
		out.CannotBePulled = slices.Contains(pullFailures, state.Waiting.Reason)
		return out, false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return failed("pod %s cannot be scheduled: %s", pod.Name, shorten(c.Message)), false
		}
	}
	return Answer{}, false
}

// pullFailures are the reasons of the kubelet for a container whose image it does not get.
var pullFailures = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}

// isImpeded reports whether a container waits for what the kubelet tries again, and not just for its start.
func isImpeded(reason string) bool {
	switch reason {
	case "", "ContainerCreating", "PodInitializing":
		return false
	}
	return true
}

// isDue reports whether it is time to try again what ended at a time.
func isDue(now time.Time, ended metav1.Time) bool { return now.Sub(ended.Time) >= lookupRetryInterval }

// shorten returns the beginning of what a program has printed, in one line.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxMessage {
		return strings.ToValidUTF8(text[:maxMessage], "") + " …"
	}
	return text
}

package slurmclients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// slurmctldContainer is the name of slurmctld's container. If a pod has no container of that name,
// its first container is used.
const slurmctldContainer = "slurmctld"

// NoPodError reports that scontrol cannot be run in any pod.
type NoPodError struct {
	Key refs.ClusterKey
	// Forbidden is true if the operator may not run commands in the namespace.
	Forbidden bool
	// NotReady is the number of slurmctld's pods. None of them is Ready.
	NotReady int
}

// Error returns the missing part, in words for users.
func (e *NoPodError) Error() string {
	switch {
	case e.Key.Kind != v1beta1.KindController:
		return "the slurmctld of " + e.Key.Kind + " " + e.Key.String() +
			" does not run here, and the API of its slurmrestd is too old: it takes v0.0.44 or newer"
	case e.Forbidden:
		return "the operator may not run scontrol in pods of namespace " + e.Key.Namespace +
			": add it to the chart's rbac.execNamespaces (--slurm.exec-namespaces)," +
			" or use a slurmrestd that offers v0.0.45"
	case e.NotReady == 0:
		return "Controller " + e.Key.String() + " has no pod of slurmctld"
	}
	return fmt.Sprintf("none of the %d pods of slurmctld of Controller %s is Ready", e.NotReady, e.Key)
}

// streamFunc runs a command in a container of a pod and writes its output to output.
type streamFunc func(
	ctx context.Context, pod *corev1.Pod, container string, argv []string, output *limitedOutput,
) error

// podScontrol runs scontrol in pods.
type podScontrol struct {
	client kubernetes.Interface
	// namespaces are the namespaces where commands may be run.
	namespaces []string
	stream     streamFunc
}

// NewPodScontrol returns a Scontrol that runs in a Ready pod of slurmctld, in the namespace of its
// Controller, as kubectl exec does, and only in the given namespaces. There it needs the rights to
// list pods, and to get (for WebSocket) and create (for SPDY) pods/exec.
func NewPodScontrol(config *rest.Config, namespaces []string) (Scontrol, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for pods: %w", err)
	}
	return &podScontrol{client: client, namespaces: namespaces, stream: newStreamer(config, client)}, nil
}

// scontrolTimeout is the time limit of a command. A kubelet that is away never answers, and the commands wait for
// slurmctld no longer than its MessageTimeout.
const scontrolTimeout = 30 * time.Second

// Run implements Scontrol. Its error is of CodeUnsupported with a *NoPodError if no pod is found, of CodeInvalid if
// scontrol failed, and of CodeUnavailable if it is unknown whether scontrol ran. It blocks for up to scontrolTimeout.
func (p *podScontrol) Run(ctx context.Context, k refs.ClusterKey, args ...string) error {
	const op = "running scontrol"
	ctx, cancel := context.WithTimeoutCause(ctx, scontrolTimeout, fmt.Errorf("no answer within %v", scontrolTimeout))
	defer cancel()
	pod, err := p.readyPod(ctx, k)
	var none *NoPodError
	switch {
	case errors.As(err, &none):
		return &slurmclient.Error{Code: slurmclient.CodeUnsupported, Op: op, Err: none}
	case err != nil:
		return &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: err}
	}
	output := &limitedOutput{}
	err = p.stream(ctx, pod, slurmctldContainerOf(pod), append([]string{"scontrol"}, args...), output)
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return &slurmclient.Error{Code: slurmclient.CodeInvalid, Op: op, Message: output.oneLine()}
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: err}
}

// readyPod returns the first Ready pod of slurmctld by name. If the operator runs slurmctld, it is a pod of its
// StatefulSet, whatever labels other pods have.
func (p *podScontrol) readyPod(ctx context.Context, k refs.ClusterKey) (*corev1.Pod, error) {
	if k.Kind != v1beta1.KindController {
		return nil, &NoPodError{Key: k}
	}
	if !slices.Contains(p.namespaces, k.Namespace) {
		return nil, &NoPodError{Key: k, Forbidden: true}
	}
	selector := labels.Set(names.SlurmctldSelector(k.Name))
	list, err := p.client.CoreV1().Pods(k.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("listing pods of slurmctld: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	pods := slices.DeleteFunc(slices.Clone(list.Items), func(p corev1.Pod) bool { return !isOfStatefulSet(&p, k.Name) })
	if len(pods) == 0 {
		pods = list.Items // slurmctld of an administrator
	}
	for i := range pods {
		if isReady(&pods[i]) {
			return &pods[i], nil
		}
	}
	return nil, &NoPodError{Key: k, NotReady: len(pods)}
}

// isOfStatefulSet reports whether a pod belongs to the StatefulSet of a Controller.
func isOfStatefulSet(pod *corev1.Pod, controller string) bool {
	owner, set := metav1.GetControllerOf(pod), names.ControllerStatefulSet(controller)
	return owner != nil && owner.Kind == "StatefulSet" && owner.Name == set && strings.HasPrefix(pod.Name, set+"-")
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

func slurmctldContainerOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == slurmctldContainer {
			return c.Name
		}
	}
	return pod.Spec.Containers[0].Name
}

// newStreamer returns a function that runs a command over a WebSocket, or over SPDY if a proxy in
// between does not support WebSockets.
func newStreamer(config *rest.Config, client kubernetes.Interface) streamFunc {
	return func(ctx context.Context, pod *corev1.Pod, container string, argv []string, output *limitedOutput) error {
		options := &corev1.PodExecOptions{Container: container, Command: argv, Stdout: true, Stderr: true}
		url := client.CoreV1().RESTClient().Post().
			Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
			VersionedParams(options, scheme.ParameterCodec).URL()
		socket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
		if err != nil {
			return err
		}
		spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
		if err != nil {
			return err
		}
		executor, err := remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
		if err != nil {
			return err
		}
		return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: output, Stderr: output})
	}
}

// maxOutput is the number of bytes that are kept of scontrol's output.
const maxOutput = 4 << 10

// limitedOutput keeps the beginning of its input. It is safe for concurrent use.
type limitedOutput struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write never fails.
func (l *limitedOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p[:min(len(p), maxOutput-l.text.Len())])
	return len(p), nil
}

// oneLine returns the output on one line.
func (l *limitedOutput) oneLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(strings.Fields(l.text.String()), " ")
}

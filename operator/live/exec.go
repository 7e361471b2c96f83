package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// slurmctldContainer is the container of slurmctld in its pods; where none is called so,
// it is the first.
const slurmctldContainer = "slurmctld"

// NoPodError says that there is no pod in which scontrol could be run.
type NoPodError struct {
	Key access.Key
	// Forbidden is true where nothing may be run in the namespace.
	Forbidden bool
	// Seen is how many pods of slurmctld there are, none of them Ready.
	Seen int
}

// Error tells what there should be.
func (e *NoPodError) Error() string {
	switch {
	case e.Key.Kind != v1beta1.KindController:
		return "the slurmctld of " + e.Key.Kind + " " + e.Key.String() + " does not run here, and the API of its slurmrestd is too old: it takes v0.0.44 or newer"
	case e.Forbidden:
		return "the operator may run scontrol in no pod of namespace " + e.Key.Namespace + ": add it to the chart's rbac.execNamespaces (--slurm.exec-namespaces), or use a slurmrestd that offers v0.0.45"
	case e.Seen == 0:
		return "Controller " + e.Key.String() + " has no pod of slurmctld"
	}
	return fmt.Sprintf("none of the %d pods of slurmctld of Controller %s is Ready", e.Seen, e.Key)
}

// podExec runs scontrol in pods.
type podExec struct {
	client kubernetes.Interface
	// namespaces are those in which it may be run.
	namespaces []string
	stream     func(ctx context.Context, pod *corev1.Pod, container string, argv []string, output *limited) error
}

// InPods returns a Scontrol that runs in a Ready pod of slurmctld, in the namespace of its
// Controller, as kubectl exec does, and only in the given namespaces. There it needs to
// list pods, and to get (which a WebSocket begins with) and create pods/exec.
func InPods(config *rest.Config, namespaces []string) (Scontrol, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for pods: %w", err)
	}
	return &podExec{client: client, namespaces: namespaces, stream: streamer(config, client)}, nil
}

// Run implements Scontrol. CodeUnsupported with a *NoPodError when there is no pod,
// CodeInvalid when scontrol refused, CodeUnavailable when it may have been run or not.
func (p *podExec) Run(ctx context.Context, k access.Key, args ...string) error {
	const op = "running scontrol"
	pod, err := p.pod(ctx, k)
	var none *NoPodError
	switch {
	case errors.As(err, &none):
		return &slurmclient.Error{Code: slurmclient.CodeUnsupported, Op: op, Err: none}
	case err != nil:
		return &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: err}
	}
	output := &limited{}
	err = p.stream(ctx, pod, containerOf(pod), append([]string{"scontrol"}, args...), output)
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return &slurmclient.Error{Code: slurmclient.CodeInvalid, Op: op, Message: output.line()}
	}
	return &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: err}
}

// pod is the first Ready pod of slurmctld by name.
func (p *podExec) pod(ctx context.Context, k access.Key) (*corev1.Pod, error) {
	if k.Kind != v1beta1.KindController {
		return nil, &NoPodError{Key: k}
	}
	if !slices.Contains(p.namespaces, k.Namespace) {
		return nil, &NoPodError{Key: k, Forbidden: true}
	}
	selector := labels.Set{v1beta1.LabelAppName: v1beta1.AppSlurmctld, v1beta1.LabelCluster: k.Name}
	list, err := p.client.CoreV1().Pods(k.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("listing pods of slurmctld: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		if ready(&list.Items[i]) {
			return &list.Items[i], nil
		}
	}
	return nil, &NoPodError{Key: k, Seen: len(list.Items)}
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func containerOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == slurmctldContainer {
			return c.Name
		}
	}
	return pod.Spec.Containers[0].Name
}

// streamer runs a command over a WebSocket, or SPDY where something in between knows none.
func streamer(config *rest.Config, client kubernetes.Interface) func(context.Context, *corev1.Pod, string, []string, *limited) error {
	return func(ctx context.Context, pod *corev1.Pod, container string, argv []string, output *limited) error {
		url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Container: container, Command: argv, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
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

// mostOutput is how much of what scontrol prints is kept.
const mostOutput = 4 << 10

// limited keeps the beginning of what is written to it, by any number of goroutines.
type limited struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write never fails.
func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p[:min(len(p), mostOutput-l.text.Len())])
	return len(p), nil
}

// line is what was printed, on one line.
func (l *limited) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(strings.Fields(l.text.String()), " ")
}

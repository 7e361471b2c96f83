package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// Exec is a command to run in a container.
type Exec struct {
	Namespace, Pod, Container string
	Command                   []string
	In                        io.Reader // nil for none
	Out, Err                  io.Writer
	// Terminal gives the command a terminal, with the sizes of Sizes.
	Terminal bool
	Sizes    remotecommand.TerminalSizeQueue
}

// ExitError reports that a command ended with another status than 0.
type ExitError struct{ Status int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("the command ended with exit status %d", e.Status)
}

// Exec runs a command in a container as kubectl exec does: over a WebSocket, or over SPDY if a proxy in between does not
// support WebSockets. The error is an *ExitError if the command ended with another status than 0.
func (a *API) Exec(ctx context.Context, e Exec) error {
	options := &corev1.PodExecOptions{Container: e.Container, Command: e.Command, Stdin: e.In != nil, Stdout: true,
		Stderr: !e.Terminal, TTY: e.Terminal}
	target := a.client.Post().AbsPath("api", "v1", "namespaces", e.Namespace, "pods", e.Pod, "exec").
		SpecificallyVersionedParams(options, scheme.ParameterCodec, corev1.SchemeGroupVersion).URL()
	executor, err := a.newExecutor(target)
	if err != nil {
		return fmt.Errorf("running a command in pod %s: %w", e.Pod, err)
	}
	streams := remotecommand.StreamOptions{Stdin: e.In, Stdout: e.Out, Stderr: e.Err, Tty: e.Terminal,
		TerminalSizeQueue: e.Sizes}
	if e.Terminal {
		streams.Stderr = nil
	}
	err = executor.StreamWithContext(ctx, streams)
	var exit utilexec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return &ExitError{Status: exit.ExitStatus()}
	}
	if err != nil {
		return fmt.Errorf("running a command in pod %s: %w", e.Pod, err)
	}
	return nil
}

func (a *API) newExecutor(target *url.URL) (remotecommand.Executor, error) {
	socket, err := remotecommand.NewWebSocketExecutor(a.config, http.MethodGet, target.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(a.config, http.MethodPost, target)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

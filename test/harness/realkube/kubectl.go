package realkube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

// Kubectl runs kubectl as the administrator and returns its output. An error contains its standard
// error. Tests ask with get and exec again and again, so these run in this process, from kubectl's own
// packages: the program takes half a second of a processor for its start alone.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	if !isQuestion(args) {
		return instance.RunCommand(ctx, c.toolCommand(ctx, "kubectl", args...))
	}
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := c.runQuestion(args)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done(): // kubectl's packages know no context
		return "", fmt.Errorf("running kubectl %s: %w", strings.Join(args, " "), context.Cause(ctx))
	}
}

// isQuestion reports whether kubectl's command is get or exec. Only the namespace may stand before it.
func isQuestion(args []string) bool {
	if len(args) > 2 && (args[0] == "--namespace" || args[0] == "-n") {
		args = args[2:]
	}
	return len(args) > 0 && (args[0] == "get" || args[0] == "exec")
}

// failure is what kubectl's packages panic with in the place of ending the process.
type failure string

// panicOnFailure sets that for the whole process.
var panicOnFailure = sync.OnceFunc(func() {
	util.BehaviorOnFatal(func(message string, _ int) { panic(failure(message)) })
})

// runQuestion runs get or exec in this process.
func (c *Cluster) runQuestion(args []string) (string, error) {
	var stdout, stderr bytes.Buffer
	kubectl := c.newKubectl(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr})
	kubectl.SetArgs(args)
	if err := executeCommand(kubectl); err != nil {
		return stdout.String(), fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// executeCommand runs a command of kubectl. Some of its errors are returned, and some are failures.
func executeCommand(command *cobra.Command) (err error) {
	panicOnFailure()
	defer func() {
		if problem := recover(); problem != nil {
			message, ok := problem.(failure)
			if !ok {
				panic(problem)
			}
			err = errors.New(string(message))
		}
	}()
	return command.Execute()
}

// newKubectl returns kubectl with the commands get and exec.
func (c *Cluster) newKubectl(streams genericiooptions.IOStreams) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	*flags.KubeConfig, *flags.CacheDir = c.Kubeconfig(), filepath.Join(c.Dir, "cache")
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1
		config.WarningHandler = rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		return config
	}
	kubectl := &cobra.Command{Use: "kubectl", SilenceErrors: true, SilenceUsage: true}
	kubectl.SetOut(io.Discard)
	kubectl.SetErr(streams.ErrOut)
	flags.AddFlags(kubectl.PersistentFlags())
	factory := util.NewFactory(util.NewMatchVersionFlags(flags))
	kubectl.AddCommand(get.NewCmdGet("kubectl", factory, streams), exec.NewCmdExec(factory, streams))
	return kubectl
}

package realkube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/logs"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/scale"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

// commands are the kubectl commands that run in this process, from kubectl's own packages. Tests need them often, and starting the program
// takes half a second of processor time.
var commands = map[string]func(util.Factory, genericiooptions.IOStreams) *cobra.Command{
	"annotate": func(f util.Factory, s genericiooptions.IOStreams) *cobra.Command {
		return annotate.NewCmdAnnotate("kubectl", f, s)
	},
	"apply": func(f util.Factory, s genericiooptions.IOStreams) *cobra.Command {
		return apply.NewCmdApply("kubectl", f, s)
	},
	"create": create.NewCmdCreate,
	"delete": delete.NewCmdDelete,
	"exec":   exec.NewCmdExec,
	"get": func(f util.Factory, s genericiooptions.IOStreams) *cobra.Command {
		return get.NewCmdGet("kubectl", f, s)
	},
	"label": label.NewCmdLabel,
	"logs":  logs.NewCmdLogs,
	"patch": patch.NewCmdPatch,
	"scale": scale.NewCmdScale,
}

// Kubectl runs kubectl as the administrator and returns its output. An error contains its standard
// error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	command := commandOf(args)
	if commands[command] == nil {
		return instance.RunCommand(ctx, c.toolCommand(ctx, "kubectl", args...))
	}
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := c.runHere(command, args)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done(): // kubectl's packages know no context
		return "", fmt.Errorf("running kubectl %s: %w", strings.Join(args, " "), context.Cause(ctx))
	}
}

// commandOf returns kubectl's command. Only the namespace may stand before it.
func commandOf(args []string) string {
	if len(args) > 2 && (args[0] == "--namespace" || args[0] == "-n") {
		args = args[2:]
	}
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// failure is the value with which kubectl's packages panic instead of ending the process.
type failure string

// panicOnFailure sets that for the whole process.
var panicOnFailure = sync.OnceFunc(func() {
	util.BehaviorOnFatal(func(message string, _ int) { panic(failure(message)) })
})

// runHere runs one of commands.
func (c *Cluster) runHere(command string, args []string) (string, error) {
	var stdout, stderr bytes.Buffer
	kubectl, err := c.newKubectl(command, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr})
	if err != nil {
		return "", err
	}
	kubectl.SetArgs(args)
	if err := executeCommand(kubectl); err != nil {
		return stdout.String(), fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// executeCommand runs a kubectl command. It returns the command's errors, including those that kubectl would exit with.
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

// newKubectl returns kubectl with one of commands. exec cannot share connections. Commands that change no object may use the kinds of a
// second ago: get is repeated, and the others use only pods.
func (c *Cluster) newKubectl(command string, streams genericiooptions.IOStreams) (*cobra.Command, error) {
	shared, err := c.shared()
	if err != nil {
		return nil, err
	}
	flags := genericclioptions.NewConfigFlags(true)
	*flags.KubeConfig = c.Kubeconfig()
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1
		config.UserAgent = "kubectl" // the manager of what scale writes
		config.WarningHandler = rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		if command != "exec" {
			config.Transport, config.TLSClientConfig = shared.transport, rest.TLSClientConfig{}
		} else {
			config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		}
		return config
	}
	kinds := shared.kinds
	if command != "get" && command != "exec" && command != "logs" {
		kinds = &kindsCache{CachedDiscoveryInterface: memory.NewMemCacheClient(shared.discovery)}
	}
	kubectl := &cobra.Command{Use: "kubectl", SilenceErrors: true, SilenceUsage: true}
	kubectl.SetOut(io.Discard)
	kubectl.SetErr(streams.ErrOut)
	flags.AddFlags(kubectl.PersistentFlags())
	factory := util.NewFactory(util.NewMatchVersionFlags(restGetter{flags, kinds}))
	kubectl.AddCommand(commands[command](factory, streams))
	return kubectl, nil
}

// sharedClient contains what the commands in this process share: connections, and the kinds of the API server. Opening a connection and
// reading all kinds costs more than a request.
type sharedClient struct {
	transport http.RoundTripper
	discovery discovery.DiscoveryInterface
	kinds     *kindsCache
}

func (c *Cluster) newSharedClient() (*sharedClient, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a transport: %w", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	return &sharedClient{transport, client, &kindsCache{CachedDiscoveryInterface: memory.NewMemCacheClient(client)}}, nil
}

// kindsCache makes its readers try again after a kind was not found, which may be new, but not more often than once a
// second.
type kindsCache struct {
	discovery.CachedDiscoveryInterface
	mu   sync.Mutex
	read time.Time
}

// Fresh reports whether the kinds were read within the last second.
func (k *kindsCache) Fresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.read) < time.Second
}

// Invalidate has the kinds read again.
func (k *kindsCache) Invalidate() {
	k.mu.Lock()
	k.read = time.Now()
	k.mu.Unlock()
	k.CachedDiscoveryInterface.Invalidate()
}

// restGetter has kubectl's packages use these kinds.
type restGetter struct {
	*genericclioptions.ConfigFlags
	kinds *kindsCache
}

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g restGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.kinds, nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g restGetter) ToRESTMapper() (meta.RESTMapper, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(g.kinds)
	return restmapper.NewShortcutExpander(mapper, g.kinds, nil), nil
}

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
	"k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

// Kubectl runs kubectl as the administrator and returns its output. An error contains its standard
// error. Tests ask with get and exec again and again, so these run in this process, from kubectl's own
// packages: the program takes half a second of a processor for its start alone.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	command := questionOf(args)
	if command == "" {
		return instance.RunCommand(ctx, c.toolCommand(ctx, "kubectl", args...))
	}
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := c.runQuestion(args, command == "get")
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done(): // kubectl's packages know no context
		return "", fmt.Errorf("running kubectl %s: %w", strings.Join(args, " "), context.Cause(ctx))
	}
}

// questionOf returns kubectl's command if it is get or exec. Only the namespace may stand before it.
func questionOf(args []string) string {
	if len(args) > 2 && (args[0] == "--namespace" || args[0] == "-n") {
		args = args[2:]
	}
	if len(args) > 0 && (args[0] == "get" || args[0] == "exec") {
		return args[0]
	}
	return ""
}

// failure is what kubectl's packages panic with in the place of ending the process.
type failure string

// panicOnFailure sets that for the whole process.
var panicOnFailure = sync.OnceFunc(func() {
	util.BehaviorOnFatal(func(message string, _ int) { panic(failure(message)) })
})

// runQuestion runs get or exec in this process.
func (c *Cluster) runQuestion(args []string, shareConnections bool) (string, error) {
	var stdout, stderr bytes.Buffer
	kubectl, err := c.newKubectl(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr},
		shareConnections)
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

// newKubectl returns kubectl with the commands get and exec. The connections of exec cannot be shared.
func (c *Cluster) newKubectl(streams genericiooptions.IOStreams, shareConnections bool) (*cobra.Command, error) {
	shared, err := c.shared()
	if err != nil {
		return nil, err
	}
	flags := genericclioptions.NewConfigFlags(true)
	*flags.KubeConfig = c.Kubeconfig()
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1
		config.WarningHandler = rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		if shareConnections {
			config.Transport, config.TLSClientConfig = shared.transport, rest.TLSClientConfig{}
		} else {
			config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		}
		return config
	}
	kubectl := &cobra.Command{Use: "kubectl", SilenceErrors: true, SilenceUsage: true}
	kubectl.SetOut(io.Discard)
	kubectl.SetErr(streams.ErrOut)
	flags.AddFlags(kubectl.PersistentFlags())
	factory := util.NewFactory(util.NewMatchVersionFlags(restGetter{flags, shared}))
	kubectl.AddCommand(get.NewCmdGet("kubectl", factory, streams), exec.NewCmdExec(factory, streams))
	return kubectl, nil
}

// sharedClient is what the commands in this process share: the connections of get, and the kinds of the API server.
// To open a connection and to read all kinds cost more than the question.
type sharedClient struct {
	transport http.RoundTripper
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
	return &sharedClient{transport, &kindsCache{CachedDiscoveryInterface: memory.NewMemCacheClient(client)}}, nil
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

// restGetter has kubectl's packages use the shared kinds.
type restGetter struct {
	*genericclioptions.ConfigFlags
	shared *sharedClient
}

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g restGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.shared.kinds, nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g restGetter) ToRESTMapper() (meta.RESTMapper, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(g.shared.kinds)
	return restmapper.NewShortcutExpander(mapper, g.shared.kinds, nil), nil
}

package realkube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	return filepath.Join(c.Dir, "pki", "admin.kubeconfig")
}

// RESTConfig returns the administrator's client configuration, without rate limit and without
// proxy.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	return config, nil
}

// WriteKubeconfig writes a kubeconfig with a token of a service account that is valid for half a
// day.
func (c *Cluster) WriteKubeconfig(ctx context.Context, namespace, account, path string) error {
	token, err := c.Kubectl(ctx, "create", "token", account, "--namespace", namespace, "--duration=12h")
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: strings.TrimSpace(token)}
	}
	return clientcmd.WriteToFile(*config, path)
}

// Helm runs helm as the administrator and returns its output. An error contains its standard
// error. Each cluster has its own Helm caches.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	return instance.RunCommand(ctx, c.toolCommand(ctx, "helm", args...))
}

// Apply creates or updates the objects of a YAML text, which may contain several documents.
func (c *Cluster) Apply(ctx context.Context, yaml string) error {
	file, err := os.CreateTemp(c.Dir, "apply-*.yaml") // kubectl's package reads only the process's own input
	if err != nil {
		return fmt.Errorf("applying: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the cluster's folder is removed
	if _, err := file.WriteString(yaml); err != nil {
		return fmt.Errorf("applying: %w", errors.Join(err, file.Close()))
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("applying: %w", err)
	}
	_, err = c.Kubectl(ctx, "apply", "--filename", file.Name())
	return err
}

// ExposeLocal creates a Service in an existing namespace through which APIServices and webhooks
// reach a server that listens on HostAddress of this machine. The server's certificate must be
// valid for SERVICE.NAMESPACE.svc. With a node, pods reach the server too.
func (c *Cluster) ExposeLocal(ctx context.Context, namespace, service string, port int) error {
	return c.Apply(ctx, localServiceManifest(namespace, service, c.HostAddress, port))
}

// localServiceManifest returns the objects of ExposeLocal. Endpoints cannot be loopback addresses,
// but the aggregator of a cluster without a node resolves the Service's name.
func localServiceManifest(namespace, service, address string, port int) string {
	if address == "127.0.0.1" {
		return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %q, namespace: %q}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %d}]}
`, service, namespace, port)
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[1]q, namespace: %[2]q}
spec: {ports: [{port: %[4]d}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]q, namespace: %[2]q, labels: {kubernetes.io/service-name: %[1]q}}
addressType: IPv4
ports: [{port: %[4]d, protocol: TCP}]
endpoints: [{addresses: [%[3]q], conditions: {ready: true}}]
`, service, namespace, address, port)
}

// LoadImage loads a container image of one layer into the node: the files of a folder, and the
// command that it runs. A name is, for example, localhost/worker:1. Pods use the image with
// imagePullPolicy Never. The image localhost/busybox:1 is always present.
func (c *Cluster) LoadImage(ctx context.Context, name, folder string, words ...string) error {
	_, err := c.RunScript(ctx, "image", append([]string{"--dir", c.Dir, name, folder}, words...)...)
	return err
}

// LoadImages builds images as `make images` does and loads them into the node. It loads one of our programs, such as slurm-operator, as
// localhost/slurm-operator:dev, and a Slurm version, such as slurmd:26.05, as localhost/slurmd:26.05. Building a Slurm version for the
// first time takes half a minute. LoadImages skips images that the node already has.
func (c *Cluster) LoadImages(ctx context.Context, images ...string) error {
	_, err := c.RunScript(ctx, "../images/load", append([]string{"--dir", c.Dir}, images...)...)
	return err
}

// CommandEnv returns the variables that programs need, besides this process's environment, to use this cluster as the administrator. A
// discovery cache of an earlier cluster on the same port would list that cluster's resources.
func (c *Cluster) CommandEnv() []string {
	cache := filepath.Join(c.Dir, "cache")
	return []string{"KUBECONFIG=" + c.Kubeconfig(), "KUBECACHEDIR=" + cache, "NO_PROXY=" + c.HostAddress,
		"HELM_CACHE_HOME=" + cache, "HELM_CONFIG_HOME=" + cache, "HELM_DATA_HOME=" + cache}
}

// toolCommand returns a command that uses only files of this cluster.
func (c *Cluster) toolCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Dir, "bin", name), args...)
	cmd.Env = append(os.Environ(), c.CommandEnv()...)
	return cmd
}

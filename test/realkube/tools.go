package realkube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	return filepath.Join(c.Dir, "pki", "admin.kubeconfig")
}

// RESTConfig is what the administrator's clients are made of. It does not limit
// their rate.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Kubectl runs kubectl as the administrator and returns what it printed; an
// error holds what it complained about.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return output(ctx, c.tool(ctx, "kubectl", args...))
}

// Helm runs helm as the administrator and returns what it printed; an error
// holds what it complained about. Its caches are the cluster's own.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	return output(ctx, c.tool(ctx, "helm", args...))
}

// Apply makes or changes the objects of a YAML text, which may hold several
// documents.
func (c *Cluster) Apply(ctx context.Context, yaml string) error {
	kubectl := c.tool(ctx, "kubectl", "apply", "--filename", "-")
	kubectl.Stdin = strings.NewReader(yaml)
	_, err := output(ctx, kubectl)
	return err
}

// ExposeLocal makes a Service, in a namespace that exists, by which APIServices
// and webhooks reach a server that listens on this machine's loopback: they name
// that Service and port. The server's certificate must be good for
// SERVICE.NAMESPACE.svc.
func (c *Cluster) ExposeLocal(ctx context.Context, namespace, service string, port int) error {
	return c.Apply(ctx, fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %q, namespace: %q}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %d}]}
`, service, namespace, port))
}

// tool is a command whose every file is the cluster's own: a discovery cache of
// an earlier cluster on the same port would tell of its resources.
func (c *Cluster) tool(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Dir, "bin", name), args...)
	cache := filepath.Join(c.Dir, "cache")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBECACHEDIR="+cache,
		"HELM_CACHE_HOME="+cache, "HELM_CONFIG_HOME="+cache, "HELM_DATA_HOME="+cache)
	return cmd
}

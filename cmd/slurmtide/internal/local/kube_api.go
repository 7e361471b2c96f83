package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// errNotFound is the error of an object that Kubernetes does not have.
var errNotFound = errors.New("not found")

// kubeAPI reads from a Kubernetes API server. Objects are decoded into the caller's types.
type kubeAPI struct {
	server string
	client *http.Client
}

// connectKube returns a client for a kubeconfig. It uses no proxy.
func connectKube(kubeconfig string) (*kubeAPI, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	return &kubeAPI{server: strings.TrimSuffix(config.Host, "/"), client: client}, nil
}

// get reads the object at a path. The error wraps errNotFound if the object does not exist.
func (a *kubeAPI) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("requesting from Kubernetes: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("reading the response of Kubernetes: %w", err)
	case response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", path, errNotFound)
	case response.StatusCode != http.StatusOK:
		var status struct{ Message string }
		_ = json.Unmarshal(body, &status)
		return fmt.Errorf("requesting %s from Kubernetes: %s: %s", path, response.Status, status.Message)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding the response of Kubernetes: %w", err)
	}
	return nil
}

// slinkyPath returns the path of all objects of a custom resource in the namespace.
func slinkyPath(resource string) string {
	return "/apis/slinky.slurm.net/v1beta1/namespaces/" + namespace + "/" + resource
}

// The metrics of a NodeSet that the demo reads.
const (
	metricRequired      = "slurm_nodeset_required_nodes"
	metricUnsatisfiable = "slurm_nodeset_unsatisfiable_jobs"
)

// metricValue reads a custom metric of a NodeSet object. The value must be a whole number.
func (l *Demo) metricValue(ctx context.Context, nodeSet, name string) (int, error) {
	var list struct{ Items []struct{ Value string } }
	path := fmt.Sprintf("/apis/custom.metrics.k8s.io/v1beta2/namespaces/%s/nodesets.slinky.slurm.net/%s/%s", namespace,
		nodeSet, name)
	if err := l.kube.get(ctx, path, &list); err != nil {
		return 0, err
	}
	if len(list.Items) != 1 {
		return 0, fmt.Errorf("the metric %s of %s has %d values", name, nodeSet, len(list.Items))
	}
	return parseWholeNumber(list.Items[0].Value)
}

// parseWholeNumber parses a quantity without a unit.
func parseWholeNumber(text string) (int, error) {
	var n int
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil || fmt.Sprint(n) != text {
		return 0, fmt.Errorf("the value %q is not a whole number", text)
	}
	return n, nil
}

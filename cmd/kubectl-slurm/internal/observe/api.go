package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// API reads from one Kubernetes API server. It is safe for concurrent use.
type API struct {
	client   rest.Interface
	config   *rest.Config
	warnings *warnings
}

// New returns an API with the address and the credentials of cfg. It sends no request.
func New(cfg *rest.Config) (*API, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.AcceptContentTypes = "application/json"
	cfg.ContentType = "application/json"
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = 50, 100
	}
	said := &warnings{}
	cfg.WarningHandler, cfg.WarningHandlerWithContext = said, nil
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &API{client: client, config: cfg, warnings: said}, nil
}

// Scope selects the objects of a list.
type Scope struct {
	// Namespace is empty for all.
	Namespace string
	// Labels and Fields are selectors, empty for none.
	Labels, Fields string
}

// pageSize is the number of objects per request.
const pageSize = 500

// page is a list of any resource.
type page[T any] struct {
	metav1.ListMeta `json:"metadata"`
	Items           []T `json:"items"`
}

// listAll reads all objects of a resource page by page. If the list expires meanwhile, it reads it
// again in one request.
func listAll[T any](ctx context.Context, a *API, r schema.GroupVersionResource, s Scope) ([]T, error) {
	out, err := listPages[T](ctx, a, r, s, pageSize)
	if apierrors.IsResourceExpired(err) {
		out, err = listPages[T](ctx, a, r, s, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", r.GroupResource(), err)
	}
	return out, nil
}

func listPages[T any](ctx context.Context, a *API, r schema.GroupVersionResource, s Scope, limit int) ([]T, error) {
	var out []T
	for next := ""; ; {
		var p page[T]
		if err := a.get(ctx, pathOf(r, s.Namespace, ""), queryParams(s, limit, next), &p); err != nil {
			return nil, err
		}
		out = append(out, p.Items...)
		if next = p.Continue; next == "" {
			return out, nil
		}
	}
}

func queryParams(s Scope, limit int, next string) map[string]string {
	out := map[string]string{"labelSelector": s.Labels, "fieldSelector": s.Fields, "continue": next}
	if limit > 0 {
		out["limit"] = strconv.Itoa(limit)
	}
	return out
}

// getObject reads one object.
func getObject[T any](ctx context.Context, a *API, r schema.GroupVersionResource, namespace, name string) (*T, error) {
	out := new(T)
	if err := a.get(ctx, pathOf(r, namespace, name), nil, out); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", r.GroupResource(), name, err)
	}
	return out, nil
}

func (a *API) get(ctx context.Context, path []string, args map[string]string, into any) error {
	req := a.client.Get().AbsPath(path...)
	for name, value := range args {
		if value != "" {
			req = req.Param(name, value)
		}
	}
	body, err := rawBody(req.Do(ctx))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}

// rawBody returns the body of the response. Unlike Raw alone, its error contains the server's
// message.
func rawBody(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

func pathOf(r schema.GroupVersionResource, namespace, name string) []string {
	out := []string{"apis", r.Group, r.Version}
	if r.Group == "" {
		out = []string{"api", r.Version}
	}
	if namespace != "" {
		out = append(out, "namespaces", namespace)
	}
	out = append(out, r.Resource)
	if name != "" {
		out = append(out, name)
	}
	return out
}

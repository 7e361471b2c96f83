//go:build e2e

package adapter

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// versions are the served versions of custom.metrics.k8s.io.
var versions = []string{"v1beta1", "v1beta2"}

// metricItem is an item of a MetricValueList of either version.
type metricItem struct {
	DescribedObject struct{ Kind, Namespace, Name, APIVersion string }
	MetricName      string
	Metric          struct{ Name string }
	MetricLabels    map[string]string
	Timestamp       time.Time
	Value           string
}

// query is a request to the custom metrics API. namespace is empty if the resource is namespaces.
type query struct {
	namespace, resource, name, metric string
	labels, metricLabels              string
}

func (q query) path(version string) string {
	path := "/apis/custom.metrics.k8s.io/" + version + "/namespaces/"
	if q.resource == "namespaces" {
		path += q.name + "/metrics/" + q.metric
	} else {
		path += q.namespace + "/" + q.resource + "/" + q.name + "/" + q.metric
	}
	args := url.Values{}
	if q.labels != "" {
		args.Set("labelSelector", q.labels)
	}
	if q.metricLabels != "" {
		args.Set("metricLabelSelector", q.metricLabels)
	}
	if len(args) > 0 {
		path += "?" + args.Encode()
	}
	return path
}

// getMetrics requests a path as kubectl get --raw does.
func (s *env) getMetrics(t *testing.T, path string) ([]metricItem, error) {
	t.Helper()
	result := s.client.Get().RequestURI(path).Do(t.Context())
	if err := result.Error(); err != nil {
		return nil, fmt.Errorf("(%s): %w", apierrors.ReasonForError(err), err)
	}
	out, err := result.Raw()
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []metricItem }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%s: %v: %s", path, err, out)
	}
	return list.Items, nil
}

// valuesByName runs the query and returns the values by object name.
func (s *env) valuesByName(t *testing.T, version string, q query) (map[string]string, error) {
	t.Helper()
	items, err := s.getMetrics(t, q.path(version))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range items {
		if name := v.MetricName + v.Metric.Name; name != q.metric {
			t.Errorf("%s returned the metric %s", q.path(version), name)
		}
		if age := time.Since(v.Timestamp); age < 0 || age > maxAge+2*time.Second {
			t.Errorf("%s is %v old", q.path(version), age)
		}
		out[v.DescribedObject.Name] = v.Value
	}
	return out, nil
}

// checkValue returns an error unless the query returns exactly one value, equal to want.
func (s *env) checkValue(t *testing.T, q query, want string) error {
	t.Helper()
	got, err := s.valuesByName(t, "v1beta2", q)
	if err != nil {
		return err
	}
	if len(got) != 1 || got[q.name] != want {
		return fmt.Errorf("%s returned %v, want %s", q.path("v1beta2"), got, want)
	}
	return nil
}

// checkFailure returns an error unless the query fails with an error that contains all the words.
func (s *env) checkFailure(t *testing.T, q query, words ...string) error {
	t.Helper()
	got, err := s.valuesByName(t, "v1beta2", q)
	if err == nil {
		return fmt.Errorf("%s returned %v, want an error", q.path("v1beta2"), got)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return fmt.Errorf("%q is missing in the error: %w", w, err)
		}
	}
	return nil
}

package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ExampleHPA returns an HPA of docs/examples/hpa, adapted to our namespace and maximum, with a
// stabilization window in seconds.
func ExampleHPA(name string, window int64) (string, error) {
	dir, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "docs", "examples", "hpa", name+".yaml"))
	if err != nil {
		return "", err
	}
	names := strings.NewReplacer("name: gpu", "name: "+NodeSet, "partition: gpu", "partition: "+NodeSet)
	text = []byte(names.Replace(string(text)))
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
		return "", fmt.Errorf("reading %s.yaml: %w", name, err)
	}
	object.SetNamespace(Namespace)
	for _, change := range []struct {
		value int64
		path  []string
	}{
		{MaxWorkers, []string{"spec", "maxReplicas"}},
		{window, []string{"spec", "behavior", "scaleDown", "stabilizationWindowSeconds"}},
	} {
		if err := unstructured.SetNestedField(object.Object, change.value, change.path...); err != nil {
			return "", err
		}
	}
	out, err := yaml.Marshal(object.Object)
	return string(out), err
}

// ApplyHPA applies an example with a stabilization window of WindowSeconds and waits until the HPA
// can scale.
func (l *Loop) ApplyHPA(ctx context.Context, name string) error {
	return l.ApplyHPAWithWindow(ctx, name, WindowSeconds)
}

// ApplyHPAWithWindow applies an example with a stabilization window in seconds and waits until the
// HPA can scale.
func (l *Loop) ApplyHPAWithWindow(ctx context.Context, name string, window int64) error {
	text, err := ExampleHPA(name, window)
	if err != nil {
		return err
	}
	if err := l.Kube.Apply(ctx, text); err != nil {
		return err
	}
	return l.awaitHPA(ctx)
}

// awaitHPA waits until the HPA controller knows the NodeSet kind. It discovers new kinds every 30
// s.
func (l *Loop) awaitHPA(ctx context.Context) error {
	var conditions map[string]string
	for range 600 {
		var err error
		if conditions, err = l.HPAConditions(ctx); err != nil {
			return err
		}
		if strings.HasPrefix(conditions["AbleToScale"], "True") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the HPA cannot scale: %v", conditions)
}

// WindowSeconds is the stabilization window that ApplyHPA sets.
const WindowSeconds = 3

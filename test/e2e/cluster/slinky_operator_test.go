//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const (
	// slinkyManager is the field manager of Slinky's operator.
	slinkyManager = client.FieldOwner("slurm-operator")
	// slinkyRevision is the revision that it gives all workers.
	slinkyRevision = "5d9c7b8f6"
)

// slinkyOperator stands in for Slinky's operator, as its documentation describes its objects. It creates the objects of a Controller, an
// Accounting, a RestApi and NodeSets, corrects them every second, replaces workers of other revisions, and writes every status.
type slinkyOperator struct {
	*env
	client  client.Client
	version string
	objects []*unstructured.Unstructured
	rounds  atomic.Int64
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	// problem is the error of the last round. It is read when the operator has stopped.
	problem error
}

// newSlinkyOperator returns the stand-in for the objects of a namespace.
func newSlinkyOperator(e *env, version string) *slinkyOperator {
	e.Helper()
	config, err := e.kube.RESTConfig()
	must(e.T, err)
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	must(e.T, err)
	s := &slinkyOperator{env: e, client: c, version: version}
	text := &bytes.Buffer{}
	must(e.T, template.Must(template.ParseFiles(filepath.Join("testdata", "slinky-operator.yaml"))).Execute(text, map[string]any{
		"Controller": s.valuesOf("Controller", v1beta1.AppSlurmctld, "controller"),
		"Accounting": s.valuesOf("Accounting", v1beta1.AppSlurmdbd, "accounting"),
		"RestAPI":    s.valuesOf("RestApi", v1beta1.AppSlurmrestd, "restapi"),
	}))
	for document := range strings.SplitSeq(text.String(), "\n---\n") {
		s.objects = append(s.objects, e.parseObject(document))
	}
	return s
}

// parseObject parses an object in YAML.
func (e *env) parseObject(text string) *unstructured.Unstructured {
	e.Helper()
	out := &unstructured.Unstructured{}
	must(e.T, yaml.Unmarshal([]byte(text), &out.Object))
	return out
}

// daemonValues are what the objects of a daemon are rendered from.
type daemonValues struct{ Namespace, Kind, UID, App, Component, Image, ExtraConf string }

// Workers returns the values that the workers of a Controller share.
func (v daemonValues) Workers() daemonValues {
	v.App, v.Component = v1beta1.AppSlurmd, "worker"
	return v
}

// valuesOf returns the values of the daemon of an object. As in cluster.yaml, some daemons use slurmd's image.
func (s *slinkyOperator) valuesOf(kind, app, component string) daemonValues {
	image := app
	if s.version != versions[0] && app != v1beta1.AppSlurmdbd {
		image = v1beta1.AppSlurmd
	}
	return daemonValues{Namespace: s.namespace, Kind: kind, App: app, Component: component,
		UID:       s.kubectl("get", strings.ToLower(kind), "slurm", "-o", "jsonpath={.metadata.uid}"),
		Image:     "localhost/" + image + ":" + s.version,
		ExtraConf: "    " + strings.ReplaceAll(strings.TrimSpace(s.extraConf), "\n", "\n    ")}
}

// start runs the stand-in until stop.
func (s *slinkyOperator) start() {
	ctx, cancel := context.WithCancel(s.Context())
	s.cancel = cancel
	s.wg.Go(func() {
		for ctx.Err() == nil {
			if err := s.reconcile(ctx); ctx.Err() == nil {
				s.problem = err
			}
			s.rounds.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
}

// stop ends the stand-in. Its last round must have succeeded.
func (s *slinkyOperator) stop() {
	s.Helper()
	s.cancel()
	s.wg.Wait()
	if s.problem != nil {
		s.Errorf("the last round of the stand-in: %v", s.problem)
	}
}

// awaitRounds waits until the stand-in has corrected everything several times more.
func (s *slinkyOperator) awaitRounds(n int64) {
	for end := s.rounds.Load() + n; s.rounds.Load() < end; {
		time.Sleep(100 * time.Millisecond)
	}
}

func (s *slinkyOperator) reconcile(ctx context.Context) error {
	for _, object := range s.objects {
		if err := s.correct(ctx, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for _, kind := range []string{"Controller", "Accounting", "RestApi"} {
		if err := s.writeCondition(ctx, kind); err != nil {
			return fmt.Errorf("the status of the %s: %w", kind, err)
		}
	}
	for _, name := range []string{"burst", "pool", "w"} {
		if err := s.reconcileNodeSet(ctx, name); err != nil {
			return fmt.Errorf("NodeSet %s: %w", name, err)
		}
	}
	return nil
}

// correct creates an object, or applies the parts that the operator wants. Other owners, labels and annotations stay.
func (s *slinkyOperator) correct(ctx context.Context, want *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(want.GroupVersionKind())
	err := s.client.Get(ctx, client.ObjectKeyFromObject(want), live)
	if apierrors.IsNotFound(err) {
		return s.client.Create(ctx, want.DeepCopy(), slinkyManager)
	} else if err != nil {
		return err
	}
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.GetLabels())
	live.SetLabels(labels)
	for _, path := range map[string][][]string{
		"ConfigMap": {{"data"}}, "PodDisruptionBudget": {{"spec"}},
		"Service":     {{"spec", "selector"}, {"spec", "ports"}},
		"StatefulSet": {{"spec", "template"}, {"spec", "replicas"}},
		"Deployment":  {{"spec", "template"}, {"spec", "replicas"}},
	}[want.GetKind()] {
		value, _, err := unstructured.NestedFieldCopy(want.Object, path...)
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(live.Object, value, path...); err != nil {
			return err
		}
	}
	return s.client.Update(ctx, live, slinkyManager)
}

// writeCondition writes the stand-in's condition into the status of a daemon's object.
func (s *slinkyOperator) writeCondition(ctx context.Context, kind string) error {
	object := newCustomResource(kind)
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "slurm"}, object); err != nil {
		return err
	}
	const own = "Reconciled"
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	conditions = slices.DeleteFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == own
	})
	conditions = append(conditions, map[string]any{"type": own, "status": "True", "message": "",
		"reason": fmt.Sprintf("Round%d", s.rounds.Load()), "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
	if err := unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	return s.client.Status().Update(ctx, object, slinkyManager)
}

func newCustomResource(kind string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(kind))
	return out
}

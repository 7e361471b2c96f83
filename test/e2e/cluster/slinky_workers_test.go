//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// reconcileNodeSet deletes workers of other revisions, creates missing ones, and writes the status.
func (s *slinkyOperator) reconcileNodeSet(ctx context.Context, name string) error {
	nodeSet := newCustomResource(v1beta1.KindNodeSet)
	pods := &unstructured.UnstructuredList{}
	pods.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "PodList"})
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, nodeSet); err != nil {
		return err
	}
	if err := s.client.List(ctx, pods, client.InNamespace(s.namespace), client.MatchingLabels{
		v1beta1.LabelAppName: v1beta1.AppSlurmd, v1beta1.LabelAppInstance: name}); err != nil {
		return err
	}
	var names []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		names = append(names, pod.GetName())
		if pod.GetLabels()["controller-revision-hash"] != slinkyRevision {
			return s.client.Delete(ctx, pod)
		}
	}
	replicas, _, err := unstructured.NestedInt64(nodeSet.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	for ordinal := 0; len(names) < int(replicas); ordinal++ {
		pod := fmt.Sprintf("%s-%d", name, ordinal)
		if slices.Contains(names, pod) {
			continue
		}
		if err := s.createWorker(ctx, nodeSet, pod, ordinal); err != nil {
			return err
		}
		names = append(names, pod)
	}
	status := fmt.Sprintf(`{"status":{"nodeSetHash":%q,"observedGeneration":%d,`+
		`"selector":"app.kubernetes.io/instance=%s,app.kubernetes.io/name=slurmd","desired":%[4]d,"replicas":%[4]d,`+
		`"readyReplicas":%[4]d,"updatedReplicas":%[4]d,"slurmIdle":%[5]d}}`, slinkyRevision, nodeSet.GetGeneration(), name,
		replicas, s.rounds.Load()%2) // a count changes each time, as in a cluster with jobs
	return s.client.Status().Patch(ctx, nodeSet, client.RawPatch(types.MergePatchType, []byte(status)), slinkyManager)
}

func (s *slinkyOperator) createWorker(ctx context.Context, nodeSet *unstructured.Unstructured, pod string, ordinal int) error {
	extraConf, _, err := unstructured.NestedString(nodeSet.Object, "spec", "extraConf")
	if err != nil {
		return err
	}
	text, out := &bytes.Buffer{}, &unstructured.Unstructured{}
	t, err := template.ParseFiles(filepath.Join("testdata", "slinky-worker.yaml"))
	if err != nil {
		return err
	}
	if err := t.Execute(text, map[string]any{"Namespace": s.namespace, "NodeSet": nodeSet.GetName(), "UID": nodeSet.GetUID(),
		"Pod": pod, "Ordinal": ordinal, "Revision": slinkyRevision, "Version": s.version, "ExtraConf": extraConf}); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text.Bytes(), &out.Object); err != nil {
		return err
	}
	return s.client.Create(ctx, out, slinkyManager)
}

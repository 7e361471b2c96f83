//go:build e2e

package admission

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func TestAdmission(t *testing.T) {
	s := newEnv(t)
	t.Run("without the operator v1beta1 works and v1alpha1 is not served", s.testBeforeOperator)
	port := freePort(t, s.cluster.HostAddress)
	s.installWebhooks(t, port)
	stop := s.startWebhooks(t, port, "")
	t.Run("the operator registers its webhooks", s.testWebhooksRegistered)
	t.Run("public manifests apply unchanged", s.testPublicManifests)
	t.Run("bad manifests produce one clear message", s.testBadManifests)
	t.Run("changes to immutable fields are refused", s.testImmutableFields)
	t.Run("both versions show the same NodeSets", s.testVersions)
	t.Run("a lost certificate is recreated", s.testCertificateLost)
	stop()
	stop = s.startWebhooks(t, port, s.writeCertificateFiles(t))
	t.Run("a certificate from files is served, and its CA bundle is left alone", s.testCertificateFromFiles)
	stop()
	t.Run("v1beta1 works after the operator has stopped", s.testAfterOperator)
}

func (s *env) testBeforeOperator(t *testing.T) {
	if err := s.createObject(t.Context(), t,
		"metadata: {name: early}\nspec: {controllerRef: {name: slurm}}"); err != nil {
		t.Error(err)
	}
	if _, err := s.readObject(t.Context(), "v1beta1", "NodeSet", "early"); err != nil {
		t.Error(err)
	}
	out, err := s.cluster.Kubectl(t.Context(), "get", "--raw", "/apis/slinky.slurm.net/v1alpha1")
	if err == nil {
		t.Errorf("v1alpha1 is served: %s", out)
	}
}

func (s *env) testWebhooksRegistered(t *testing.T) {
	const bad = "metadata: {name: probe}\nspec: {controllerRef: {name: slurm}, slurmd: {image: 5}}"
	waitUntil(t, time.Minute, func(ctx context.Context) error {
		if err := s.createObject(ctx, t, bad, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("a bad NodeSet is not refused as invalid: %w",
				errors.Join(err, errors.New("the API server did not call the webhooks")))
		}
		_, err := s.readObject(ctx, "v1alpha1", "NodeSet", "early")
		return err
	})
}

func (s *env) testPublicManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/public/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no manifests:", err)
	}
	s.warnings.takeAll()
	for _, file := range files {
		for document := range strings.SplitSeq(readFile(t, file), "\n---\n") {
			written := parseManifest(t, document)
			if err := s.createObject(t.Context(), t, document); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			kept, err := s.readObject(t.Context(), "v1beta1", written.GetKind(), written.GetName())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(written.Object["spec"],
				keptFields(written.Object["spec"], kept.Object["spec"])); diff != "" {
				t.Errorf("%s (-written +kept):\n%s", file, diff)
			}
		}
		if diff := cmp.Diff(expectedWarnings(file), s.warnings.takeAll(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", file, diff)
		}
		// Applying the file again, as users do, must succeed too.
		if out, err := s.cluster.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "--filename",
			file); err != nil {
			t.Errorf("%s: %v, %s", file, err, out)
		}
	}
}

// expectedWarnings returns the warnings of the API server when the objects of a file are created.
func expectedWarnings(file string) []string {
	return map[string][]string{
		"nodeset.yaml": {
			"spec.partition: is in slurm.conf only where the operator runs slurmctld; elsewhere add PartitionName=… Nodes=<name of the NodeSet> to it",
		},
		"token.yaml": {"spec.secretRef.optional: has no effect: the operator creates the Secret"},
	}[filepath.Base(file)]
}

// keptFields returns the part of kept that was written. It omits defaults, and nulls where null
// means absent.
func keptFields(written, kept any) any {
	switch w := written.(type) {
	case map[string]any:
		k, ok := kept.(map[string]any)
		if !ok {
			return kept
		}
		out := map[string]any{}
		for name, value := range w {
			if inner, there := k[name]; there {
				out[name] = keptFields(value, inner)
			} else if value == nil {
				out[name] = nil
			}
		}
		return out
	default:
		return kept
	}
}

func (s *env) testBadManifests(t *testing.T) {
	for name, c := range readBadManifests(t) {
		t.Run(name, func(t *testing.T) {
			err := s.createObject(t.Context(), t, c.manifest)
			if err == nil {
				t.Fatal("the manifest was accepted")
			}
			_, got, _ := strings.Cut(err.Error(), " is invalid: ")
			if diff := cmp.Diff(c.message, got); diff != "" {
				t.Errorf("message (-want +got):\n%s\nin full: %v", diff, err)
			}
		})
	}
}

// badManifest is a manifest and the error message it produces.
type badManifest struct{ manifest, message string }

// readBadManifests reads testdata/bad.yaml: by test name, the message and the manifest.
func readBadManifests(t *testing.T) map[string]badManifest {
	t.Helper()
	list := map[string]struct {
		Message string
		Object  map[string]any
	}{}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "testdata/bad.yaml")), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]badManifest{}
	for name, c := range list {
		text, err := yaml.Marshal(c.Object)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = badManifest{string(text), c.Message}
	}
	return out
}

func (s *env) testImmutableFields(t *testing.T) {
	for _, c := range []struct{ kind, name, patch, message string }{
		{"NodeSet", "gpu", `{"spec":{"controllerRef":{"name":"other"}}}`,
			"spec: Invalid value: controllerRef is immutable: workers stay in the cluster that they joined"},
		{"NodeSet", "gpu", `{"spec":{"volumeClaimTemplates":null}}`,
			"spec.volumeClaimTemplates: Invalid value: is immutable"},
		{"Controller", "slurm", `{"spec":{"clusterName":"other"}}`,
			"spec: Invalid value: clusterName is immutable"},
		{"Controller", "slurm", `{"spec":{"slurmKeyRef":{"name":"other"}}}`,
			"spec: Invalid value: slurmKeyRef is immutable"},
		{"Controller", "slurm", `{"spec":{"persistence":{"enabled":false}}}`,
			"spec.persistence.enabled: Invalid value: false: would start slurmctld without its state; " +
				"move the state, and confirm it with the annotation slinky.slurm.net/state-moved"},
		{"NodeSet", "gpu", `{"spec":{"slurmd":{"image":"other"}}}`, ""},
	} {
		obj, err := s.readObject(t.Context(), "v1beta1", c.kind, c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = s.client.Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(c.patch)))
		got := ""
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), " is invalid: ")
		}
		if diff := cmp.Diff(c.message, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nin full: %v", c.patch, diff, err)
		}
	}
}

func (s *env) testAfterOperator(t *testing.T) {
	if err := s.createObject(t.Context(), t,
		"metadata: {name: late}\nspec: {controllerRef: {name: slurm}}"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"late", "gpu", "old"} {
		obj, err := s.readObject(t.Context(), "v1beta1", "NodeSet", name)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := unstructured.SetNestedField(obj.Object, int64(3), "spec", "replicas"); err != nil {
			t.Fatal(err)
		}
		if err := s.client.Update(t.Context(), obj); err != nil {
			t.Errorf("updating %s: %v", name, err)
		}
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("slinky.slurm.net/v1beta1")
	list.SetKind("NodeSetList")
	if err := s.client.List(t.Context(), list); err != nil || len(list.Items) < 3 {
		t.Errorf("the list has %d NodeSets, %v", len(list.Items), err)
	}
	if err := s.client.Delete(t.Context(), parseManifest(t, "metadata: {name: gpu}")); err != nil {
		t.Error(err)
	}
}

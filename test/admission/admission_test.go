//go:build e2e

package admission

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestAdmission(t *testing.T) {
	s := newScene(t)
	t.Run("without the operator v1beta1 works and v1alpha1 is not there", s.withoutOperator)
	port := freePort(t, s.cluster.HostAddress)
	s.install(t, port)
	stop := s.startWebhooks(t, port, "")
	t.Run("the operator makes itself known", s.becomesKnown)
	t.Run("public manifests apply unchanged", s.publicManifests)
	t.Run("bad manifests give one clear message", s.badManifests)
	t.Run("changes of what is immutable are refused", s.immutable)
	t.Run("both versions show the same NodeSets", s.versions)
	t.Run("a lost certificate is made anew", s.losesCertificate)
	stop()
	stop = s.startWebhooks(t, port, s.certificateFiles(t))
	t.Run("a certificate in files is served, and its CA left to others", s.hasCertificate)
	stop()
	t.Run("after the operator v1beta1 works", s.afterOperator)
}

func (s *scene) withoutOperator(t *testing.T) {
	if err := s.create(t.Context(), t, "metadata: {name: early}\nspec: {controllerRef: {name: slurm}}"); err != nil {
		t.Error(err)
	}
	if _, err := s.read(t.Context(), "v1beta1", "NodeSet", "early"); err != nil {
		t.Error(err)
	}
	out, err := s.cluster.Kubectl(t.Context(), "get", "--raw", "/apis/slinky.slurm.net/v1alpha1")
	if err == nil {
		t.Errorf("v1alpha1 is served: %s", out)
	}
}

func (s *scene) becomesKnown(t *testing.T) {
	const bad = "metadata: {name: probe}\nspec: {controllerRef: {name: slurm}, slurmd: {image: 5}}"
	until(t, time.Minute, func(ctx context.Context) error {
		if err := s.create(ctx, t, bad, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("a bad NodeSet is refused by: %w", errors.Join(err, errors.New("the webhooks were not asked")))
		}
		_, err := s.read(ctx, "v1alpha1", "NodeSet", "early")
		return err
	})
}

func (s *scene) publicManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/public/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no manifests", err)
	}
	s.warnings.taken()
	for _, file := range files {
		for document := range strings.SplitSeq(contents(t, file), "\n---\n") {
			written := parse(t, document)
			if err := s.create(t.Context(), t, document); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			kept, err := s.read(t.Context(), "v1beta1", written.GetKind(), written.GetName())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(written.Object["spec"], within(written.Object["spec"], kept.Object["spec"])); diff != "" {
				t.Errorf("%s (-written +kept):\n%s", file, diff)
			}
		}
		// As people do it, and twice.
		if out, err := s.cluster.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "--filename", file); err != nil {
			t.Errorf("%s: %v, %s", file, err, out)
		}
	}
	if warned := s.warnings.taken(); len(warned) > 0 {
		t.Errorf("the API server warned of %q", warned)
	}
}

// within is what is there of what was written: defaults are left out, and so are
// nulls where null means absent.
func within(written, kept any) any {
	switch w := written.(type) {
	case map[string]any:
		k, ok := kept.(map[string]any)
		if !ok {
			return kept
		}
		out := map[string]any{}
		for name, value := range w {
			if inner, there := k[name]; there {
				out[name] = within(value, inner)
			} else if value == nil {
				out[name] = nil
			}
		}
		return out
	default:
		return kept
	}
}

func (s *scene) badManifests(t *testing.T) {
	for name, c := range badManifests(t) {
		t.Run(name, func(t *testing.T) {
			err := s.create(t.Context(), t, c.manifest)
			if err == nil {
				t.Fatal("it was accepted")
			}
			_, got, _ := strings.Cut(err.Error(), " is invalid: ")
			if diff := cmp.Diff(c.message, got); diff != "" {
				t.Errorf("message (-want +got):\n%s\nin full: %v", diff, err)
			}
		})
	}
}

// badManifest is one, and what is said of it.
type badManifest struct{ manifest, message string }

// badManifests reads testdata/bad.yaml: by a sentence, the message and the manifest.
func badManifests(t *testing.T) map[string]badManifest {
	t.Helper()
	list := map[string]struct {
		Message string
		Object  map[string]any
	}{}
	if err := yaml.UnmarshalStrict([]byte(contents(t, "testdata/bad.yaml")), &list); err != nil {
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

func (s *scene) immutable(t *testing.T) {
	for _, c := range []struct{ kind, name, patch, message string }{
		{"NodeSet", "gpu", `{"spec":{"controllerRef":{"name":"other"}}}`, "spec.controllerRef: Invalid value: is immutable: workers stay in the cluster that they joined"},
		{"NodeSet", "gpu", `{"spec":{"volumeClaimTemplates":null}}`, "spec.volumeClaimTemplates: Invalid value: is immutable"},
		{"Controller", "slurm", `{"spec":{"clusterName":"other"}}`, `spec.clusterName: Invalid value: "other": is immutable`},
		{"Controller", "slurm", `{"spec":{"slurmKeyRef":{"name":"other"}}}`, "spec.slurmKeyRef: Invalid value: is immutable"},
		{"Controller", "slurm", `{"spec":{"persistence":{"enabled":false}}}`, "spec.persistence.enabled: Invalid value: false: is immutable"},
		{"NodeSet", "gpu", `{"spec":{"slurmd":{"image":"other"}}}`, ""},
	} {
		obj, err := s.read(t.Context(), "v1beta1", c.kind, c.name)
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

func (s *scene) versions(t *testing.T) {
	ctx := t.Context()
	err := s.create(ctx, t, "apiVersion: slinky.slurm.net/v1alpha1\nmetadata: {name: old}\nspec: {clusterName: lab, replicas: 0, slurmd: {new: [false, 0, '']}}")
	if err != nil {
		t.Fatal(err)
	}
	beta, err := s.read(ctx, "v1beta1", "NodeSet", "old")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path []string
		want any
	}{
		{[]string{"spec", "clusterRef"}, map[string]any{"name": "lab"}},
		{[]string{"spec", "replicas"}, int64(0)},
		{[]string{"spec", "slurmd"}, map[string]any{"new": []any{false, int64(0), ""}}},
		{[]string{"spec", "clusterName"}, nil},
	} {
		got, _, err := unstructured.NestedFieldNoCopy(beta.Object, c.path...)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", c.path, err, diff)
		}
	}
	s.throughAlpha(t)
	err = s.create(ctx, t, "apiVersion: slinky.slurm.net/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec: {server: 'https://slurm.example.com', token: {secretRef: {name: t, key: token}}}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.read(ctx, "v1beta1", "Cluster", "lab"); err != nil {
		t.Error(err)
	}
	err = s.create(ctx, t, "apiVersion: slinky.slurm.net/v1alpha1\nmetadata: {name: bad}\nspec: {clusterName: lab, slurmd: {image: 5}}")
	if err == nil || !strings.Contains(err.Error(), "spec.slurmd.image: Invalid value: must be a string, not number") {
		t.Errorf("a bad NodeSet of v1alpha1: %v", err)
	}
}

// throughAlpha changes a label of a NodeSet of v1beta1 in v1alpha1: nothing else changes.
func (s *scene) throughAlpha(t *testing.T) {
	t.Helper()
	before, err := s.read(t.Context(), "v1beta1", "NodeSet", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	alpha, err := s.read(t.Context(), "v1alpha1", "NodeSet", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	if name, _, err := unstructured.NestedString(alpha.Object, "spec", "clusterName"); name != "slurm" || err != nil {
		t.Errorf("clusterName is %q, %v", name, err)
	}
	alpha.SetLabels(map[string]string{"seen": "alpha"})
	if err := s.client.Update(t.Context(), alpha); err != nil {
		t.Fatal(err)
	}
	after, err := s.read(t.Context(), "v1beta1", "NodeSet", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(typed(t, before).Spec, typed(t, after).Spec); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.GetAnnotations(), after.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-before +after):\n%s", diff)
	}
}

func (s *scene) losesCertificate(t *testing.T) {
	before, err := s.trusted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), s.secret(t)); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, func(ctx context.Context) error {
		now, err := s.trusted(ctx)
		if err == nil && now == before {
			err = errors.New("the definition trusts the old CA")
		}
		return err
	})
	s.becomesKnown(t)
}

// certificateFiles writes the self-made certificate to files, as if it were another's.
func (s *scene) certificateFiles(t *testing.T) string {
	t.Helper()
	dir, secret := t.TempDir(), s.secret(t)
	for _, name := range []string{"tls.crt", "tls.key"} {
		coded, _, err := unstructured.NestedString(secret.Object, "data", name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *scene) hasCertificate(t *testing.T) {
	before, err := s.trusted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), s.secret(t)); err != nil { // it is not needed
		t.Fatal(err)
	}
	s.becomesKnown(t)
	if now, err := s.trusted(t.Context()); now != before || err != nil {
		t.Errorf("the definition trusts another CA, %v", err)
	}
}

// typed is what the operator reads: in it 30m is 30m0s.
func typed(t *testing.T, u *unstructured.Unstructured) *v1beta1.NodeSet {
	t.Helper()
	n := &v1beta1.NodeSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *scene) afterOperator(t *testing.T) {
	if err := s.create(t.Context(), t, "metadata: {name: late}\nspec: {controllerRef: {name: slurm}}"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"late", "gpu", "old"} {
		obj, err := s.read(t.Context(), "v1beta1", "NodeSet", name)
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
		t.Errorf("%d NodeSets are listed, %v", len(list.Items), err)
	}
	if err := s.client.Delete(t.Context(), parse(t, "metadata: {name: gpu}")); err != nil {
		t.Error(err)
	}
}

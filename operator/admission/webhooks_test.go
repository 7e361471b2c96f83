package admission_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/admission"
)

// serveWebhooks runs the webhooks without TLS and returns their URL.
func serveWebhooks(t *testing.T) string {
	t.Helper()
	server := webhook.NewServer(webhook.Options{})
	if err := admission.Register(server); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.WebhookMux())
	t.Cleanup(s.Close)
	return s.URL
}

// postReview sends a review and reads the answer into it.
func postReview(t *testing.T, url string, review any) {
	t.Helper()
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(review); err != nil {
		t.Fatal(err)
	}
}

// rawObject returns an object of v1beta1 from YAML, empty for an empty manifest.
func rawObject(t *testing.T, kind, manifest string) runtime.RawExtension {
	t.Helper()
	if manifest == "" {
		return runtime.RawExtension{}
	}
	text, err := yaml.YAMLToJSON([]byte("apiVersion: slinky.slurm.net/v1beta1\nkind: " + kind + "\n" + manifest))
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func TestEveryKindHasAWebhook(t *testing.T) {
	url := serveWebhooks(t)
	kinds := map[string]string{
		"accountings": "Accounting", "clusters": "Cluster", "controllers": "Controller", "loginsets": "LoginSet",
		"nodesets": "NodeSet", "restapis": "RestApi", "tokens": "Token",
	}
	for _, plural := range admission.Resources() {
		review := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
			UID: "1", Operation: admissionv1.Create,
			Object: rawObject(t, kinds[plural],
				"metadata: {name: a}\nspec: {template: {spec: {hostname: 5}}, server: none, username: ''}"),
		}}
		postReview(t, url+admission.ValidatePath(plural), review)
		if r := review.Response; r == nil || r.Allowed ||
			!strings.HasPrefix(r.Result.Message, kinds[plural]+`.slinky.slurm.net "a" is invalid: `) {
			t.Errorf("%s: %+v", plural, r)
		}
	}
}

func TestInvalidWritesAreRefused(t *testing.T) {
	url := serveWebhooks(t) + admission.ValidatePath("nodesets")
	const good = "metadata: {name: a}\nspec: {controllerRef: {name: slurm}}"
	const bad = "metadata: {name: a}\nspec: {controllerRef: {name: slurm}, slurmd: {image: 5}}"
	const refused = `NodeSet.slinky.slurm.net "a" is invalid: spec.slurmd.image: Invalid value: must be a string, not number`
	for _, c := range []struct {
		name     string
		do       admissionv1.Operation
		old, new string
		want     string
	}{
		{"creating a valid object", admissionv1.Create, "", good, ""},
		{"creating an invalid object", admissionv1.Create, "", bad, refused},
		{"making a valid object invalid", admissionv1.Update, good, bad, refused},
		{"making an invalid object valid", admissionv1.Update, bad, good, ""},
		{"labeling an invalid object", admissionv1.Update, bad,
			"metadata: {name: a, labels: {a: b}}\nspec: {controllerRef: {name: slurm}, slurmd: {image: 5}}", ""},
		{"updating an invalid object that is being deleted", admissionv1.Update, bad,
			"metadata: {name: a, deletionTimestamp: '2026-09-01T00:00:00Z'}\nspec: {controllerRef: {name: slurm}, slurmd: {image: 6}}", ""},
		{"deleting an invalid object", admissionv1.Delete, bad, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			review := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
				UID: "1", Operation: c.do, Object: rawObject(t, "NodeSet", c.new),
				OldObject: rawObject(t, "NodeSet", c.old),
			}}
			postReview(t, url, review)
			got := ""
			if !review.Response.Allowed {
				got = review.Response.Result.Message
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConversion(t *testing.T) {
	url := serveWebhooks(t) + admission.ConvertPath
	const beta = `{"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet","metadata":{"name":"a","uid":"1"},"spec":{"controllerRef":{"name":"slurm"},"replicas":0,"slurmd":{"image":"b","new":[false]},"template":{"new":1}}}`
	const alpha = `{"apiVersion":"slinky.slurm.net/v1alpha1","kind":"NodeSet","metadata":{"name":"a","uid":"1","annotations":{"slinky.slurm.net/cluster-kind":"Controller"}},"spec":{"clusterName":"slurm","replicas":0,"slurmd":{"image":"b","new":[false]},"template":{"new":1}}}`
	convert := func(text, version string) map[string]any {
		review := &apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
			UID: "1", DesiredAPIVersion: "slinky.slurm.net/" + version,
			Objects: []runtime.RawExtension{{Raw: []byte(text)}},
		}}
		postReview(t, url, review)
		if r := review.Response; r == nil || r.Result.Status != metav1.StatusSuccess || len(r.ConvertedObjects) != 1 {
			t.Fatalf("to %s: %+v", version, r)
		}
		return withoutStatus(t, review.Response.ConvertedObjects[0].Raw)
	}
	if diff := cmp.Diff(withoutStatus(t, []byte(alpha)), convert(beta, "v1alpha1")); diff != "" {
		t.Errorf("to v1alpha1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(withoutStatus(t, []byte(beta)), convert(alpha, "v1beta1")); diff != "" {
		t.Errorf("to v1beta1 (-want +got):\n%s", diff)
	}
}

// withoutStatus decodes an object and drops the status, which every Go type encodes.
func withoutStatus(t *testing.T, text []byte) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

//go:build e2e

package migrate

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// localAPI is an APIService whose server runs on this machine.
type localAPI struct {
	service string // Service that the APIService names
	port    int
	ca      []byte // PEM; empty if the APIService does not check the certificate
}

// writeChart writes a Helm chart of manifests. Objects of the kinds in without are left out. The Service of the API leads to this machine.
func writeChart(t *testing.T, folder, manifests string, api localAPI, without ...string) {
	t.Helper()
	var kept []string
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(document), &o.Object))
		if o.Object == nil || slices.Contains(without, o.GetKind()) || slices.Contains(without, o.GetName()) {
			continue
		}
		api.redirect(o)
		text, err := yaml.Marshal(o.Object)
		must(t, err)
		kept = append(kept, string(text))
	}
	must(t, os.MkdirAll(filepath.Join(folder, "templates"), 0o755))
	for name, text := range map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: " + filepath.Base(folder) + "\nversion: 0.0.1\n",
		"manifests.yaml":     strings.Join(kept, "---\n"),
		"templates/all.yaml": `{{ .Files.Get "manifests.yaml" }}`,
	} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
}

// redirect makes the API's Service, or an APIService that names it, lead to this machine.
func (a localAPI) redirect(o *unstructured.Unstructured) {
	switch {
	case o.GetKind() == "Service" && o.GetName() == a.service:
		o.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost",
			"ports": []any{map[string]any{"port": int64(a.port)}}}
	case o.GetKind() == "APIService":
		spec := o.Object["spec"].(map[string]any)
		spec["service"].(map[string]any)["port"] = int64(a.port)
		if len(a.ca) > 0 {
			spec["caBundle"] = base64.StdEncoding.EncodeToString(a.ca)
		}
	}
}

// writeCertificates writes ca.crt, tls.crt and tls.key for the names into a folder, as a Secret would be mounted, and returns the CA.
func writeCertificates(t *testing.T, folder string, names ...string) []byte {
	t.Helper()
	must(t, os.MkdirAll(folder, 0o755))
	begin := time.Now().Add(-time.Hour)
	ca := testcert.NewCA(t, "migrate-"+rand.Text(), begin)
	pair := ca.IssuePeer(t, begin, begin.AddDate(0, 0, 2), names...)
	for name, text := range map[string][]byte{"ca.crt": ca.PEM, "tls.crt": pair.Cert, "tls.key": pair.Key} {
		must(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return ca.PEM
}

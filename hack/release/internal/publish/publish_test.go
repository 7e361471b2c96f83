package publish

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

// example writes a layout, and returns its digest.
func example(t *testing.T, folder, repository, tag string) string {
	t.Helper()
	path := filepath.Join(folder, repository, tag)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(100, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := layout.Write(path, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	annotation := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})
	if err := out.AppendIndex(index, annotation); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func TestFindAndPush(t *testing.T) {
	folder := t.TempDir()
	want := map[string]string{
		"slurmd":             example(t, folder, "slurmd", "26.05"),
		"charts/slurm-stack": example(t, folder, "charts/slurm-stack", "0.1.0"),
	}
	found, err := Find(folder)
	if err != nil {
		t.Fatal(err)
	}
	wantFound := []Artifact{
		{filepath.Join(folder, "charts/slurm-stack/0.1.0"), "charts/slurm-stack", "0.1.0"},
		{filepath.Join(folder, "slurmd/26.05"), "slurmd", "26.05"},
	}
	if !reflect.DeepEqual(found, wantFound) {
		t.Fatalf("Find = %v, want %v", found, wantFound)
	}
	server := httptest.NewServer(registry.New())
	defer server.Close()
	to := Registry{Name: strings.TrimPrefix(server.URL, "http://") + "/slurmtide", PlainHTTP: true}
	address, err := to.Push(t.Context(), found[1])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(address, "/slurmtide/slurmd@"+want["slurmd"]) {
		t.Errorf("Push = %s, want the digest %s", address, want["slurmd"])
	}
	if got, err := crane.Digest(to.Name + "/slurmd:26.05"); err != nil || got != want["slurmd"] {
		t.Errorf("the registry has %s, %v, want %s", got, err, want["slurmd"])
	}
}

func TestFindWithoutAFolder(t *testing.T) {
	if found, err := Find(filepath.Join(t.TempDir(), "missing")); err != nil || len(found) != 0 {
		t.Errorf("Find = %v, %v, want nothing", found, err)
	}
}

func TestSignRunsCosign(t *testing.T) {
	folder := t.TempDir()
	record := filepath.Join(folder, "record")
	script := "#!/bin/sh\necho \"$@\" >>" + record + "\n"
	if err := os.WriteFile(filepath.Join(folder, "cosign"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	signer := Signer{Key: "cosign.key"}
	if err := signer.SignFile(t.Context(), "SHA256SUMS"); err != nil {
		t.Fatal(err)
	}
	if err := signer.SignArtifact(t.Context(), "example.com/slurmd@sha256:00"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	want := "sign-blob --yes --key cosign.key --bundle SHA256SUMS.sigstore.json SHA256SUMS\n" +
		"sign --yes --recursive --key cosign.key example.com/slurmd@sha256:00\n"
	if string(got) != want {
		t.Errorf("cosign got\n%swant\n%s", got, want)
	}
}

func TestSignWithoutCosign(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := (Signer{Key: "k"}).SignFile(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "needs cosign in PATH") {
		t.Errorf("SignFile = %v, want an error that names cosign", err)
	}
}

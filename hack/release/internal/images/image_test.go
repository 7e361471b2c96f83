package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/slurmtide/slurmtide/hack/release/internal/dockerfile"
)

var at = time.Unix(1_800_000_000, 0).UTC()

func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slurm-exporter")
	if err := os.WriteFile(path, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func example() Image {
	return Image{Name: "slurm-exporter", Tag: "0.1.0", Time: at, Config: dockerfile.Image{
		User: "65532:65532", Entrypoint: []string{"/slurm-exporter"}, Ports: []string{"9341"},
		Labels: map[string]string{"org.opencontainers.image.title": "slurm-exporter"}}}
}

// write writes the example for both architectures and returns its digest.
func write(t *testing.T, folder, path string) v1.Hash {
	t.Helper()
	built := map[string]v1.Image{}
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := example().FromProgram(arch, path)
		if err != nil {
			t.Fatal(err)
		}
		built[arch] = image
	}
	digest, err := example().Write(folder, built, []string{"amd64", "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestALayoutIsValidAndTheSameEachTime(t *testing.T) {
	path, first, second := program(t), filepath.Join(t.TempDir(), "a", "0.1.0"), filepath.Join(t.TempDir(), "b")
	digest := write(t, first, path)
	if again := write(t, second, path); again != digest {
		t.Errorf("the digest of the same files is %s, then %s", digest, again)
	}
	top, err := layout.ImageIndexFromPath(first)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != digest {
		t.Fatalf("the layout has %+v, %v, want only %s", manifest, err, digest)
	}
	index, err := top.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	platforms, err := index.IndexManifest()
	if err != nil || len(platforms.Manifests) != 2 || platforms.Manifests[1].Platform.Architecture != "arm64" {
		t.Errorf("the image has platforms %+v, %v", platforms, err)
	}
}

func TestAProgramsImage(t *testing.T) {
	image, err := example().FromProgram("arm64", program(t))
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "arm64" || config.Config.User != "65532:65532" ||
		!reflect.DeepEqual(config.Config.Entrypoint, []string{"/slurm-exporter"}) || !config.Created.Equal(at) {
		t.Errorf("the image has %+v", config)
	}
	if _, ok := config.Config.ExposedPorts["9341/tcp"]; !ok {
		t.Errorf("the image exposes %v", config.Config.ExposedPorts)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v, want one", len(layers), err)
	}
	got := readNames(t, layers[0])
	want := []string{"etc/ 755", "etc/ssl/ 755", "etc/ssl/certs/ 755", "etc/ssl/certs/ca-certificates.crt 644", "slurm-exporter 755"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the layer has %q, want %q", got, want)
	}
}

func TestAFoldersImageIsTheSameWhateverItsTimes(t *testing.T) {
	var digests []v1.Hash
	latest := at.Add(-time.Hour)
	for _, later := range []time.Duration{-time.Minute, time.Hour} { // built before and after the commit
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "f"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(folder, "f"), folder} {
			if err := os.Chtimes(path, at.Add(later), at.Add(later)); err != nil {
				t.Fatal(err)
			}
		}
		image, err := example().FromFolder("amd64", folder, filepath.Join(t.TempDir(), "layer.tar"), latest)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("the digests differ: %v", digests)
	}
}

func readNames(t *testing.T, layer v1.Layer) []string {
	t.Helper()
	stream, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var out []string
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %o", header.Name, header.Mode))
	}
}

package charts

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
)

const someDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

var (
	at     = time.Unix(1_800_000_000, 0).UTC()
	images = []Image{
		{Repository: "ghcr.io/slurmtide/slurmd", Tag: "26.05", Digest: someDigest},
		{Repository: "ghcr.io/slurmtide/slurmd", Tag: "24.11", Digest: someDigest},
		{Repository: "ghcr.io/slurmtide/slurm", Tag: "1", Digest: someDigest},
	}
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// example writes a chart that has another one by a link, as slurm-stack does.
func example(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	write(t, folder+"/inner/Chart.yaml", "apiVersion: v2\nname: inner\nversion: 0.1.0\nannotations: {a: b}\n")
	write(t, folder+"/inner/values.yaml", "image:\n  repository: ghcr.io/slurmtide/slurmd\n")
	write(t, folder+"/inner/README.md", "ghcr.io/slurmtide/slurm:1\n")
	write(t, folder+"/outer/.helmignore", "*.go\n")
	write(t, folder+"/outer/x.go", "package x\n")
	write(t, folder+"/outer/Chart.yaml", "apiVersion: v2\nname: outer\nversion: 0.1.0\nhome: https://example.com\n")
	write(t, folder+"/outer/values.yaml", "{}\n")
	write(t, folder+"/outer/charts/.keep", "")
	if err := os.Symlink("../../inner", folder+"/outer/charts/inner"); err != nil {
		t.Fatal(err)
	}
	return folder + "/outer"
}

func TestAnArchiveNamesImagesByDigest(t *testing.T) {
	chart, err := Load(example(t), images)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := chart.Archive(at)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Dependencies()) != 1 {
		t.Fatalf("the archive has %d charts in it, want inner", len(loaded.Dependencies()))
	}
	got := loaded.Dependencies()[0].Metadata.Annotations
	want := "- name: slurmd-26.05\n  image: ghcr.io/slurmtide/slurmd:26.05@" + someDigest +
		"\n- name: slurmd-24.11\n  image: ghcr.io/slurmtide/slurmd:24.11@" + someDigest + "\n"
	if got[imagesAnnotation] != want || got["a"] != "b" {
		t.Errorf("inner has annotations %q, want %q, and a: b", got, want)
	}
	if len(loaded.Metadata.Annotations) != 0 {
		t.Errorf("outer, whose values name no image, has annotations %q", loaded.Metadata.Annotations)
	}
	if len(chart.Images) != 2 {
		t.Errorf("the chart has images %v, want slurmd's", chart.Images)
	}
	for _, file := range loaded.Raw {
		if strings.HasSuffix(file.Name, ".go") {
			t.Errorf("the archive has %s, which is in .helmignore", file.Name)
		}
	}
}

func TestTheSameChartIsTheSameArchiveAndLayout(t *testing.T) {
	folder := example(t)
	var archives, digests, indexes []string
	for range 2 {
		chart, err := Load(folder, images)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := chart.Archive(at)
		if err != nil {
			t.Fatal(err)
		}
		layout := filepath.Join(t.TempDir(), "layout")
		digest, err := chart.WriteLayout(context.Background(), layout, archive, at)
		if err != nil {
			t.Fatal(err)
		}
		index, err := os.ReadFile(filepath.Join(layout, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		archives, digests, indexes = append(archives, string(archive)), append(digests, digest.String()), append(indexes, string(index))
	}
	if archives[0] != archives[1] || digests[0] != digests[1] || indexes[0] != indexes[1] {
		t.Errorf("digests %v, indexes %v: want the same", digests, indexes)
	}
	if !strings.Contains(indexes[0], `"org.opencontainers.image.ref.name":"0.1.0"`) {
		t.Errorf("the layout has no tag 0.1.0: %s", indexes[0])
	}
}

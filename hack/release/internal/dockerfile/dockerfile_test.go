package dockerfile

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestReadInheritsAndExpands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "Dockerfile")
	text := `ARG SUITE=forky
FROM golang AS build
RUN make

FROM debian:${SUITE} AS base
USER 1:1
LABEL version="${VERSION}" \
      source="https://example.com"

FROM base AS a
COPY --from=build /a /a
LABEL title="a"
EXPOSE 80 81
ENTRYPOINT ["/a", "-x"]

FROM base AS b
USER 2
ENTRYPOINT ["/b"]
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file, map[string]string{"VERSION": "0.1.0"})
	want := map[string]Image{
		"a": {User: "1:1", Entrypoint: []string{"/a", "-x"}, Ports: []string{"80", "81"},
			Labels: map[string]string{"version": "0.1.0", "source": "https://example.com", "title": "a"}},
		"b": {User: "2", Entrypoint: []string{"/b"},
			Labels: map[string]string{"version": "0.1.0", "source": "https://example.com"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read = %+v, %v, want %+v", got, err, want)
	}
}

// The repository's own Dockerfiles have these images.
func TestReadTheRepository(t *testing.T) {
	for file, want := range map[string][]string{
		"Dockerfile":        {"slurm-agent", "slurm-exporter", "slurm-metrics-adapter", "slurm-operator"},
		"images/Dockerfile": {"login", "slurmctld", "slurmd", "slurmdbd", "slurmrestd"},
	} {
		got, err := Read(filepath.Join("../../../..", file), nil)
		if err != nil || len(got) != len(want) {
			t.Fatalf("Read(%s) has %d images, %v, want %d", file, len(got), err, len(want))
		}
		for _, name := range want {
			if image := got[name]; image.Labels["org.opencontainers.image.title"] != name {
				t.Errorf("%s: the image %s has labels %v, want its title", file, name, image.Labels)
			}
		}
	}
}

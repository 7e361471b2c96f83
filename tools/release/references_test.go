package release

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindReferences(t *testing.T) {
	text := `image: ghcr.io/slurmtide/slurmd:26.05
repository: ghcr.io/slurmtide/slurm-operator
--set image=registry.example.com/login:24.11. See ghcr.io/slurmtide/slurmctld:26.05@sha256:00
source: oci://ghcr.io/slurmtide/charts
url: oci://ghcr.io/slurmtide/charts/slurm-flux
  ref: {semver: 0.1.x}
    targetRevision: v0.1.0
    targetRevision: main
helm install slurm oci://ghcr.io/slurmtide/charts/slurm-stack --version 0.1.0 --namespace slurm
https://github.com/slurmtide/slurmtide/releases/download/v0.1.0/slurm-exporter_0.1.0_amd64.deb
image: docker.io/library/mariadb:11.4.5
`
	want := []Reference{
		{Line: 1, Image: "slurmd", Version: "26.05"},
		{Line: 2, Image: "slurm-operator"},
		{Line: 3, Image: "login", Version: "24.11"},
		{Line: 3, Image: "slurmctld", Version: "26.05"},
		{Line: 5, Chart: "slurm-flux"},
		{Line: 6, Version: "0.1.x"},
		{Line: 7, Version: "0.1.0"},
		{Line: 9, Chart: "slurm-stack"},
		{Line: 9, Version: "0.1.0"},
		{Line: 10, Version: "0.1.0"},
	}
	got := FindReferences("", text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FindReferences (-want +got):\n%s", diff)
	}
}

func TestMissing(t *testing.T) {
	contents := Contents{Version: "0.1.0", Images: map[string][]string{"slurmd": {"24.11", "26.05"}}, Charts: []string{"slurm"}}
	for _, test := range []struct {
		name        string
		reference   Reference
		wantMissing bool
	}{
		{"an image in any tag", Reference{Image: "slurmd"}, false},
		{"an image in a tag of the release", Reference{Image: "slurmd", Version: "24.11"}, false},
		{"an image in another tag", Reference{Image: "slurmd", Version: "25.05"}, true},
		{"another image", Reference{Image: "slurmx"}, true},
		{"a chart", Reference{Chart: "slurm"}, false},
		{"another chart", Reference{Chart: "slurmx"}, true},
		{"a chart in another version", Reference{Chart: "slurm", Version: "0.2.0"}, true},
		{"the version", Reference{Version: "0.1.0"}, false},
		{"a range with the version", Reference{Version: "0.1.x"}, false},
		{"a range without the version", Reference{Version: "0.2.x"}, true},
		{"another version", Reference{Version: "0.1.1"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := len(contents.Missing([]Reference{test.reference})) == 1; got != test.wantMissing {
				t.Errorf("Missing(%v) = %t, want %t", test.reference, got, test.wantMissing)
			}
		})
	}
}

// Charts, examples and pages name only what the release contains.
func TestTheReleaseHasWhatTheRepositoryNames(t *testing.T) {
	contents, err := Planned("../..")
	if err != nil {
		t.Fatal(err)
	}
	references, err := ReadReferences(context.Background(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range contents.Missing(references) {
		t.Errorf("%v is not in the release", missing)
	}
	named := map[string]bool{}
	for _, reference := range references {
		named[reference.Image] = true
	}
	for _, image := range slices.Sorted(maps.Keys(contents.Images)) {
		if !named[image] {
			t.Errorf("nothing names the image %s: ReadReferences does not find its place, or nobody needs it", image)
		}
	}
}

//go:build e2e

package charts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const releasedDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// releasedCopy returns a copy of the chart slurm with the digests of two of its images, as make release writes them.
func releasedCopy(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "slurm")
	if out, err := exec.Command("cp", "-rL", chartDir("slurm"), dir).CombinedOutput(); err != nil {
		t.Fatalf("copying the chart: %v: %s", err, out)
	}
	file := filepath.Join(dir, "Chart.yaml")
	text := string(readFile(t, file)) + `  artifacthub.io/images: |
    - name: slurmctld-24.11
      image: ghcr.io/slurmtide/slurmctld:24.11@` + releasedDigest + `
    - name: slurmctld-26.05
      image: ghcr.io/slurmtide/slurmctld:26.05@` + strings.ReplaceAll(releasedDigest, "a", "b") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReleasedChartsNameImagesByDigest(t *testing.T) {
	dir := releasedCopy(t)
	for _, test := range []struct {
		name, want string
		args       []string
	}{
		{"the default tag", "ghcr.io/slurmtide/slurmctld:26.05@" + strings.ReplaceAll(releasedDigest, "a", "b"), nil},
		{"another released tag", "ghcr.io/slurmtide/slurmctld:24.11@" + releasedDigest,
			[]string{"--set-string", "controller.slurmctld.image.tag=24.11"}},
		{"a tag that was not released", "ghcr.io/slurmtide/slurmctld:25.05",
			[]string{"--set-string", "controller.slurmctld.image.tag=25.05"}},
		{"a repository of the user's", "example.com/slurmctld:26.05",
			[]string{"--set", "controller.slurmctld.image.repository=example.com/slurmctld"}},
		{"a digest of the user's", "ghcr.io/slurmtide/slurmctld@sha256:0123456789abcdef",
			[]string{"--set", "controller.slurmctld.image.digest=sha256:0123456789abcdef"}},
		{"a mirror may have other digests", "mirror.example.com/slurmtide/slurmctld:24.11",
			[]string{"--set", "global.imageRegistry=mirror.example.com", "--set-string", "controller.slurmctld.image.tag=24.11"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := renderFolder(t, "test", "slurm", dir, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(text) {
				if image, ok := strings.CutPrefix(strings.TrimSpace(line), "image: "); ok && strings.Contains(image, "slurmctld") {
					got = append(got, strings.Trim(image, `"`))
				}
			}
			if diff := cmp.Diff([]string{test.want}, slices.Compact(got)); diff != "" {
				t.Errorf("slurmctld's image (-want +got):\n%s", diff)
			}
		})
	}
}

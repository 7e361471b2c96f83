package images

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLoadRefuses checks that load reports a bad command in one line before it builds anything.
func TestLoadRefuses(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	known := "known are " + strings.Join(append(serverPrograms(t), debianImages(t)...), " ")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, tc := range []struct{ name, args, want string }{
		{"an unknown program", "slurm-noodles", "load: no image 'slurm-noodles', " + known},
		{"a Slurm version that Debian lacks", "slurmd:23.02", "load: no image 'slurmd:23.02', " + known},
		{"a cluster that does not exist", "--dir " + nowhere + " slurmd:26.05",
			"load: no cluster in " + nowhere + ", start one with hack/kube/up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := exec.Command(filepath.Join(root, "hack", "images", "load"),
				strings.Fields(tc.args)...).CombinedOutput()
			if err == nil {
				t.Errorf("load %s succeeded", tc.args)
			}
			if diff := cmp.Diff(tc.want+"\n", string(out)); diff != "" {
				t.Errorf("load %s printed (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}

// debianImages returns the names of the images of Debian's packages: the images for users of each release of Slurm, and
// the images for tests.
func debianImages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, folder := range []struct {
		path     string
		versions []string
	}{{"images", []string{"24.11", "26.05"}}, {"test/images", []string{"dev"}}} {
		files, err := filepath.Glob(filepath.Join(root, folder.path, "*", "packages"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, version := range folder.versions {
				out = append(out, filepath.Base(filepath.Dir(file))+":"+version)
			}
		}
	}
	return out
}

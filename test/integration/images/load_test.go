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
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, tc := range []struct{ name, args, want string }{
		{"an unknown program", "slurm-noodles",
			"load: no image 'slurm-noodles', known are " + strings.Join(serverPrograms(t), " ") +
				" slurmd:24.11 slurmd:26.05"},
		{"a Slurm version that Debian lacks", "slurmd:23.02",
			"load: no image for Slurm '23.02', known are 24.11 and 26.05"},
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

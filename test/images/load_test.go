package images

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is wrong with a command is said in one line, before anything is built.
func TestLoadRefuses(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, tc := range []struct{ name, args, want string }{
		{"an unknown program", "slurm-noodles",
			"load: no image 'slurm-noodles', known are " + strings.Join(servers(t), " ") + " slurmd:24.11 slurmd:26.05"},
		{"a Slurm that Debian has not", "slurmd:23.02", "load: no image for Slurm '23.02', known are 24.11 and 26.05"},
		{"a cluster that is not there", "--dir " + nowhere + " slurmd:26.05", "load: no cluster in " + nowhere + ", start one with hack/kube/up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := exec.Command(filepath.Join(root, "hack", "images", "load"), strings.Fields(tc.args)...).CombinedOutput()
			if err == nil {
				t.Errorf("load %s succeeded", tc.args)
			}
			if diff := cmp.Diff(tc.want+"\n", string(out)); diff != "" {
				t.Errorf("load %s said (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}

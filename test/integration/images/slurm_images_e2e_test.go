//go:build e2e

package images

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestSlurmImagesInPods runs the images of the newest release by their entry points, as the user that they name, with a
// read-only root file system. Each must name its first missing input in one line. If the image names a user, the
// kubelet checks that it is not root.
func TestSlurmImagesInPods(t *testing.T) {
	says := map[string]string{
		"slurmctld":  "/etc/slurm/slurm.conf is missing: mount the configuration there",
		"slurmdbd":   "/etc/slurm/slurmdbd.conf is missing: mount it there",
		"slurmrestd": "/etc/slurm/slurm.conf and --conf-server HOST:6817 are missing",
		"slurmd":     "/etc/slurm/slurm.key is missing: mount the Secret",
		"login":      "/etc/ssh/ssh_host_ed25519_key is missing: mount the Secret with the host keys",
	}
	var images []string
	for _, image := range slurmImages() {
		images = append(images, image.name+":26.05")
	}
	s := env{kube: startKube(t, images...), namespace: "default"}
	for _, image := range slurmImages() {
		pod := func(name, command string) string {
			return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  containers:
    - name: main
      image: localhost/%s:26.05
      imagePullPolicy: Never
      %s
      securityContext: {readOnlyRootFilesystem: true, runAsNonRoot: %t}
---`, name, image.name, command, image.user != "")
		}
		err := s.kube.Apply(t.Context(), pod(image.name, "")+
			pod(image.name+"-owners", `command: [sh, -c, "id slurm; find / -xdev -uid 64030 2>/dev/null"]`))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, image := range slurmImages() {
		t.Run(image.name, func(t *testing.T) {
			if log := s.awaitEnd(t, image.name); !strings.Contains(log, ": "+says[image.name]) {
				t.Errorf("it says %q, want %q", log, says[image.name])
			}
			want := fmt.Sprintf("uid=%[1]d(slurm) gid=%[1]d(slurm) groups=%[1]d(slurm)", podspec.SlurmID)
			if log := s.awaitEnd(t, image.name+"-owners"); log != want {
				t.Errorf("the user slurm and files of Debian's number: %q, want %q", log, want)
			}
		})
	}
}

// awaitEnd waits until the container of a pod has ended, and returns its log.
func (s env) awaitEnd(t *testing.T, pod string) string {
	t.Helper()
	process.Await(t, func() error {
		phase := s.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.phase}")
		if phase != "Succeeded" && phase != "Failed" {
			return fmt.Errorf("the pod %s is %s", pod, phase)
		}
		return nil
	})
	return s.kubectl(t, "logs", pod)
}

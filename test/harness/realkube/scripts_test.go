package realkube

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlags(t *testing.T) {
	config := Config{
		Name: "a", Kubelet: true, APIServerArgs: []string{"--a=1"}, ControllerManagerArgs: []string{"--b=2", "--c=3"},
		SchedulerArgs: []string{"--d=4"}, FeatureGates: map[string]bool{"Zero": false, "One": true},
	}
	want := strings.Fields("--name a --kubelet --apiserver-arg --a=1 --controller-manager-arg --b=2 --controller-manager-arg --c=3 " +
		"--scheduler-arg --d=4 --feature-gate One=true --feature-gate Zero=false")
	if diff := cmp.Diff(want, config.flags()); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// A script reports a wrong command line in one line, before it does anything.
func TestScriptsRefuse(t *testing.T) {
	scripts, err := scriptsDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	tests := []struct {
		name, command, want string
	}{
		{"an unknown flag", "up --noodles 4", "up: unknown flag: --noodles (see up --help)"},
		{"a flag without a value", "up --name", "up: unknown flag or no value: --name (see up --help)"},
		{"an invalid host name", "up --name Dev", "up: --name must be lower case letters, digits and -: Dev"},
		{"a feature gate without a value", "up --feature-gate Zero",
			"up: --feature-gate must be Gate=true or Gate=false: Zero"},
		{"an image for a cluster that does not exist", "image --dir " + nowhere + " localhost/a:1 .",
			"image: no cluster in " + nowhere + ", start one with hack/kube/up"},
		{"a daemon of a cluster that does not exist", "daemon --dir " + nowhere + " list",
			"daemon: no cluster in " + nowhere + ", start one with hack/kube/up"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			words := strings.Fields(test.command)
			out, err := exec.Command(filepath.Join(scripts, words[0]), words[1:]...).CombinedOutput()
			if err == nil {
				t.Errorf("%s succeeded", test.command)
			}
			if diff := cmp.Diff(test.want+"\n", string(out)); diff != "" {
				t.Errorf("%s printed (-want +got):\n%s", test.command, diff)
			}
		})
	}
}

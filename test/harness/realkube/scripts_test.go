package realkube

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/instance"
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
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	instance.CheckRefusals(t, "kube", []instance.Refusal{
		{Name: "an unknown flag", Command: "up --noodles 4", Want: "up: unknown flag: --noodles (see up --help)"},
		{Name: "a flag without a value", Command: "up --name", Want: "up: unknown flag or no value: --name (see up --help)"},
		{Name: "an invalid host name", Command: "up --name Dev", Want: "up: --name must be lower case letters, digits and -: Dev"},
		{Name: "a feature gate without a value", Command: "up --feature-gate Zero",
			Want: "up: --feature-gate must be Gate=true or Gate=false: Zero"},
		{Name: "an image for a cluster that does not exist", Command: "image --dir " + nowhere + " localhost/a:1 .",
			Want: "image: no cluster in " + nowhere + ", start one with hack/kube/up"},
		{Name: "a daemon of a cluster that does not exist", Command: "daemon --dir " + nowhere + " list",
			Want: "daemon: no cluster in " + nowhere + ", start one with hack/kube/up"},
	})
}

package command

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCommandsWithoutKubeconfigSayWhatToDo(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, args := range [][]string{{"doctor"}, {"top", "jobs"}, {"explain", "nodeset", "gpu"}, {"rotate"}} {
		var out strings.Builder
		root := New(Streams{In: strings.NewReader(""), Out: &out, Err: &out}, time.Now, "test")
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); !errors.Is(err, errNoKubeconfig) {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, &out)
		}
	}
}
